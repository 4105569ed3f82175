// Package crash kills the running program with SIGKILL at every point of every kind
// of call, starts it again, repeats the call as a client would, and checks what is in
// force: what was acknowledged is, what was not is once or not at all, and nothing is
// twice. It has tests only.
//
// The points are those of internal/failpoint, in a program that is built with the tag
// "failpoints". Which points a call has is not written down anywhere: a first call is
// recorded, and what it hit is what the next ones die at. A point is a name and an
// ordinal, such as the third "postgres.lanes.send.Bind".
//
// "make faults" tries a sample of the points. HOLDPOINT_CRASH=all tries them all
// (make crash), and HOLDPOINT_CRASH_TABLE=docs/reliability.md puts the resulting
// table between the markers of that file.
//
// The database is not killed here, and neither is the machine: what the kernel or the
// database server was given outlives the process. So the server need not flush to
// disk, and what a power cut leaves behind is not shown by these tests.
//
// Its tests have the tag "faults": "make faults" runs them, plain "go test" does not.
package crash
