// Package tasks is the Tasks extension of the Model Context Protocol, io.modelcontextprotocol/tasks
// of revision 2026-07-28, on top of a server of the Go SDK, which does not know it. A tool's
// handler answers with [Created] instead of a result, and the client asks by tasks/get,
// tasks/update and tasks/cancel what became of it.
//
// The package knows the protocol alone. What a task is, and who may see it, is for its [Keeper];
// it must not know runs, requests or who asks.
package tasks
