// Package wire is shared by all HTTP APIs of the service. It reads bodies within limits,
// idempotency keys, actors and preferred waits, writes JSON and problem documents, and protects all
// routes against web pages of other origins.
//
// It must not know a store, a route or the status of a run: it only translates HTTP into Go values
// and domain errors into HTTP.
package wire
