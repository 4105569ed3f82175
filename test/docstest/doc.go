// Package docstest holds the documents to the program: what they list must be what
// there is. It has tests only.
package docstest
