// Package archtest holds the rules about the shape of the tree that a compiler does
// not know: which package may see which, and which files write to the tables. It
// has tests only.
package archtest
