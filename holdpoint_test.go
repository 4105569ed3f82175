package holdpoint_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/holdpoint/holdpoint"
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/internal/multiplex"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
	"github.com/holdpoint/holdpoint/store/read"
)

func TestMain(m *testing.M) {
	read.Timeout = time.Minute
	goleak.VerifyTestMain(postgrestest.Wrap(m))
}

// running is a service whose loops run until the test ends or stop is called.
type running struct {
	*holdpoint.Service
	stop  context.CancelFunc
	ended chan error
}

func open(t *testing.T, url string, options holdpoint.Options) *running {
	t.Helper()
	service, err := holdpoint.Open(t.Context(), url, options)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	r := &running{service, stop, make(chan error, 1)}
	go func() { r.ended <- service.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, service.Close())
	})
	return r
}

func (r *running) caller(t *testing.T) *client.Client {
	t.Helper()
	c, err := r.Client(client.WithActor("ann"))
	require.NoError(t, err)
	return c
}

// waiting starts a run that waits for an approval.
func waiting(t *testing.T, c *client.Client) (runID string) {
	t.Helper()
	made, err := c.CreateRun(t.Context(), client.CreateRunParams{
		AgentID: "deployer", Suspend: &api.Suspension{Approvals: []api.ApprovalRequest{{ID: "deploy", ToolCallID: "call-1", ToolName: "deploy"}}},
	})
	require.NoError(t, err)
	return made.RunID
}

// TestPeopleNeedATokenAndThisProcessDoesNot: the handler requires a token by default, and
// the client in this process creates it.
func TestPeopleNeedATokenAndThisProcessDoesNot(t *testing.T) {
	t.Parallel()
	service := open(t, "sqlite::memory:", holdpoint.Options{})
	server := httptest.NewServer(service.Handler())
	t.Cleanup(server.Close)
	inside := service.caller(t)
	runID := waiting(t, inside)

	outside, err := client.New(server.URL, client.WithoutMultiplexing())
	require.NoError(t, err)
	t.Cleanup(outside.Close)
	_, err = outside.GetRun(t.Context(), runID)
	require.ErrorIs(t, err, client.ErrUnauthorized)

	token, err := inside.CreateToken(t.Context(), api.CreateTokenBody{Name: "ann", Role: api.RoleOperator})
	require.NoError(t, err)
	ann, err := client.New(server.URL, client.WithToken(token.Secret), client.WithoutMultiplexing())
	require.NoError(t, err)
	t.Cleanup(ann.Close)
	_, err = ann.ResolveRunApprovals(t.Context(), runID, client.ResolveApprovalsParams{
		Resolutions: []api.ApprovalResolution{{RequestID: "deploy", Behavior: api.BehaviorDeny, Reason: "not today"}},
	})
	require.NoError(t, err)

	page, err := http.Get(server.URL + "/")
	require.NoError(t, err)
	require.NoError(t, page.Body.Close())
	require.Equal(t, http.StatusOK, page.StatusCode, "the inbox itself is for everybody")
}

// TestAnonymous: the handler works without a token only if the program says so.
func TestAnonymous(t *testing.T) {
	t.Parallel()
	service := open(t, "sqlite::memory:", holdpoint.Options{Anonymous: true})
	answer := httptest.NewRecorder()
	service.Handler().ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/v1/approvals", nil))
	require.Equal(t, http.StatusOK, answer.Code, answer.Body)
}

// TestStreamsAndHeldCallsInProcess: an event reaches an open stream, a held call returns
// with the decision, and a caller can close its stream early.
func TestStreamsAndHeldCallsInProcess(t *testing.T) {
	t.Parallel()
	service := open(t, "sqlite::memory:", holdpoint.Options{})
	c := service.caller(t)
	runID := waiting(t, c)
	decided := make(chan error, 1)
	go func() {
		_, err := c.WaitRun(t.Context(), runID, client.UntilDecided)
		decided <- err
	}()
	resolved := false
	for item, err := range c.StreamRun(t.Context(), runID, "") {
		require.NoError(t, err)
		if item.Run != nil && !resolved {
			resolved = true
			_, err := c.ResolveRunApprovals(t.Context(), runID, client.ResolveApprovalsParams{
				Resolutions: []api.ApprovalResolution{{RequestID: "deploy", Behavior: api.BehaviorAllow}},
			})
			require.NoError(t, err)
		}
		if item.Event != nil && bytes.Contains(item.Event.Event, []byte("approval_resolved")) {
			break
		}
	}
	require.NoError(t, <-decided)
}

// TestTheEnd: once Run's context has ended, a held call and Run return. Calls work until
// Close, and fail after it.
func TestTheEnd(t *testing.T) {
	t.Parallel()
	service, err := holdpoint.Open(t.Context(), "sqlite::memory:", holdpoint.Options{})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- service.Run(ctx) }()
	c, err := service.Client()
	require.NoError(t, err)
	runID := waiting(t, c)
	streaming := make(chan struct{})
	ends := make(chan struct{})
	go func() {
		defer close(ends)
		for _, err := range c.StreamRun(ctx, runID, "") {
			if err != nil {
				return // it was cut off
			}
			select {
			case <-streaming:
			default:
				close(streaming)
			}
		}
	}()
	<-streaming
	stop()
	require.NoError(t, <-ended)
	<-ends
	require.Error(t, service.Run(t.Context()), "Run is called once")
	run, err := c.GetRun(t.Context(), runID)
	require.NoError(t, err)
	require.Len(t, run.PendingApprovals, 1)
	require.NoError(t, service.Close())
	_, err = c.GetRun(t.Context(), runID)
	require.Error(t, err)
}

// TestAConnectionThatStaysOpen: a client that does not leave delays the end of Run, which returns
// no error.
func TestAConnectionThatStaysOpen(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	service, err := holdpoint.Open(t.Context(), "sqlite::memory:", holdpoint.Options{
		Anonymous: true, Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	require.NoError(t, err)
	service.SetDrainTimeout(0)
	server := httptest.NewServer(service.Handler())
	t.Cleanup(server.Close)
	conn, _, err := websocket.Dial(t.Context(), server.URL+multiplex.Path, &websocket.DialOptions{Subprotocols: []string{multiplex.Subprotocol}})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- service.Run(ctx) }()
	stop()
	require.NoError(t, <-ended)
	require.NoError(t, conn.CloseNow())
	require.NoError(t, service.Close())
	require.Contains(t, log.String(), "connections for calls stay open")
}

// TestOptionsThatDoNotFit: each conflict is reported before a database is opened.
func TestOptionsThatDoNotFit(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "never.db")
	for name, options := range map[string]holdpoint.Options{
		"DirectURL":   {DirectURL: "postgres://here"},
		"Pooled":      {Pooled: true},
		"KeepRuns":    {KeepRuns: time.Hour},
		"MaxAttempts": {MaxAttempts: -1},
	} {
		_, err := holdpoint.Open(t.Context(), "sqlite:"+file, options)
		require.ErrorIs(t, err, holdpoint.ErrOptions)
		require.ErrorContains(t, err, name)
		require.NoFileExists(t, file)
	}
}

// TestARestartGoesOn: after a restart the pending request is read from the file, with the
// same signing key.
func TestARestartGoesOn(t *testing.T) {
	t.Parallel()
	url := "sqlite:" + filepath.Join(t.TempDir(), "here.db")
	first, err := holdpoint.Open(t.Context(), url, holdpoint.Options{})
	require.NoError(t, err)
	c, err := first.Client()
	require.NoError(t, err)
	runID := waiting(t, c)
	before, err := c.Keys(t.Context())
	require.NoError(t, err)
	require.NoError(t, first.Close())

	again := open(t, url, holdpoint.Options{}).caller(t)
	run, err := again.GetRun(t.Context(), runID)
	require.NoError(t, err)
	require.Len(t, run.PendingApprovals, 1)
	after, err := again.Keys(t.Context())
	require.NoError(t, err)
	require.Equal(t, before, after)
}
