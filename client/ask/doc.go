// Package ask puts one tool call or one question of an agent before a person and waits for
// what is decided. It is for programs that stand between an agent and the service and run
// nothing themselves, such as an MCP server or a hook: they may be killed between any two
// steps.
//
// Each call is a run of its own, of kind "call": calls of one session are open at the same time
// and decided in any order. What was decided is read from the session's log, which only the
// service writes, and is checked against what was asked.
//
// A decision is handed out once. Its first reader completes the run, and from then on the
// key of the call is spent: the same call with the same key asks a person again, because gateways
// and models number their calls anew. Until then a repeat is a retry and finds the same request.
//
// The package knows the client and the documents of the API. It must not know who asks.
package ask
