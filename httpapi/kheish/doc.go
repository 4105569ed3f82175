// Package kheish serves /v1 again below /kheish, with the types of Kheish's own typed clients:
// fewer statuses and events than /v1, and different shapes for three replies (docs/kheish.md).
// Everything else is the reply of /v1 itself.
//
// It wraps the whole API. The wrapped handler checks permissions, under the path of /v1. It must
// not know a store, the domain, or a dialect.
package kheish
