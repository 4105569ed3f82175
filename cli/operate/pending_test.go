package operate

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
)

// replying is a transport with these replies, in order.
type replying []func(http.ResponseWriter)

// RoundTrip fails once there are no more replies.
func (r *replying) RoundTrip(*http.Request) (*http.Response, error) {
	if len(*r) == 0 {
		return nil, errors.New("connection refused")
	}
	recorder := httptest.NewRecorder()
	(*r)[0](recorder)
	*r = (*r)[1:]
	return recorder.Result(), nil
}

// A service that is lost halfway hides no decision that it has accepted.
func TestDecisionsAreShownWhenTheServiceIsLost(t *testing.T) {
	t.Parallel()
	lostAfter := func(replies ...string) *client.Client {
		transport := &replying{}
		for _, reply := range replies {
			*transport = append(*transport, func(w http.ResponseWriter) { _, _ = io.WriteString(w, reply) })
		}
		opened, err := client.New("http://holdpoint.test", client.WithHTTPClient(&http.Client{Transport: transport}), client.WithoutMultiplexing())
		require.NoError(t, err)
		return opened
	}
	var items []api.PendingApprovalView
	for _, name := range []string{"1", "2", "3"} {
		items = append(items, api.PendingApprovalView{
			SessionID: "s" + name, RunID: "r" + name, Request: api.ApprovalRequest{ID: "a" + name, ToolName: "bash", Input: api.JSON(`{"command":"ls"}`)},
		})
	}
	const decided = `{"run_id":"r1","session_id":"s1","status":"running"}`
	var said bytes.Buffer
	for name, test := range map[string]func(ctx context.Context, terminal *console.Console) error{
		"several": func(ctx context.Context, terminal *console.Console) error {
			c, opened := &decisionForAll{}, lostAfter(decided)
			result, lost := c.decideRuns(ctx, opened, items, api.ApprovalResolution{Behavior: api.BehaviorAllow})
			require.True(t, console.Unanswered(lost), "%v", lost)
			require.Len(t, result.FailedRuns, 2)
			code, _ := console.CodeOf(c.report(ctx, terminal, opened, result, api.BehaviorAllow))
			require.Equal(t, console.ExitError, code)
			require.Contains(t, said.String(), "run r2 may not have been decided: ") // only the reply may be lost
			return lost
		},
		"several, followed": func(ctx context.Context, terminal *console.Console) error {
			c, opened := &decisionForAll{following: following{Wait: true}}, lostAfter(decided)
			result, err := c.decideRuns(ctx, opened, items[:1], api.ApprovalResolution{Behavior: api.BehaviorAllow})
			require.NoError(t, err)
			return c.report(ctx, terminal, opened, result, api.BehaviorAllow)
		},
		"one, followed": func(ctx context.Context, terminal *console.Console) error {
			run := &client.RunResult{RunView: api.RunView{RunID: "r1", Status: api.StatusRunning}}
			return following{Wait: true}.finish(ctx, terminal, false, lostAfter(), "a1", "allowed", run)
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			err := test(t.Context(), &console.Console{Stdout: &out, Stderr: &said, Now: time.Now})
			require.True(t, console.Unanswered(err), "%s: %v", name, err)
			require.Contains(t, out.String(), "allowed", name)
			require.Contains(t, out.String(), "r1", name)
		})
	}
	// Where nothing was decided, there is nothing to show.
	result, err := (&decisionForAll{}).decideRuns(t.Context(), lostAfter(), items, api.ApprovalResolution{Behavior: api.BehaviorAllow})
	require.True(t, console.Unanswered(err))
	require.Nil(t, result)
}

// A proxy without a backend says nothing about the run of a decision that the service has accepted.
func TestWaitOutlastsAProxyWithoutABackend(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		replies := &replying{
			func(w http.ResponseWriter) { w.WriteHeader(http.StatusNotFound) },
			func(w http.ResponseWriter) { w.WriteHeader(http.StatusInternalServerError) },
			func(w http.ResponseWriter) { _, _ = io.WriteString(w, `{"run_id":"r","status":"completed"}`) },
		}
		opened, err := client.New("http://holdpoint.test", client.WithHTTPClient(&http.Client{Transport: replies}), client.WithoutMultiplexing())
		require.NoError(t, err)
		run, err := following{Wait: true}.follow(t.Context(), opened, &api.RunView{RunID: "r", Status: api.StatusRunning})
		require.NoError(t, err)
		require.Equal(t, api.StatusCompleted, run.Status)
	})
}

// A proxy without a backend says nothing about a reviewed request: it is not skipped.
func TestAReviewSkipsNothingBehindAProxyWithoutABackend(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]string{"a proxy": "", "the service": `{"code":"request_not_found"}`} {
		replies := &replying{func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, code)
		}}
		opened, err := client.New("http://holdpoint.test", client.WithHTTPClient(&http.Client{Transport: replies}), client.WithoutMultiplexing())
		require.NoError(t, err)
		said := &bytes.Buffer{}
		r := &reviewing{terminal: &console.Console{Stderr: said, Now: time.Now}, client: opened}
		view, err := r.current(t.Context(), "request_1", "deploy")
		require.Nil(t, view, name)
		refused := &client.Error{Status: http.StatusNotFound}
		if code == "" {
			require.ErrorIs(t, err, client.ErrNotFound, name)
			require.Empty(t, said.String(), name)
		} else {
			require.NoError(t, err, name)
			require.Contains(t, said.String(), "deploy", name)
			refused.Code = "request_not_found"
		}
		_, err = r.sent(refused, "allowed: deploy")
		require.Equal(t, code == "", err != nil, name)
	}
}

// handling is a transport that this handler answers.
type handling http.HandlerFunc

func (h handling) RoundTrip(request *http.Request) (*http.Response, error) {
	recorder := httptest.NewRecorder()
	h(recorder, request)
	return recorder.Result(), nil
}

// Decisions in other sessions do not use up the search for a settled request of a given run.
func TestASettledRequestIsSearchedInTheSessionOfItsRun(t *testing.T) {
	t.Parallel()
	opened, err := client.New("http://holdpoint.test", client.WithHTTPClient(&http.Client{Transport: handling(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/runs/run-1":
			_, _ = io.WriteString(w, `{"run_id":"run-1","session_id":"s1","status":"running"}`)
		case "/v1/decisions":
			assert.Equal(t, "s1", r.URL.Query().Get("session_id"))
			_, _ = io.WriteString(w, `{"items":[{"kind":"question","run_id":"run-1","session_id":"s1","request":{"id":"q"},"recorded_decision":{"request_id":"q","outcome":"answered"}}],"pagination":{"has_more":false}}`)
		default:
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"code":"request_not_found"}`)
		}
	})}), client.WithoutMultiplexing())
	require.NoError(t, err)
	view, err := pendingRef{RunID: "run-1"}.settled(t.Context(), opened, api.RequestQuestion, "q")
	require.NoError(t, err)
	require.Equal(t, "run-1", view.RunID)
}

// While the decisions cannot be read, the first of two words is not taken for a session.
func TestAnOutageMakesNoSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		opened, err := client.New("http://holdpoint.test", client.WithHTTPClient(&http.Client{Transport: handling(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/v1/approvals":
				_, _ = io.WriteString(w, `{"items":[],"pagination":{"has_more":false}}`)
			case "/v1/decisions":
				w.WriteHeader(http.StatusServiceUnavailable)
			default:
				w.WriteHeader(http.StatusNotFound)
				_, _ = io.WriteString(w, `{"code":"request_not_found"}`)
			}
		})}), client.WithoutMultiplexing())
		require.NoError(t, err)
		c := &decision{IDs: []string{"h1", "h2"}}
		require.ErrorIs(t, c.splitIDs(t.Context(), opened), client.ErrUnavailable)
		require.Empty(t, c.SessionID)
	})
}
