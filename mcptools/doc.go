// Package mcptools is the service as tools of the Model Context Protocol: those by which an
// agent asks people, and those by which a person's assistant decides for that person.
// [NewServer] is all of it, for stdio and for HTTP alike.
//
// It speaks to the service by package client alone, so a tool can do what its caller's
// credentials allow and nothing else. It must not know the transport.
package mcptools
