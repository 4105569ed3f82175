// Package timbal serves the wire of a system that pauses and resumes runs over a stream
// (contracts/timbal.md): POST /stream starts a run and shows what happens as
// server-sent events, until the run is over or waits for somebody; POST /stream again,
// with the answers, goes on with it.
//
// The original makes a new run of every resume. Here one run goes on, and what a client
// takes for a run is a part of its log: from a decision, or from the beginning, to the
// next pause, or to the end. So such a run's id is made of the run and the event after
// which it begins, its events are a fold of the log, and nothing is kept: every replica
// shows the same at any time. See segmentID and fold.
//
// The package translates and nothing more. It must not know a database or another
// dialect, and must decide nothing: which answer counts, and who came first, is decided
// behind the store's door.
package timbal
