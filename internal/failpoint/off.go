//go:build !failpoints

package failpoint

import (
	"context"
	"net"
)

// Hit marks a failpoint with the given name.
func Hit(string) {}

// Statement marks a failpoint at a step of an SQL statement, such as "sqlite.before". Its
// name is the step and a summary of the statement.
func Statement(_, _ string) {}

// Dial returns a dial function whose connections have a failpoint before each message sent
// to Postgres and after each read. The label names the purpose of the connection.
func Dial[F ~func(ctx context.Context, network, address string) (net.Conn, error)](_ string, dial F) F {
	return dial
}
