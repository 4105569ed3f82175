// Package deliver posts events to webhooks. Each endpoint has a lane of its own, which signs,
// posts and retries. A failing endpoint delays no other endpoint.
//
// Deliveries to one endpoint are in order within a session: an event is posted only after
// all earlier events of its session have been delivered or given up. Sessions do not wait for
// each other.
//
// A decision writes at most four rows per webhook. Larger sets are one row, which
// runs.FanOutDeliveries expands after the commit, 100 deliveries at a time. So the lock of a
// session is held no longer if more events match.
//
// The package must not know SQL, nor decide anything: the result of an attempt is recorded
// by a command.
package deliver
