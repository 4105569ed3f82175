package wire_test

import (
	"bufio"
	"bytes"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/httpapi/wire"
)

func newShell() *wire.Shell { return wire.NewShell(slog.New(slog.DiscardHandler), wire.Guard{}, nil) }

// A client that reads nothing of a reply loses its connection: the kernel buffers some of the
// reply, and the rest fails at its deadline.
func TestClientThatReadsNothingLosesItsConnection(t *testing.T) {
	t.Parallel()
	shell := newShell()
	shell.Patience = 50 * time.Millisecond
	body := bytes.Repeat([]byte("x"), 64<<20)
	ended := make(chan error, 1)
	server := httptest.NewServer(shell.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, err := w.Write(body)
		ended <- err
	})))
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
	require.NoError(t, err)
	var timeout net.Error
	require.ErrorAs(t, <-ended, &timeout)
	require.True(t, timeout.Timeout())
	// The connection is closed: only the kernel's buffer can still be read.
	got, _ := io.Copy(io.Discard, conn)
	require.Less(t, got, int64(len(body)))
}

// slowly is a connection whose client reads a part of a reply from time to time, but never so late
// that a deadline passes.
type slowly struct {
	*httptest.ResponseRecorder
	takes    time.Duration
	deadline time.Time
	parts    int
}

func (s *slowly) SetWriteDeadline(deadline time.Time) error {
	s.deadline = deadline
	return nil
}

func (s *slowly) Write(part []byte) (int, error) {
	time.Sleep(s.takes)
	s.parts++
	if !s.deadline.IsZero() && time.Now().After(s.deadline) {
		return 0, &net.OpError{Op: "write", Err: http.ErrHandlerTimeout}
	}
	return s.ResponseRecorder.Write(part)
}

func TestSlowClientThatMovesGetsAll(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		takes time.Duration
		all   bool
	}{{20 * time.Second, true}, {31 * time.Second, false}} {
		synctest.Test(t, func(t *testing.T) {
			client := &slowly{ResponseRecorder: httptest.NewRecorder(), takes: test.takes}
			body := bytes.Repeat([]byte("x"), 4<<20)
			newShell().Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				wire.WriteBytes(w, r, http.StatusOK, []string{"text/plain"}, body)
			})).ServeHTTP(client, httptest.NewRequest(http.MethodGet, "http://localhost/", nil))
			require.Equal(t, test.all, bytes.Equal(body, client.Body.Bytes()))
			if !test.all {
				require.Equal(t, 1, client.parts)
			}
		})
	}
}

// A stream may wait longer than a reply, and sets its own deadlines for its reader.
func TestStreamKeepsItsOwnDeadlines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := &slowly{ResponseRecorder: httptest.NewRecorder()}
		client.deadline = time.Now() // of the reply before
		own := time.Now().Add(time.Second)
		var before time.Time
		var failed error
		newShell().Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			before = client.deadline
			failed = http.NewResponseController(w).SetWriteDeadline(own)
			_, _ = w.Write([]byte("frame"))
		})).ServeHTTP(client, httptest.NewRequest(http.MethodGet, "http://localhost/", nil))
		require.NoError(t, failed)
		require.Zero(t, before)
		require.Equal(t, own, client.deadline)
		require.Equal(t, "frame", client.Body.String())
	})
}

// A client that sends all of its body before it reads gets the refusal, and no reset.
func TestRefusalOfALargeBodyReachesAClientThatSendsOn(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(newShell().Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var into any
		wire.WriteProblem(w, r, wire.Decode(w, r, 1<<10, &into))
	})))
	t.Cleanup(server.Close)
	const size = 32 << 20
	part := bytes.Repeat([]byte("x"), 1<<20)
	for name, head := range map[string]string{
		"with a length": "Content-Length: 33554432\r\n", "in chunks": "Transfer-Encoding: chunked\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", server.Listener.Addr().String())
			require.NoError(t, err)
			defer conn.Close()
			_, err = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"+head+"\r\n")
			require.NoError(t, err)
			for range size / len(part) {
				if name == "in chunks" {
					_, err = io.WriteString(conn, "100000\r\n")
					require.NoError(t, err)
				}
				_, err = conn.Write(part)
				require.NoError(t, err)
				if name == "in chunks" {
					_, err = io.WriteString(conn, "\r\n")
					require.NoError(t, err)
				}
			}
			if name == "in chunks" {
				_, err = io.WriteString(conn, "0\r\n\r\n")
				require.NoError(t, err)
			}
			reply, err := http.ReadResponse(bufio.NewReader(conn), nil)
			require.NoError(t, err)
			defer reply.Body.Close()
			require.Equal(t, http.StatusRequestEntityTooLarge, reply.StatusCode)
			require.True(t, reply.Close)
			text, err := io.ReadAll(reply.Body)
			require.NoError(t, err)
			require.Contains(t, string(text), "payload_too_large")
		})
	}
}

// A small refusal keeps its connection.
func TestRefusalsOfSmallBodiesKeepTheConnection(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(newShell().Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var into any
		wire.WriteProblem(w, r, wire.Decode(w, r, 1<<10, &into))
	})))
	t.Cleanup(server.Close)
	reply, err := server.Client().Post(server.URL, "application/json", bytes.NewReader(bytes.Repeat([]byte("x"), 2<<10)))
	require.NoError(t, err)
	defer reply.Body.Close()
	require.Equal(t, http.StatusRequestEntityTooLarge, reply.StatusCode)
	require.False(t, reply.Close)
}
