// Package api holds the documents of the /v1 wire as plain Go types: rows as they are
// shown, request and reply bodies, and their limits. It has no behaviour and imports
// nothing, so that a client links no more than these types.
//
// A member has one name from the SQL column to the JSON text to the Go field. Times are
// integer milliseconds since the Unix epoch and end in AtMs; lengths of time are integer
// milliseconds and end in Ms. openapi.yaml describes the same documents, and
// docs/spec/v1.md what they mean.
//
// Types that end in Body are request bodies, those that end in Reply are replies, those
// that end in View are rows as they are shown. In a body a pointer member with omitzero
// distinguishes an absent member (nil) from an empty one, where the service treats them
// differently: an empty id is refused, and an absent one is made.
package api
