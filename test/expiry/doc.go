// Package expiry tests deadlines at the level of processes: very many that fall due at
// once on two replicas, and replicas whose clocks are wrong. It knows nothing of how
// what is due is found.
//
// Its tests have the tag "faults": "make faults" runs them, plain "go test" does not.
package expiry
