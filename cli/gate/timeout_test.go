package gate

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
)

// The time of --timeout is over before the approved command is, which goes on.
func TestTheTimeoutDoesNotEndACommand(t *testing.T) {
	t.Parallel()
	goesOn(t, errTimedOut)
}

// A signal that arrives just before the start is forwarded, and nothing else is sent. Signal 0 does nothing.
func TestAnEarlySignalIsSentOnce(t *testing.T) {
	t.Parallel()
	goesOn(t, console.SignalError{Signal: syscall.Signal(0)})
}

// goesOn runs a command whose context has ended, and requires that the command is not told to stop.
func goesOn(t *testing.T, cause error) {
	t.Helper()
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"run_id":"r","status":"completed"}`)
	}))
	t.Cleanup(service.Close)
	opened, err := client.New(service.URL, client.WithoutMultiplexing())
	require.NoError(t, err)
	t.Cleanup(opened.Close)
	read, stdin, err := os.Pipe() // a file: nobody waits for a copy of it
	require.NoError(t, err)
	t.Cleanup(func() { _ = read.Close() })
	stdout, written := io.Pipe()
	e := &execution{
		gate:  gate{Client: opened, terminal: &console.Console{Stdin: read, Stdout: written, Stderr: io.Discard}, lease: time.Hour, params: client.CreateRunParams{RunID: "r"}},
		relay: newRelay(),
	}
	t.Cleanup(e.relay.stop)
	over, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	ended := make(chan error, 1)
	go func() {
		defer written.Close()
		ended <- e.carryOut(over, plan{argv: []string{"sh", "-c", `while read line; do echo "$line"; done`}, cwd: t.TempDir()}, &keeper{gate: &e.gate, fence: "1"})
	}()
	lines := bufio.NewScanner(stdout)
	for range 200 {
		_, _ = io.WriteString(stdin, "on\n")
		require.True(t, lines.Scan(), "it was told to stop")
	}
	require.NoError(t, stdin.Close())
	require.NoError(t, <-ended)
	require.Zero(t, e.code)
}
