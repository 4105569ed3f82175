// Package kheish serves /v1 once more below /kheish, in the types of Kheish's own typed
// clients, which know fewer statuses and events than /v1 has and other shapes of three
// replies (docs/kheish.md). Everything else is the reply of /v1 itself.
//
// It is a wrapper around the whole API: who may call what is decided by the handler that it
// wraps, under the path of /v1. It must not know a store, the domain, or a dialect.
package kheish
