// Package handover holds tests of how runs are handed over between workers: many of
// them, at several replicas, on one database. It is empty but for its tests.
package handover
