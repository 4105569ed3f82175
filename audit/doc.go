// Package audit exports the logs of sessions to a file, and verifies such files with the service's
// public keys alone: a later change to the file is detected (docs/audit.md).
//
// It must not know HTTP or SQL.
package audit
