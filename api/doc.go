// Package api defines the documents of the /v1 API as plain Go types: resources, request and reply
// bodies, and their limits. It has no behaviour and imports nothing, so a client that uses it links
// only these types.
//
// A member has the same name in SQL, JSON and Go. Times are integer milliseconds since the Unix
// epoch and end in AtMs; durations are integer milliseconds and end in Ms. openapi.yaml describes
// the same documents; docs/spec/v1.md says what they mean.
//
// Types that end in Body are request bodies, types that end in Reply are replies, and types that
// end in View are resources. In a body, a pointer member with omitzero distinguishes an absent
// member (nil) from an empty one where the service treats them differently: an empty id is refused,
// and an absent one is generated.
package api
