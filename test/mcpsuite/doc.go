// Package mcpsuite drives the official conformance suite of the Model Context Protocol, from its
// registry, against the real service. The suite calls its own tools, which the test's service
// offers in addition to the real ones. The program never offers them. It also kills replicas of
// the program between two calls of a client.
//
// Its tests have the tag "agents": "make agents" runs them, plain "go test" does not.
package mcpsuite
