//go:build failpoints

package failpoint

import (
	"context"
	"encoding/binary"
	"net"
)

// Dial returns a dial function whose connections have a failpoint before each message sent
// to Postgres and after each read. The label names the purpose of the connection.
func Dial[F ~func(ctx context.Context, network, address string) (net.Conn, error)](label string, dial F) F {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &connection{Conn: conn, prefix: "postgres." + label}, nil
	}
}

// connection sends the messages of the Postgres protocol one by one. The driver writes a
// whole pipeline at once. A process that dies halfway leaves a prefix of it with the
// server, and these failpoints try every prefix.
type connection struct {
	net.Conn
	prefix string
}

// Write implements net.Conn.
func (c *connection) Write(text []byte) (int, error) {
	written := 0
	for written < len(text) {
		name, size := firstMessage(text[written:])
		Hit(c.prefix + ".send." + name)
		n, err := c.Conn.Write(text[written : written+size])
		written += n
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

// Read implements net.Conn. A process that dies at its failpoint loses the bytes read.
func (c *connection) Read(into []byte) (int, error) {
	n, err := c.Conn.Read(into)
	if n > 0 {
		Hit(c.prefix + ".received")
	}
	return n, err
}

// messages names the client's messages by their first byte.
var messages = map[byte]string{
	'B': "Bind", 'C': "Close", 'D': "Describe", 'E': "Execute", 'H': "Flush", 'P': "Parse",
	'Q': "Query", 'S': "Sync", 'X': "Terminate", 'p': "Password",
}

// firstMessage returns the name and the size of the first message in a text, or the size of
// the whole text if the message is incomplete. The first message of a connection starts
// with its length, without a type byte.
func firstMessage(text []byte) (name string, size int) {
	name, header := messages[text[0]], 1
	switch {
	case text[0] == 0:
		name, header = "Startup", 0
	case name == "":
		return "other", len(text)
	}
	if len(text) < header+4 {
		return name, len(text)
	}
	size = header + int(binary.BigEndian.Uint32(text[header:]))
	return name, min(max(size, header+4), len(text))
}
