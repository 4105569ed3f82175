// Package ask puts one tool call or one question of an agent before a person and waits for
// what is decided. It is for programs that stand between an agent and the service and run
// nothing themselves, such as an MCP server or a hook: they may be killed between any two
// steps, and asking again with the same key goes on where the one before stopped.
//
// Each call is a run of its own, whose id follows from session and key. Calls of one session
// are put before people one after the other. What was decided is read from the session's log,
// which only the service writes, and is checked against what was asked.
//
// The package knows the client and the documents of the API. It must not know who asks.
package ask
