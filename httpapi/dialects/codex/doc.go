// Package codex serves the routes of the codex manager (docs/spec/codex.md): lists of pending
// approvals and tool inputs, their decisions, the transcript of a session, and a WebSocket that
// announces raised and settled requests.
//
// It translates between that contract and package runs. Its in-memory state only saves reads and
// can be lost at any time. It must not know a database or another dialect.
package codex
