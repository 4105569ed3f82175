// Package explain says why a run or a request is waiting: another run of the session comes
// first, no worker asks for the agent, a worker has it, or a person has to decide.
//
// [Run] and [Request] are pure functions of facts. A [Collector] reads the facts separately and
// without a lock, so an explanation may be slightly out of date. Nothing is decided here.
//
// The package must not know SQL, HTTP or a clock.
package explain
