// Package tasks implements the Tasks extension of the Model Context Protocol,
// io.modelcontextprotocol/tasks of revision 2026-07-28, on top of a server of the Go SDK, which
// does not support it. A tool's handler returns [Created] instead of a result, and the client polls
// with tasks/get, tasks/update and tasks/cancel.
//
// The package knows only the protocol. The [Keeper] defines what a task is and who may see it. It
// must not know runs, requests or callers.
package tasks
