// Package powercut tests what is left of an SQLite file when the service on it is
// killed at a random moment, and when the machine under it loses its power. It runs the
// real program and knows nothing of what is inside, but for the format of the file that
// SQLite writes its log to.
//
// Its tests have the tag "faults": "make faults" runs them, plain "go test" does not.
package powercut
