//go:build unix

package postgres

import (
	"crypto/tls"
	"errors"
	"net"
	"syscall"
)

// quiet reports whether nothing has arrived on an idle connection, such as its end or an error.
// It does not block. A connection that cannot be checked counts as quiet.
func quiet(conn net.Conn) bool {
	if secured, is := conn.(*tls.Conn); is {
		conn = secured.NetConn()
	}
	asked, able := conn.(syscall.Conn)
	if !able {
		return true
	}
	raw, err := asked.SyscallConn()
	if err != nil {
		return false
	}
	isQuiet := false
	// Not raw.Read, which would wait for a reader left by the driver.
	err = raw.Control(func(fd uintptr) {
		var next [1]byte
		_, _, err := syscall.Recvfrom(int(fd), next[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		isQuiet = errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EINTR)
	})
	return err == nil && isQuiet
}
