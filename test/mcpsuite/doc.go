// Package mcpsuite drives the official conformance suite of the Model Context Protocol, from its
// registry, against the real service. The suite calls tools of its own invention, so the service
// of the test has them beside the real ones, on the same waits; the program never has. It also
// kills replicas of the program between two calls of a client.
//
// Its tests have the tag "agents": "make agents" runs them, plain "go test" does not.
package mcpsuite
