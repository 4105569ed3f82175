// Package handover holds tests of how runs are handed over between workers: many of
// them, at several replicas, on one database. It is empty but for its tests.
//
// Its tests have the tag "faults": "make faults" runs them, plain "go test" does not.
package handover
