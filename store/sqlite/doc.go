// Package sqlite is the embedded engine: one process, one file, nothing else to
// install. It loads what a batch of commands is decided from, writes what was
// decided, and answers reads. It decides nothing: package runs does.
//
// One connection writes and a few read, in WAL mode with synchronous=FULL, so that
// an acknowledged decision survives a power cut. A second process that opens the
// same file is refused ([ErrInUse]).
package sqlite
