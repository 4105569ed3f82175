//go:build unix

package rig

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

// held keeps the UDP ports of [fixedPort] until this process ends.
var held struct {
	sync.Mutex
	ports []net.PacketConn
}

// fixedPort returns a port of 127.0.0.1 for a server that is stopped and started. While it is down, no outgoing
// connection is given the port, because it is below those that systems hand out by themselves, and no other test
// takes it, because its UDP port is held.
func fixedPort() (int, error) {
	var config net.ListenConfig
	for range 100 {
		port := 20000 + rand.IntN(12000)
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		mine, err := config.ListenPacket(context.Background(), "udp", address)
		if err != nil {
			continue
		}
		listener, err := config.Listen(context.Background(), "tcp", address)
		if err != nil {
			_ = mine.Close()
			continue
		}
		held.Lock()
		held.ports = append(held.ports, mine)
		held.Unlock()
		return port, listener.Close()
	}
	return 0, errors.New("no free port between 20000 and 32000")
}
