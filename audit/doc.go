// Package audit writes the log of sessions to a file that shows by itself, to whoever has the
// service's public keys, whether it was changed afterwards, and checks such files (docs/audit.md).
//
// It must not know HTTP or SQL.
package audit
