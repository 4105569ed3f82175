// Package codex serves the routes of the codex manager (docs/spec/codex.md): lists of
// pending approvals and tool inputs, the decisions about them, the transcript of a
// session, and a WebSocket that announces what is raised and settled.
//
// It translates between that contract and package runs. What it keeps in memory spares
// reads and may be lost at any time. It must not know a database or another dialect.
package codex
