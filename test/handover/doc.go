// Package handover tests how runs are handed over between many workers at several replicas on one
// database. It has tests only.
//
// Its tests have the tag "faults": "make faults" runs them, plain "go test" does not.
package handover
