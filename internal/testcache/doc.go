// Package testcache keeps on disk what a test run makes at a cost and the next can use: the
// directory, and a lock between processes. It knows nothing of what is kept, and no program uses it.
package testcache
