// Package linearizability shows that several replicas on one Postgres behave to their callers like
// one service that processes one call after the other, whatever fails meanwhile.
//
// Many clients concurrently create, claim, suspend and decide runs, while processes are killed and
// frozen, connections are cut and delayed, and a clock is wrong. Every call is recorded with its
// request, its reply and their times. Then porcupine looks for an order of the calls that explains
// every reply by the model of a run in this package. The order must keep a call that ended before
// another began ahead of it. If there is no such order, the test fails and writes a page with the
// calls.
//
// The files have three parts: the model (model_*), the load with its history (load_*, history), and
// the faults (faults_*). The package has tests only and uses the service as its users do. Only the
// doctor reads the rows.
//
// Its tests have the tag "faults": "make faults" runs them, plain "go test" does not.
package linearizability
