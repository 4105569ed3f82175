// Package upkeep says what an engine does for a service besides deciding: it sweeps and trims what
// may go, removes bodies, re-encrypts keys, and measures its disk.
//
// It must not know SQL, HTTP or commands. What may go is in docs/retention.md.
package upkeep
