// Package client is the Go SDK of holdpoint: an API client for /v1, and a [Worker] that
// claims runs and calls a handler for each.
//
// Import it together with package api, which has the documents of the API. It must not use
// a store, an HTTP server or environment variables. A [Client] is safe for concurrent use.
//
// Calls that are safe to repeat are retried (see [RetryPolicy]). Refusals are returned as
// [*Error]; match them with [errors.Is] and this package's sentinel errors.
package client
