// Package linearizability shows that several replicas on one Postgres are, to those who
// call them, one service that does one thing after the other, whatever dies meanwhile.
//
// Many clients make runs, claim them, suspend them and decide about them, all at once,
// while processes are killed and frozen, connections are cut and delayed, and a clock
// is wrong. Every call is recorded: what was asked, what was answered, and when. Then
// porcupine looks for an order of the calls that explains every answer by the model of
// a run in this package, and that no call contradicts which ended before another began.
// Where there is no such order, the test fails, and a page shows the calls.
//
// The files are in three parts: the model (model_*), the load with its history (load_*,
// history), and the faults (faults_*). The package has tests only and sees the service
// as its users do; only the doctor looks at the rows.
//
// Its tests have the tag "faults": "make faults" runs them, plain "go test" does not.
package linearizability
