// Package loopback knows the names and addresses of this machine itself. Only its own programs reach them, so
// plain HTTP and an untrusted certificate are allowed there.
//
// It must not resolve names.
package loopback

import (
	"net/netip"
	"strings"
)

// Is reports whether a host, without a port and brackets, is localhost or a loopback address.
func Is(host string) bool {
	address, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && address.IsLoopback()
}
