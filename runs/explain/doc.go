// Package explain says why a run or a request does not go on: a run of the session comes first, no
// worker asks for the agent, a worker has it, a person has to decide.
//
// [Run] and [Request] are pure functions of facts. A [Collector] reads the facts, each by itself and
// without a lock, so an explanation may be a moment old. Nothing is decided here.
//
// The package must not know SQL, HTTP or a clock.
package explain
