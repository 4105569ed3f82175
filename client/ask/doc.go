// Package ask asks a person to decide one tool call or answer one question of an agent, and
// waits for the decision. It is for programs between an agent and the service that run
// nothing themselves, such as an MCP server or a hook, and that may be killed between any
// two steps.
//
// Each call is a separate run of kind "call", so the calls of a session are open
// concurrently and decided in any order. The decision is read from the session's log, which
// only the service writes, and is compared with the request.
//
// A decision is returned once. Its first reader completes the run and spends the key: after
// that, the same call with the same key asks again, because gateways and models restart
// their numbering of calls. Until then a repeat is a retry and finds the same request.
//
// The package uses the client and the documents of the API. It must not know who asks.
package ask
