package multiplex_test

import (
	"context"
	"encoding/binary"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/internal/multiplex"
)

// TestWhoReadsNoRepliesMakesNoMoreCalls sends calls whose replies are small, and reads none.
func TestWhoReadsNoRepliesMakesNoMoreCalls(t *testing.T) {
	t.Parallel()
	s := serve(t)
	conn := s.hostile(t)
	const calls = 100_000
	sent := 0
	for sent < calls {
		var message []byte
		for range 100 {
			number := binary.AppendUvarint([]byte{1}, uint64(sent))
			message = append(append(message, number...), callOf(0, "/v1/"+strings.Repeat("x", 100))[2:]...)
			sent++
		}
		if conn.Write(t.Context(), websocket.MessageBinary, message) != nil {
			break
		}
	}
	s.serving.Wait() // it has lost its connection
	require.Less(t, sent, calls)
	// What the buffers of both sockets hold, and 1,024 that were under way.
	require.Less(t, s.multiplexed.Load(), int64(calls/2))
}

// TestCallsOfTheServiceThatLeaves holds that a service which drains takes no call for long, and answers those that it has
// taken, however long they take.
func TestCallsOfTheServiceThatLeaves(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(*service){
		"it drains": func(s *service) { s.drain() }, "the credential is revoked": func(s *service) { s.revoke() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t)
			conn := s.hostile(t)
			require.NoError(t, conn.Write(t.Context(), websocket.MessageBinary, callOf(1, "/v1/held")))
			<-s.entered
			leave(s)
			_, message, err := conn.Read(t.Context())
			require.NoError(t, err)
			require.Equal(t, []byte{5, 0, 0}, message, "go away")
			for number := uint64(2); message[0] != 2; number++ {
				numbered := append(binary.AppendUvarint([]byte{1}, number), callOf(0, "/v1/x")[2:]...)
				require.NoError(t, conn.Write(t.Context(), websocket.MessageBinary, numbered))
				_, message, err = conn.Read(t.Context())
				require.NoError(t, err)
			}
			s.release <- struct{}{}
			_, message, err = conn.Read(t.Context())
			require.NoError(t, err)
			require.Equal(t, []byte{4, 1}, message[:2], "the held call is answered")
			s.serving.Wait() // the client does not leave, and is cut
		})
	}
}

// silent is a server that shakes hands and then neither reads nor answers.
func silent(t *testing.T) (url string, opened *atomic.Int64) {
	t.Helper()
	opened = &atomic.Int64{}
	ended, end := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(multiplex.Advert, multiplex.Path)
		if r.URL.Path != multiplex.Path {
			return
		}
		serving.Add(1)
		defer serving.Done()
		conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{multiplex.Subprotocol}})
		if !assert.NoError(t, err) {
			return
		}
		opened.Add(1)
		<-ended.Done()
		_ = conn.CloseNow()
	}))
	t.Cleanup(func() {
		end()
		serving.Wait()
		server.Close()
	})
	return server.URL, opened
}

// TestWhatPassesTheHandshakeAlone is about a proxy that takes the handshake and passes nothing: calls go by themselves.
func TestWhatPassesTheHandshakeAlone(t *testing.T) {
	t.Parallel()
	url, opened := silent(t)
	plain, opener := &http.Transport{MaxIdleConnsPerHost: 100}, &http.Transport{}
	transport := &multiplex.Transport{
		Plain: plain, Opener: &http.Client{Transport: opener}, BaseURL: url, MaxReplyBytes: 1 << 20,
		Header: http.Header{"Authorization": {"Bearer secret"}, "User-Agent": {"test"}, "X-Actor": {"ana"}},
	}
	defer plain.CloseIdleConnections()
	defer opener.CloseIdleConnections()
	defer transport.CloseIdle()
	c := &http.Client{Transport: transport}
	for opened.Load() == 0 {
		var group sync.WaitGroup
		for range 40 {
			group.Go(func() {
				_, _, err := get(t.Context(), c, url+"/v1/x")
				assert.NoError(t, err)
			})
		}
		group.Wait()
	}
	for range 200 {
		_, _, err := get(t.Context(), c, url+"/v1/x")
		require.NoError(t, err)
	}
	require.Equal(t, int64(1), opened.Load())
}
