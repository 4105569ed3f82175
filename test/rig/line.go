package rig

import (
	"fmt"
	"strings"
	"testing"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
)

// Line is a network connection through a proxy. It can be cut, delayed and redirected, and its own
// address stays the same. It is closed with the test.
type Line struct {
	server            *toxiproxy.ApiServer
	proxy             *toxiproxy.Proxy
	address, upstream string
}

// NewLine returns a line to an address.
func NewLine(tb testing.TB, upstream string) *Line {
	tb.Helper()
	l := &Line{server: toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop()), address: "127.0.0.1:0", upstream: upstream}
	require.NoError(tb, l.Mend())
	l.address = l.proxy.Listen
	tb.Cleanup(l.Cut)
	return l
}

// Address is where the line begins.
func (l *Line) Address() string { return l.address }

// Cut ends all connections, and refuses new ones until [Line.Mend] or [Line.Lead].
func (l *Line) Cut() { l.proxy.Stop() }

// Mend makes the line good for new connections and ends the existing ones: toxiproxy may take many
// seconds to remove a delay from a connection in use.
func (l *Line) Mend() error {
	if l.proxy != nil {
		l.proxy.Stop()
	}
	l.proxy = toxiproxy.NewProxy(l.server, "line", l.address, l.upstream)
	return l.proxy.Start()
}

// Lead is [Line.Mend] to another address.
func (l *Line) Lead(upstream string) error {
	l.upstream = upstream
	return l.Mend()
}

// Delay delays all data by up to twice this many milliseconds each way.
func (l *Line) Delay(latencyMs int) error {
	for _, stream := range []string{"upstream", "downstream"} {
		toxic := fmt.Sprintf(`{"type": "latency", "stream": %q, "attributes": {"latency": %d, "jitter": %d}}`, stream, latencyMs, latencyMs)
		if err := l.add(toxic); err != nil {
			return err
		}
	}
	return nil
}

// LoseReplies passes everything on but the replies: the connection of the first one is reset.
func (l *Line) LoseReplies() error {
	return l.add(`{"type": "reset_peer", "stream": "downstream", "attributes": {"timeout": 0}}`)
}

// SwallowReplies passes everything on but the replies, and keeps the connections open.
func (l *Line) SwallowReplies() error {
	return l.add(`{"type": "timeout", "stream": "downstream", "attributes": {"timeout": 0}}`)
}

func (l *Line) add(toxic string) error {
	_, err := l.proxy.Toxics.AddToxicJson(strings.NewReader(toxic))
	return err
}
