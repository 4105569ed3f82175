// Package client is the Go SDK of holdpoint: an API client for /v1 and a
// [Worker] that claims runs and hands them to a handler.
//
// Import only this package: the documents of the wire are re-exported here as
// aliases. It knows the wire and nothing behind it: no store, no HTTP server, no
// environment variables. A [Client] is safe for concurrent use.
//
// Calls that are safe to repeat are repeated for the caller (see [RetryPolicy]).
// Refusals come back as [*Error]; match them with [errors.Is] and the sentinels of
// this package.
package client
