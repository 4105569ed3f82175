// Package relay serves clients of the relay protocol of an LLM gateway
// (docs/spec/relay.md): POST /chat starts a run and streams what happens in it, and
// POST /chat/relay/{relayId} decides about one tool call.
//
// A chat is a session with one run. What the dialect must know of it later, on any
// replica, is in the session's metadata under "relay"; the package itself keeps
// nothing. A relay is an open approval, and its id is the approval's handle. The
// package must not know an engine or another dialect.
package relay
