// Package sqlite is the embedded engine: one process, one file, nothing else to install. It
// loads the rows for a batch of commands, writes the decisions, and answers reads. It decides
// nothing: package runs does.
//
// One connection writes and a few read, in WAL mode with synchronous=FULL, so that an
// acknowledged decision survives a power cut. A second process cannot open the same file
// ([ErrInUse]).
//
// # Other writers
//
// PRAGMA data_version shows writes from outside the process, such as a person with
// sqlite3. The door then drops its cache.
package sqlite
