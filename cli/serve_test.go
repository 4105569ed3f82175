package cli_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
)

// result is the result of one call of the program.
type result struct {
	code           int
	stdout, stderr string
}

// run runs the program in this process, without the process's environment.
func run(ctx context.Context, environment map[string]string, stdin string, args ...string) result {
	return runReading(ctx, environment, strings.NewReader(stdin), args...)
}

// runReading is run with an arbitrary stdin.
func runReading(ctx context.Context, environment map[string]string, stdin io.Reader, args ...string) result {
	lookup := func(name string) (string, bool) {
		value, there := environment[name]
		return value, there
	}
	var stdout, stderr bytes.Buffer
	code := cli.Run(ctx, args, lookup, stdin, &stdout, &stderr)
	return result{code, stdout.String(), stderr.String()}
}

// serve runs the service in this process and returns its URL. stop ends it like a signal
// and returns its result.
func serve(t *testing.T, args ...string) (url string, stop func() result) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "listen")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan result, 1)
	go func() {
		ended <- run(ctx, nil, "", append([]string{"serve", "--listen", "127.0.0.1:0", "--listen-file", file}, args...)...)
	}()
	var once sync.Once
	var last result
	stop = func() result {
		once.Do(func() {
			cancel()
			last = <-ended
		})
		return last
	}
	t.Cleanup(func() { stop() })
	require.Eventually(t, func() bool {
		text, err := os.ReadFile(file)
		url = strings.TrimSpace(string(text))
		return err == nil || len(ended) > 0
	}, patience, 5*time.Millisecond)
	require.NotEmpty(t, url, "the service ended")
	return url, stop
}

func connect(t *testing.T, url string) *client.Client {
	t.Helper()
	c, err := client.New(url)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// When told to stop, the service answers the calls that it holds, and leaves nothing
// behind.
func TestServeStopsGracefully(t *testing.T) {
	t.Parallel()
	url, stop := serve(t, "--database", "sqlite:"+filepath.Join(t.TempDir(), "data.db"))
	c := connect(t, url)
	created, err := c.CreateRun(t.Context(), client.CreateRunParams{
		Input: "x", Suspend: &api.Suspension{Approvals: []api.ApprovalRequest{
			{ID: "a", ToolCallID: "c", ToolName: "bash", Input: api.JSON(`{}`)},
		}},
	})
	require.NoError(t, err)

	type held struct {
		run *api.RunView
		err error
	}
	answers, claims := make(chan held, 1), make(chan error, 1)
	go func() {
		run, err := c.AwaitRun(t.Context(), created.RunID, client.UntilDecided, time.Minute)
		answers <- held{run, err}
	}()
	go func() {
		_, err := c.ClaimRuns(t.Context(), client.ClaimRunsParams{WorkerID: "w", WaitMs: 60_000})
		claims <- err
	}()
	// A third call shows that the service accepts calls at this moment. The other two
	// either arrived before the stop or are refused after it; neither may hang or be cut
	// off.
	_, err = c.GetRun(t.Context(), created.RunID)
	require.NoError(t, err)
	ended := stop()
	require.Zero(t, ended.code, ended.stderr)

	answer := <-answers
	if answer.err == nil {
		require.Equal(t, api.StatusWaitingForApproval, answer.run.Status)
	} else {
		require.ErrorIs(t, answer.err, client.ErrUnavailable)
	}
	if err := <-claims; err != nil {
		require.ErrorIs(t, err, client.ErrUnavailable)
	}
}

// Two services on one Postgres: a request raised at one can be decided at the other.
func TestServeOnPostgres(t *testing.T) {
	t.Parallel()
	database := postgrestest.URL(t, postgrestest.Empty())
	first, stopFirst := serve(t, "--database", database)
	second, stopSecond := serve(t, "--database", database)

	answered := make(chan result, 1)
	go func() {
		answered <- run(t.Context(), map[string]string{"HOLDPOINT_SERVER": first, "HOLDPOINT_ACTOR": "asker"}, "",
			"ask", "--option", "yes", "--option", "no", "Sure?")
	}()
	c := connect(t, second)
	var pending api.PendingQuestionView
	require.Eventually(t, func() bool {
		page, err := c.ListQuestions(t.Context(), client.PendingListParams{})
		if err != nil || len(page.Items) == 0 {
			return false
		}
		pending = page.Items[0]
		return true
	}, patience, 10*time.Millisecond)

	given := run(t.Context(), map[string]string{"HOLDPOINT_SERVER": second, "HOLDPOINT_ACTOR": "bob"}, "YES\n\n",
		"questions", "answer", pending.Request.ID, "--interactive")
	require.Zero(t, given.code, given.stderr)
	got := <-answered
	require.Equal(t, "yes\n", got.stdout)
	require.Zero(t, got.code, got.stderr)
	require.Contains(t, run(t.Context(), map[string]string{"HOLDPOINT_SERVER": first}, "",
		"runs", "show", pending.RunID).stdout, `"resolved_by": "bob"`)

	require.Zero(t, stopFirst().code)
	status := run(t.Context(), map[string]string{"HOLDPOINT_DATABASE": database}, "", "migrate", "status")
	require.Zero(t, status.code, status.stderr)
	require.Contains(t, status.stdout, "applied")
	require.Zero(t, stopSecond().code)
}

func TestServeOnAnAddressThatIsTaken(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, inMemory(t)...)
	address := strings.TrimPrefix(url, "http://")
	got := run(t.Context(), nil, "", "serve", "--listen", address, "--database", "sqlite::memory:")
	require.Equal(t, 1, got.code)
	require.Contains(t, got.stderr, address+": the address is in use")
	require.Contains(t, got.stderr, "take another address: --listen 127.0.0.1:PORT")
}

func TestServeDoesNotShowPasswords(t *testing.T) {
	t.Parallel()
	got := run(t.Context(), nil, "", "serve", "--listen", "127.0.0.1:0",
		"--database", "postgres://u:hunter2@127.0.0.1:1/x?connect_timeout=1&password=hunter2")
	require.Equal(t, 1, got.code)
	require.NotContains(t, got.stdout+got.stderr, "hunter2")
}

// A web page whose own host name resolves to this machine (DNS rebinding) is refused, even
// if other machines may call.
func TestOffLoopbackNoOtherHostIsTaken(t *testing.T) {
	t.Parallel()
	// docker-compose.yml has its own arguments, and requires tokens.
	compose, err := os.ReadFile("../docker-compose.yml")
	require.NoError(t, err)
	command := regexp.MustCompile(`(?m)^  command: \["serve", (.*)\]$`).FindSubmatch(compose)
	require.NotNil(t, command)
	composed := strings.Split(strings.ReplaceAll(string(command[1]), `"`, ""), ", ")
	require.NotContains(t, string(compose), "no-auth")
	for _, service := range []struct {
		args     []string
		answered int
	}{
		{[]string{"--auth", "none", "--insecure-no-auth", "--allowed-host", "holdpoint-1"}, http.StatusOK},
		{composed, http.StatusUnauthorized},
	} {
		url, _ := serve(t, append(append(inMemory(t), "--listen", "0.0.0.0:0"), service.args...)...)
		requireHosts(t, url, service.answered)
	}
}

func requireHosts(t *testing.T, url string, answered int) {
	t.Helper()
	for host, status := range map[string]int{
		"rebound.example": http.StatusForbidden, "holdpoint-1.example": http.StatusForbidden, "192.0.2.1.example": http.StatusForbidden,
		"holdpoint-1:4000": answered, "192.0.2.1:4000": answered, "[2001:db8::1]:4000": answered, "localhost": answered,
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/v1/approvals", nil)
		require.NoError(t, err)
		request.Host = host
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, status, response.StatusCode, host)
	}
}

// net/http refuses malformed requests itself, in plain text. docs/errors.md lists exactly
// these.
func TestWhatIsNoRequestIsRefusedInPlainText(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile("../docs/errors.md")
	require.NoError(t, err)
	url, _ := serve(t, append(inMemory(t), "--listen", "127.0.0.1:0")...)
	for raw, status := range map[string]int{
		"nonsense\r\n\r\n":                                         http.StatusBadRequest,
		"GET /livez HTTP/1.1\r\n\r\n":                              http.StatusBadRequest, // no Host
		"GET /livez HTTP/1.1\r\nHost: a b\r\n\r\n":                 http.StatusBadRequest,
		"GET /livez HTTP/1.1\r\nHost: localhost\r\nx y: z\r\n\r\n": http.StatusBadRequest,
		"GET /livez HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", 80<<10) + "\r\n\r\n": http.StatusRequestHeaderFieldsTooLarge,
		"GET /livez HTTP/3.0\r\nHost: localhost\r\n\r\n":                                           http.StatusHTTPVersionNotSupported,
		"POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n":             http.StatusNotImplemented,
		"POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nExpect: more\r\nContent-Length: 2\r\n\r\n{}": http.StatusExpectationFailed,
	} {
		connection, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		require.NoError(t, err)
		go func() { _, _ = connection.Write([]byte(raw)) }() // the connection may be closed first
		response, err := http.ReadResponse(bufio.NewReader(connection), nil)
		require.NoError(t, err, "%.60q", raw)
		require.Equal(t, status, response.StatusCode, "%.60q", raw)
		require.NotContains(t, response.Header.Get("Content-Type"), "json", "%.60q", raw)
		require.Contains(t, string(document), fmt.Sprintf("| %d |", status))
		require.NoError(t, response.Body.Close())
		require.NoError(t, connection.Close())
	}
}

// The greeting says who may decide, and names no address that a browser cannot open.
func TestTheGreetingSaysWhoMayDecide(t *testing.T) {
	t.Parallel()
	const unneeded = "--auth=none: no call needs a token, so "
	socket := "unix:" + filepath.Join(t.TempDir(), "s")
	for _, c := range []struct{ listen, auth, said string }{
		{"127.0.0.1:0", "auto", "No tokens exist yet, so every program on this machine can decide. Create one:"},
		{"127.0.0.1:0", "none", unneeded + "every program on this machine can decide."},
		{"127.0.0.1:0", "required", "Calls need a token: "},
		{socket, "auto", "No tokens exist yet, so every program of this user can decide. Create one:"},
		{socket, "none", unneeded + "every program of this user can decide."},
	} {
		_, stop := serve(t, append(inMemory(t), "--listen", c.listen, "--auth", c.auth)...)
		greeting := stop().stdout
		require.Contains(t, greeting, c.said)
		require.Equal(t, c.auth == "auto", strings.Contains(greeting, "Create one"), greeting)
		require.Equal(t, c.listen != socket, strings.Contains(greeting, "in a browser"), greeting)
		require.Equal(t, c.listen != socket, strings.Contains(greeting, "in the inbox"), greeting)
	}
}
