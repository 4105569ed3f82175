// Package wire is what every HTTP face shares: it reads bodies within limits, idempotency
// keys, actors and preferred waits, writes JSON and the problem documents of errors, and
// guards all routes against web pages of other origins.
//
// It must not know a store, a route or the status of a run: it turns HTTP into Go values
// and errors of the domain into HTTP, and nothing else.
package wire
