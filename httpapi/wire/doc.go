// Package wire is what every HTTP face of holdpoint shares: reading a body within
// limits, the problem documents of errors, idempotency keys, who is asking, how
// long a reply may be held, and the guard that stands in front of all routes.
//
// It must not know a store, a route or a status of a run: it turns HTTP into Go
// values and errors of package runs into HTTP, and nothing else.
package wire
