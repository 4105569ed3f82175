//go:build unix

package clients

import (
	"testing"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
)

// line is a way to the service that can be cut and led elsewhere. Its own address stays
// the same, so a client thinks that it talks to one service.
type line struct {
	server  *toxiproxy.ApiServer
	proxy   *toxiproxy.Proxy
	address string
}

// newLine returns a line to an address.
func newLine(t *testing.T, upstream string) *line {
	t.Helper()
	l := &line{server: toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())}
	l.proxy = toxiproxy.NewProxy(l.server, "line", "127.0.0.1:0", upstream)
	require.NoError(t, l.proxy.Start())
	l.address = l.proxy.Listen
	t.Cleanup(func() { l.proxy.Stop() })
	return l
}

// cut ends all connections and refuses new ones, until it is led somewhere again.
func (l *line) cut() { l.proxy.Stop() }

// lead makes new connections go to an address, and ends those that there are.
func (l *line) lead(t *testing.T, upstream string) {
	t.Helper()
	l.proxy.Stop()
	l.proxy = toxiproxy.NewProxy(l.server, "line", l.address, upstream)
	require.NoError(t, l.proxy.Start())
}
