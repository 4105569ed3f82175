// Package testcache keeps expensive results of a test run on disk for the next run: it
// provides the directory, and a lock between processes. Only tests import it.
package testcache
