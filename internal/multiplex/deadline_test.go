package multiplex

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestDeadlinesHoldOnAStuckConnection makes more calls than fit into the buffers of a
// connection whose peer reads nothing. Each call ends by its deadline.
func TestDeadlinesHoldOnAStuckConnection(t *testing.T) {
	t.Parallel()
	ended, end := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if assert.NoError(t, err) {
			<-ended.Done()
			_ = conn.CloseNow()
		}
	}))
	defer server.Close()
	defer end()
	transport := &http.Transport{DialContext: (&net.Dialer{}).DialContext}
	defer transport.CloseIdleConnections()
	conn, _, err := websocket.Dial(t.Context(), server.URL, &websocket.DialOptions{HTTPClient: &http.Client{Transport: transport}})
	require.NoError(t, err)
	c := newConnection(conn, 1<<20)
	go c.read()
	asked := &call{method: http.MethodPost, target: "/v1/x", body: make([]byte, 40<<10)}
	var callers sync.WaitGroup
	for range 300 {
		callers.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			_, made, err := c.do(ctx, nil, asked)
			assert.True(t, made)
			assert.ErrorIs(t, err, context.DeadlineExceeded)
		})
	}
	callers.Wait() // long before the write timeout, which would end them otherwise
	_, _, open := c.state()
	require.True(t, open)
	c.close()
	<-c.ended
}
