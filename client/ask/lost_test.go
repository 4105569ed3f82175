package ask_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/client/ask"
	"github.com/holdpoint/holdpoint/test/inprocess"
)

// lossy is a transport that loses some replies to calls whose paths have a suffix. The service gets
// the calls.
type lossy struct {
	suffix string

	mu   sync.Mutex
	left int
	body string // of the first call that was lost
}

func (l *lossy) RoundTrip(r *http.Request) (*http.Response, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	loses := l.left > 0 && strings.HasSuffix(r.URL.Path, l.suffix)
	if loses && r.GetBody != nil && l.body == "" {
		body, err := r.GetBody()
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(body)
		if err != nil {
			return nil, err
		}
		l.body = string(text)
	}
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || !loses {
		return response, err
	}
	l.left--
	_ = response.Body.Close()
	return nil, errors.New("connection reset by peer")
}

// asker returns an asker of a service whose client tries each call twice.
func (l *lossy) asker(t *testing.T, service *inprocess.Service) *ask.Asker {
	t.Helper()
	c, err := client.New(service.URL, client.WithHTTPClient(&http.Client{Transport: l}),
		client.WithRetry(client.RetryPolicy{MaxAttempts: 2, BaseDelay: time.Millisecond, MaxDelay: time.Millisecond}))
	require.NoError(t, err)
	return &ask.Asker{Client: c, AgentID: "coder", WithGrants: true}
}

// allow allows the approval that a run waits for.
func allow(t *testing.T, people *client.Client, runID string) {
	t.Helper()
	run, err := people.GetRun(t.Context(), runID)
	require.NoError(t, err)
	_, err = people.ResolveRunApprovals(t.Context(), runID, client.ResolveApprovalsParams{
		Resolutions: []api.ApprovalResolution{{RequestID: run.PendingApprovals[0].ID, Behavior: api.BehaviorAllow}},
	})
	require.NoError(t, err)
}

// An allowed call has its grant, and an answered question what the service signed, even if every
// reply to one of the calls that read them is lost for a while.
func TestADecisionOutlastsLostReplies(t *testing.T) {
	t.Parallel()
	service := inprocess.Start(t, inprocess.Memory, inprocess.Options{})
	people := service.Connect(client.WithActor("ann"))
	keys, err := people.Keys(t.Context())
	require.NoError(t, err)
	for _, suffix := range []string{"/complete", "/resume", "/events"} {
		t.Run(suffix, func(t *testing.T) {
			t.Parallel()
			network := &lossy{suffix: suffix}
			asker := network.asker(t, service)
			input := api.JSON(`{"command":"make"}`)
			held, err := asker.RaiseHeld(t.Context(), ask.Call{Approval: &api.ApprovalRequest{ToolName: "Bash", Input: input}})
			require.NoError(t, err)
			defer held.Release()
			allow(t, people, held.RunID)
			network.lose(3)
			answer, err := held.Await(t.Context())
			require.NoError(t, err)
			_, _, allowed := answer.Allowed()
			require.True(t, allowed)
			require.False(t, answer.Spent)
			claims, err := client.VerifyGrant(*keys, answer.Grant, "Bash", input)
			require.NoError(t, err)
			require.Equal(t, held.RunID, claims.Sub)

			held, err = asker.RaiseHeld(t.Context(), ask.Call{Question: &api.UserQuestionRequest{Questions: []api.UserQuestion{{ID: "way", Question: "Which way?"}}}})
			require.NoError(t, err)
			defer held.Release()
			run, err := people.GetRun(t.Context(), held.RunID)
			require.NoError(t, err)
			_, err = people.AnswerRunQuestion(t.Context(), held.RunID, client.AnswerQuestionParams{Resolution: api.UserQuestionResolution{
				RequestID: run.PendingQuestions[0].ID, Answers: []api.UserQuestionAnswer{{QuestionID: "way", FreeformAnswer: "left"}},
			}})
			require.NoError(t, err)
			network.lose(3)
			answer, err = held.Await(t.Context())
			require.NoError(t, err)
			require.NotNil(t, answer.Signed)
			signed, err := client.VerifyAnswer(*keys, answer.Signed)
			require.NoError(t, err)
			require.Equal(t, held.RunID, signed.Sub)
		})
	}
}

func (l *lossy) lose(replies int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.left = replies
}

// A call that cannot wait is held by its process, so the service withdraws it if that process is
// killed after the request was raised. No worker gets a checkpoint to resume it.
func TestACallThatCannotWaitEndsWithItsProcess(t *testing.T) {
	t.Parallel()
	service := inprocess.Start(t, inprocess.Memory, inprocess.Options{})
	killed := &lossy{suffix: "/v1/runs", left: 1 << 10}
	call := ask.Call{SessionID: "s", Key: "k", Approval: &api.ApprovalRequest{ToolName: "Bash", Input: api.JSON(`{"command":"make"}`)}}
	_, err := killed.asker(t, service).Try(t.Context(), call, ask.HandedOver{}, "it cannot wait")
	require.ErrorIs(t, err, client.ErrUnavailable)
	require.Contains(t, killed.body, `"cancel_when_abandoned":true`)
	require.NotContains(t, killed.body, "checkpoint")
	open, err := service.Connect().ListApprovals(t.Context(), client.PendingListParams{})
	require.NoError(t, err)
	require.Len(t, open.Items, 1, "it was raised")

	// The next call with the key finds the request, and withdraws it.
	answer, err := new(lossy).asker(t, service).Try(t.Context(), call, ask.HandedOver{}, "it cannot wait")
	require.NoError(t, err)
	require.Empty(t, answer.Outcome)
	run, err := service.Connect().GetRun(t.Context(), answer.RunID)
	require.NoError(t, err)
	require.Equal(t, api.StatusCancelled, run.Status)
}

// misrouted is a transport that gets one 404 of a proxy without a backend, in place of the reply to the
// next call of a method.
type misrouted struct{ method string }

func (m *misrouted) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != m.method {
		return http.DefaultTransport.RoundTrip(r)
	}
	m.method = ""
	return &http.Response{StatusCode: http.StatusNotFound, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
}

// A proxy without a backend does not say that the run of an earlier call is for another process to read.
func TestAProxyWithoutABackendRaisesNoSecondRequest(t *testing.T) {
	t.Parallel()
	service := inprocess.Start(t, inprocess.Memory, inprocess.Options{})
	network := &misrouted{}
	c, err := client.New(service.URL, client.WithHTTPClient(&http.Client{Transport: network}), client.WithoutMultiplexing())
	require.NoError(t, err)
	asker := &ask.Asker{Client: c, AgentID: "coder"}
	call := ask.Call{SessionID: "s", Key: "k", Approval: &api.ApprovalRequest{ToolName: "Bash", Input: api.JSON(`{"command":"make"}`)}}
	first, err := asker.Raise(t.Context(), call)
	require.NoError(t, err)
	network.method = http.MethodGet
	_, err = asker.Raise(t.Context(), call)
	require.ErrorIs(t, err, client.ErrNotFound)
	require.Empty(t, network.method)
	again, err := asker.Raise(t.Context(), call)
	require.NoError(t, err)
	require.Equal(t, first.RunID, again.RunID)
	require.True(t, again.Joined)
	open, err := service.Connect().ListApprovals(t.Context(), client.PendingListParams{})
	require.NoError(t, err)
	require.Len(t, open.Items, 1)
}

// A request that a proxy without a backend did not withdraw may be open.
func TestAProxyWithoutABackendWithdrawsNothing(t *testing.T) {
	t.Parallel()
	service := inprocess.Start(t, inprocess.Memory, inprocess.Options{})
	network := &misrouted{}
	c, err := client.New(service.URL, client.WithHTTPClient(&http.Client{Transport: network}), client.WithoutMultiplexing())
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	asker := &ask.Asker{Client: c, AgentID: "coder", OnRaised: func(string) {
		network.method = http.MethodPost
		stop()
	}}
	_, err = asker.Hold(ctx, ask.Call{Approval: &api.ApprovalRequest{ToolName: "Bash", Input: api.JSON(`{"command":"make"}`)}})
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, client.ErrNotFound)
	require.Empty(t, network.method)
}
