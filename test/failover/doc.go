// Package failover tests what becomes of decisions when the database under running
// replicas is lost and its standby takes over, and when a proxy that pools by
// transaction stands between. It runs the real program on clusters of its own and
// knows nothing of what is inside either.
//
// Its tests have the tag "faults": "make faults" runs them, plain "go test" does not.
package failover
