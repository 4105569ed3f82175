// Package relay serves clients of an LLM gateway's relay protocol (docs/spec/relay.md): POST /chat
// starts a run and streams its events, and POST /chat/relay/{relayId} decides one tool call.
//
// A chat is a session with one run. The dialect's data about it is in the session's metadata under
// "relay", for every replica; the package stores nothing. A relay is an open approval, and its id
// is the approval's handle. The package must not know an engine or another dialect.
package relay
