package multiplex_test

import (
	"context"
	"encoding/binary"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/internal/multiplex"
)

// TestWhoReadsNoRepliesMakesNoMoreCalls sends calls whose replies are small, and does not
// read them.
func TestWhoReadsNoRepliesMakesNoMoreCalls(t *testing.T) {
	t.Parallel()
	s := serveWith(t, 100*time.Millisecond)
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
	// The buffers of both sockets, and 1,024 calls in flight.
	require.Less(t, s.multiplexed.Load(), int64(calls/2))
}

// TestCallsOfTheServiceThatLeaves: a service that shuts down soon accepts no more calls,
// and answers those that it has accepted, however long they take.
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
			const refused = 6
			for number := uint64(2); message[0] != refused; number++ {
				numbered := append(binary.AppendUvarint([]byte{1}, number), callOf(0, "/v1/x")[2:]...)
				require.NoError(t, conn.Write(t.Context(), websocket.MessageBinary, numbered))
				_, message, err = conn.Read(t.Context())
				require.NoError(t, err)
			}
			s.release <- struct{}{}
			_, message, err = conn.Read(t.Context())
			require.NoError(t, err)
			require.Equal(t, []byte{4, 1}, message[:2], "the held call is answered")
			s.serving.Wait() // the client does not leave and is cut off
		})
	}
}

// TestARefusedCallIsMadeElsewhere: calls that reach a service after it asked the client to
// leave have no effect. They are sent again by plain HTTP, and the caller sees no error.
func TestARefusedCallIsMadeElsewhere(t *testing.T) {
	t.Parallel()
	var refused, answered atomic.Int64
	var serving sync.WaitGroup
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(multiplex.Advert, multiplex.Path)
		if r.URL.Path != multiplex.Path {
			answered.Add(1)
			_, _ = io.Copy(w, r.Body)
			return
		}
		serving.Add(1)
		defer serving.Done()
		conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{multiplex.Subprotocol}})
		if !assert.NoError(t, err) {
			return
		}
		defer func() { _ = conn.CloseNow() }()
		for {
			_, message, err := conn.Read(r.Context())
			if err != nil {
				return
			}
			for len(message) > 0 {
				number, numberBytes := binary.Uvarint(message[1:])
				length, lengthBytes := binary.Uvarint(message[1+numberBytes:])
				message = message[1+numberBytes+lengthBytes+int(length):]
				refused.Add(1)
				frame := append(binary.AppendUvarint([]byte{6}, number), 0)
				if conn.Write(r.Context(), websocket.MessageBinary, frame) != nil {
					return
				}
			}
		}
	}))
	defer serving.Wait()
	defer server.Close() // after it no handler begins
	plain, opener := &http.Transport{MaxIdleConnsPerHost: 100}, &http.Transport{}
	transport := &multiplex.Transport{
		Plain: plain, Opener: &http.Client{Transport: opener}, BaseURL: server.URL, MaxReplyBytes: 1 << 20,
		Header: http.Header{"User-Agent": {"test"}},
	}
	defer plain.CloseIdleConnections()
	defer opener.CloseIdleConnections()
	defer transport.CloseIdle()
	c := &http.Client{Transport: transport}
	var made atomic.Int64
	for refused.Load() == 0 {
		var group sync.WaitGroup
		for range 40 {
			group.Go(func() {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/v1/runs", strings.NewReader(`{"input":1}`))
				if err != nil {
					assert.Fail(t, err.Error())
					return
				}
				r.Header.Set("User-Agent", "test")
				made.Add(1)
				reply, err := c.Do(r)
				if err != nil {
					assert.Fail(t, err.Error())
					return
				}
				defer reply.Body.Close()
				body, err := io.ReadAll(reply.Body)
				assert.Equal(t, `{"input":1}`, string(body), "%v", err)
			})
		}
		group.Wait()
	}
	require.Equal(t, made.Load(), answered.Load(), "each call was made once")
}

// silent is a server that completes the handshake and then neither reads nor answers.
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
		server.Close() // after it no handler begins
		serving.Wait()
	})
	return server.URL, opened
}

// TestWhatPassesTheHandshakeAlone: if a proxy passes the handshake and nothing else, calls
// go by plain HTTP.
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
	transport.PauseAtLeast(2 * time.Hour)
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
