//go:build !failpoints

package failpoint

import (
	"context"
	"net"
)

// Hit is the point of that name.
func Hit(string) {}

// Statement is the point of a step of an SQL statement, such as "sqlite.before",
// named by the step and by what the statement does.
func Statement(_, _ string) {}

// Dial returns a dial function whose connections have a point before each message
// that is sent to Postgres, and one after each read. The label tells the
// connections of one purpose from the others.
func Dial[F ~func(ctx context.Context, network, address string) (net.Conn, error)](_ string, dial F) F {
	return dial
}
