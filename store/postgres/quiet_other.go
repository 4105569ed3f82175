//go:build !unix

package postgres

import "net"

// Checking a connection is not supported here.
func quiet(net.Conn) bool { return true }
