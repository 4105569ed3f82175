// Package runs is the domain of holdpoint: sessions, runs, what they wait for,
// and the one pure function, [Decide], through which every change to them goes.
//
// It must not know SQL, HTTP, a clock or a source of randomness: times arrive as
// integer milliseconds since the epoch, identifiers are made by an [IDSource],
// and rows are handed in as a [State] and handed back as a [Change]. An engine
// (package store and below) loads the one and writes the other under the lock of
// the session.
//
// Names are the same from SQL column to JSON member to Go field. The JSON tags
// here are the members of the /v1 wire, because the wire shows the domain and
// nothing else; there is still no HTTP in this package.
package runs
