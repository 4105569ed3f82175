// Package docstest holds the documents to the program: what they list must be what
// there is, what they link must be there, and so must what the code names of them. It
// has tests only.
package docstest
