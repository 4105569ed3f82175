// Package timbal serves the wire of a system that pauses and resumes runs over a stream
// (docs/spec/timbal.md): POST /stream starts a run and shows what happens as server-sent
// events until the run waits or ends; POST /stream again, with the answers, resumes it.
//
// For a client every resume is a new run. Here one run goes on, and what a client takes
// for a run is a segment of its log: from a decision, or from the beginning, to the next
// pause, or to the end. A segment's id names the run and the event after which it begins,
// and its events are a fold of the log, so nothing is kept and every replica shows the
// same at any time. See segmentID and segment.
//
// The package translates. It must not know a database or another dialect, and decides
// nothing: which answer counts, and who came first, is decided behind the door.
package timbal
