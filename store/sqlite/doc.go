// Package sqlite is the embedded engine: one process, one file, nothing else to install. It
// loads the rows for a batch of commands, writes the decisions, and answers reads. It decides
// nothing: package runs does.
//
// One connection writes and a few read, in WAL mode with synchronous=FULL, so that an
// acknowledged decision survives a power cut. A second process cannot open the same file
// ([ErrInUse]).
//
// # Large appends
//
// There is one write lock, and an append of 1,000 events of 1 kB would hold it for as long as
// two waits of other sessions. So an append of at least 256 events or 512 KiB is decided
// once, without the lock, and written in parts of 32 events or 64 KiB. A part joins the
// next batch of the lane, or gets its own transaction if no batch comes. The session is off
// its lane meanwhile, so nothing else writes it.
//
// A row in staged_events names the first event that is not visible yet. Every statement that
// reads events filters by it. The last transaction commits the decision: it checks the
// session's version, the token and data_version, writes the remaining events, the run and the
// session, and deletes the row, which makes all events visible at once. If a check fails, the
// parts are deleted and the call is decided again in a single transaction. Parts that a
// killed process left are deleted when the file is opened.
//
// # Other writers
//
// PRAGMA data_version shows writes from outside the process, such as a person with
// sqlite3. The committer then drops its cache.
package sqlite
