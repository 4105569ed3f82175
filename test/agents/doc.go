// Package agents drives the real service with real coding agents from their registry. Their
// model is a stub on loopback, and where the machine allows it they run in a network namespace
// that has nothing but loopback. What docs/agents.md tells people to type is what runs here.
//
// Its tests have the tag "agents": "make agents" runs them, plain "go test" does not. It knows
// the wire and the documents, and nothing of what is inside the service.
package agents
