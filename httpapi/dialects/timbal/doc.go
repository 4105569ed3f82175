// Package timbal serves the API of a system that pauses and resumes runs over a stream
// (docs/spec/timbal.md): POST /stream starts a run and shows its events as server-sent events until
// the run waits or ends; POST /stream again, with the answers, resumes it.
//
// For a client every resume is a new run. Here one run continues, and a client's run is a segment
// of its log: from a decision, or the beginning, to the next pause or the end. A segment's id names
// the run and the event after which it begins. Its events are computed from the log, so nothing is
// stored and every replica shows the same. See segmentID and segment.
//
// The package translates. It must not know a database or another dialect. It decides nothing: the
// door decides which answer counts and which was first.
package timbal
