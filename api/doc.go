// Package api holds the documents of the /v1 wire as plain Go types: their names,
// members, limits and units. It has no behaviour and imports nothing.
//
// A member has one name from the SQL column to the JSON text to the Go field. Times are
// integer milliseconds since the epoch and end in AtMs; lengths of time are integer
// milliseconds and end in Ms. openapi.yaml describes the same documents.
package api
