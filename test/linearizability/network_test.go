//go:build unix

package linearizability

import (
	"fmt"
	"strings"
	"testing"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
)

// network makes connections that can be cut and delayed.
type network struct{ server *toxiproxy.ApiServer }

func newNetwork() *network {
	return &network{toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())}
}

// line is one way to a place. It is closed with the test.
type line struct {
	proxy *toxiproxy.Proxy
	// renew makes the proxy that takes the place of this one.
	renew func(listen string) *toxiproxy.Proxy
	begin string
}

// lineTo returns a line to an address.
func (n *network) lineTo(tb testing.TB, name, upstream string) *line {
	tb.Helper()
	l := &line{renew: func(listen string) *toxiproxy.Proxy { return toxiproxy.NewProxy(n.server, name, listen, upstream) }}
	l.proxy = l.renew("127.0.0.1:0")
	require.NoError(tb, l.proxy.Start())
	l.begin = l.proxy.Listen
	tb.Cleanup(func() { l.proxy.Stop() })
	return l
}

// address is where the line begins. It stays the same.
func (l *line) address() string { return l.begin }

// cut ends all connections, and refuses new ones until it is mended.
func (l *line) cut() { l.proxy.Stop() }

// loseReplies passes everything on but the replies: the connection of the first one
// ends without a goodbye.
func (l *line) loseReplies() error {
	return l.add(`{"type": "reset_peer", "stream": "downstream", "attributes": {"timeout": 0}}`)
}

// delay makes all that is sent late, by up to twice so many milliseconds each way.
func (l *line) delay(latencyMs int) error {
	for _, stream := range []string{"upstream", "downstream"} {
		toxic := fmt.Sprintf(`{"type": "latency", "stream": %q, "attributes": {"latency": %d, "jitter": %d}}`, stream, latencyMs, latencyMs)
		if err := l.add(toxic); err != nil {
			return err
		}
	}
	return nil
}

// swallowReplies passes everything on but the replies, and nobody is told.
func (l *line) swallowReplies() error {
	return l.add(`{"type": "timeout", "stream": "downstream", "attributes": {"timeout": 0}}`)
}

func (l *line) add(toxic string) error {
	_, err := l.proxy.Toxics.AddToxicJson(strings.NewReader(toxic))
	return err
}

// mend makes the line good for new connections and ends those that it has: to take
// what delays them out of a connection in use can take toxiproxy many seconds.
func (l *line) mend() error {
	l.proxy.Stop()
	l.proxy = l.renew(l.begin)
	return l.proxy.Start()
}
