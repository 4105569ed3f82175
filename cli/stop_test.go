package cli_test

import (
	"context"
	"database/sql"
	"net"
	"net/http"
	"net/http/httptrace"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A stop signal while the service waits for its database is not a failure: a supervisor starts it again after one.
func TestServeStopsWhileItsDatabaseDoesNotAnswer(t *testing.T) {
	t.Parallel()
	database, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer database.Close()
	ctx, stop := context.WithCancel(t.Context())
	url, ended := "postgres://ada@"+database.Addr().String()+"/holdpoint?sslmode=disable", make(chan result, 1)
	go func() { ended <- run(ctx, nil, "", "serve", "--listen", "127.0.0.1:0", "--database", url) }()
	waiting, err := database.Accept()
	require.NoError(t, err)
	defer waiting.Close()
	stop()
	got := <-ended
	require.Zero(t, got.code, got.stderr)
	require.Contains(t, got.stderr, "stopped before it was ready")
}

// A program that holds the database's write lock blocks the lane, but not the end of the
// service.
func TestServeStopsInItsTimeWhateverALaneDoes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "data.db")
	url, stop := serve(t, "--database", "sqlite:"+path, "--shutdown-timeout", "50ms")
	db, err := sql.Open("sqlite", "file:"+path)
	require.NoError(t, err)
	defer db.Close()
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	_, err = conn.ExecContext(t.Context(), "BEGIN IMMEDIATE")
	require.NoError(t, err)
	defer func() { _, _ = conn.ExecContext(context.Background(), "ROLLBACK") }()
	// The service reads the body once the handler has the call.
	reading, ended := make(chan struct{}), make(chan struct{})
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got100Continue: func() { close(reading) }})
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/runs", strings.NewReader(`{"input":1}`))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Expect", "100-continue")
	transport := &http.Transport{ExpectContinueTimeout: time.Minute}
	defer transport.CloseIdleConnections()
	go func() {
		defer close(ended)
		response, err := transport.RoundTrip(request)
		if err == nil {
			_ = response.Body.Close()
		}
	}()
	<-reading
	got := stop() // the lane stays blocked until the end of this test
	require.Equal(t, 1, got.code)
	require.Contains(t, got.stderr, "not done 2.05s after the stop signal")
	<-ended
}
