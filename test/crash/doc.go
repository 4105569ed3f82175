// Package crash kills the running program with SIGKILL at every point of every kind of call,
// restarts it, repeats the call as a client would, and checks the result. Acknowledged calls took
// effect, other calls took effect once or not at all, and nothing happened twice. It has tests
// only.
//
// The points are defined by internal/failpoint, in a program that is built with the tag
// "failpoints". There is no list of the points of a call: a first call records them, and later
// calls are killed at them. A point is a name and an ordinal, such as the third
// "postgres.lanes.send.Bind".
//
// "make faults" tries a sample of the points. HOLDPOINT_CRASH=all tries all of them (make crash),
// and HOLDPOINT_CRASH_TABLE=docs/reliability.md writes the resulting table between the markers of
// that file.
//
// The database and the machine are not killed. Data that reached the kernel or the database server
// survives the process, so the server need not flush to disk, and these tests do not cover power
// cuts.
//
// Its tests have the tag "faults": "make faults" runs them, plain "go test" does not.
package crash
