// Package mcptools provides the service as tools of the Model Context Protocol: tools with which an
// agent asks people, and tools with which a person's assistant decides for that person. [NewServer]
// serves both stdio and HTTP.
//
// It uses only package client, so a tool can do only what its caller's credentials allow. It must
// not know the transport.
package mcptools
