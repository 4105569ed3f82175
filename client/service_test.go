package client_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth/signing"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/runs/claims"
	"github.com/holdpoint/holdpoint/runs/loop"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/watch"
	"github.com/holdpoint/holdpoint/store/sqlite"
	"github.com/holdpoint/holdpoint/test/inprocess"
)

// serve starts the real service on an in-memory store.
func serve() (url string, stop func() error, err error) {
	store, err := sqlite.Open(context.Background(), sqlite.Memory, sqlite.Options{})
	if err != nil {
		return "", nil, err
	}
	private, err := signing.Generate()
	if err != nil {
		return "", nil, err
	}
	keys, err := signing.New([]ed25519.PrivateKey{private}, nil, func() int64 { return time.Now().UnixMilli() })
	if err != nil {
		return "", nil, err
	}
	hub := watch.NewHub()
	dispatcher := claims.New(store, claims.Options{})
	effects := loop.NewEffects(store, loop.EffectsOptions{Logger: slog.New(slog.DiscardHandler)})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 2)
	go func() { done <- dispatcher.Run(ctx) }()
	go func() { done <- effects.Run(ctx) }()
	unsubscribe := store.Subscribe(hub.Publish)
	api := httpapi.New(httpapi.Options{Store: store, Hub: hub, Claims: dispatcher, Version: "v0-test", Signing: keys})
	server := httptest.NewServer(api.Handler())
	return server.URL, func() error {
		api.Drain()
		server.Close()
		unsubscribe()
		cancel()
		return errors.Join(<-done, <-done, store.Close())
	}, nil
}

func realClient(t *testing.T, options ...client.Option) *client.Client {
	t.Helper()
	url, stop, err := serve()
	require.NoError(t, err)
	c := must(client.New(url, append([]client.Option{client.WithActor("ann")}, options...)...))(t)
	t.Cleanup(func() {
		c.Close()
		require.NoError(t, stop())
	})
	return c
}

// work runs a worker until the end of the test.
func work(t *testing.T, c *client.Client, handler client.Handler) {
	t.Helper()
	worker := must(client.NewWorker(c, client.WorkerOptions{OnError: func(err error) { t.Error(err) }}))(t)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- worker.Run(ctx, handler) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-done)
	})
}

func TestEveryCallWorksWithTheRealService(t *testing.T) {
	t.Parallel()
	c := realClient(t)
	ctx := t.Context()

	require.NoError(t, c.Ready(ctx))
	version := must(c.Version(ctx))(t)
	require.Equal(t, &api.VersionInfo{Name: "holdpoint", Version: "v0-test"}, version)

	session := must(c.CreateSession(ctx, client.CreateSessionParams{AgentID: "coder", Metadata: map[string]string{"team": "a"}}))(t)
	again := must(c.CreateSession(ctx, client.CreateSessionParams{SessionID: session.SessionID}))(t)
	require.Equal(t, session.CreatedAtMs, again.CreatedAtMs)
	_, err := c.CreateSession(ctx, client.CreateSessionParams{SessionID: session.SessionID, AgentID: "other"})
	require.ErrorIs(t, err, client.ErrIDConflict)
	_, err = c.GetSession(ctx, "nobody")
	require.ErrorIs(t, err, client.ErrNotFound)

	// A run created, claimed and held in one call.
	params := client.CreateRunParams{
		SessionID: session.SessionID, Input: "go", IdempotencyKey: `key with "quotes"`,
		Claim: &api.ClaimOptions{WorkerID: "w1"},
		Suspend: &api.Suspension{Hold: true, Approvals: []api.ApprovalRequest{
			{ID: "a1", ToolCallID: "c1", ToolName: "bash", Input: api.JSON(`{"command":"ls"}`)},
			{ID: "a2", ToolCallID: "c2", ToolName: "bash", Input: api.JSON(`{"command":"pwd"}`)},
		}},
	}
	created := must(c.CreateRun(ctx, params))(t)
	require.NotNil(t, created.Claim)
	require.False(t, created.Replayed)
	require.Equal(t, api.StatusWaitingForApproval, created.Status)
	runID, fence := created.RunID, created.Claim.Lease.Fence

	repeated := must(c.CreateRun(ctx, params))(t)
	require.True(t, repeated.Replayed)
	require.Equal(t, runID, repeated.RunID)
	params.Input = "stop"
	_, err = c.CreateRun(ctx, params)
	require.ErrorIs(t, err, client.ErrIdempotencyConflict)
	_, err = c.SendInput(ctx, session.SessionID, client.CreateRunParams{Input: "x"}, time.Second)
	require.ErrorIs(t, err, client.ErrSessionBusy)

	page := must(c.ListApprovals(ctx, client.PendingListParams{SessionID: session.SessionID, PageParams: client.PageParams{Limit: 1}}))(t)
	require.Len(t, page.Items, 1)
	require.True(t, page.Pagination.HasMore)
	var open, handles []string
	for approval, err := range c.AllApprovals(ctx, client.PendingListParams{PageParams: client.PageParams{Limit: 1}}) {
		require.NoError(t, err)
		open, handles = append(open, approval.Request.ID), append(handles, approval.Request.Handle)
	}
	require.Equal(t, []string{"a1", "a2"}, open)

	allow := func(id string) client.ResolveApprovalsParams {
		return client.ResolveApprovalsParams{
			Resolutions:    []api.ApprovalResolution{{RequestID: id, Behavior: api.BehaviorAllow}},
			IdempotencyKey: "allow-" + id,
		}
	}
	resolved := must(c.ResolveActiveRunApprovals(ctx, session.SessionID, allow("a1")))(t)
	require.Equal(t, []string{"a2"}, resolved.PendingApprovalIDs)
	near := must(c.GetRequestContext(ctx, handles[1], 1))(t)
	require.Len(t, near.Context, 1)
	require.Equal(t, "ann", near.Context[0].RecordedDecision.ResolvedBy)
	require.Empty(t, must(c.GetRequest(ctx, handles[1]))(t).Context)
	resolved = must(c.ResolveRunApprovals(ctx, runID, allow("a1")))(t)
	require.True(t, resolved.Replayed)
	_, err = c.ResolveRunApprovals(ctx, runID, client.ResolveApprovalsParams{Resolutions: allow("a1").Resolutions})
	require.ErrorIs(t, err, client.ErrAlreadyDecided)
	require.ErrorIs(t, err, client.ErrNotWaiting)
	var refused *client.Error
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "ann", refused.Recorded.ResolvedBy)
	_, err = c.ResolveRunApprovals(ctx, runID, client.ResolveApprovalsParams{Resolutions: []api.ApprovalResolution{{RequestID: "a2", Behavior: "maybe"}}})
	require.ErrorAs(t, err, &refused)
	require.NotEmpty(t, refused.Faults)

	settled := must(c.AwaitSettled(ctx, runID, fence, "0", time.Second))(t)
	require.Equal(t, "1", settled.After)
	require.Len(t, settled.Settled, 1)
	require.Equal(t, 1, settled.Open)
	withdrawn := must(c.Withdraw(ctx, runID, "a2", fence, "no need"))(t)
	require.Equal(t, api.StatusRunning, withdrawn.Status)
	_, err = c.Withdraw(ctx, runID, "a1", fence, "")
	require.ErrorIs(t, err, client.ErrAlreadyDecided)

	beat := must(c.Heartbeat(ctx, runID, client.HeartbeatParams{Fence: fence, Checkpoint: api.JSON(`1`), SettledAfter: new(int64(2))}))(t)
	require.False(t, beat.CancelRequested)
	last := must(c.AppendEvents(ctx, runID, fence, []api.JSON{api.JSON(`{"type":"output","content":"hi"}`)}))(t)
	events := must(c.ListRunEvents(ctx, runID, client.EventListParams{}))(t)
	require.Equal(t, last, events[len(events)-1].ID)
	walked := 0
	for _, err := range c.AllRunEvents(ctx, runID, client.EventListParams{Limit: 2}) {
		require.NoError(t, err)
		walked++
	}
	require.Len(t, events, walked)

	// A question asked without waiting, answered by the session's route.
	suspended := must(c.Suspend(ctx, runID, fence, api.Suspension{Questions: []api.UserQuestionRequest{{
		ID: "q1", ToolCallID: "c3", Questions: []api.UserQuestion{{ID: "color", Question: "Which?"}},
	}}}))(t)
	require.Equal(t, api.StatusWaitingForUserQuestion, suspended.Run.Status)
	questions := must(c.ListQuestions(ctx, client.PendingListParams{SessionID: session.SessionID}))(t)
	require.Len(t, questions.Items, 1)
	_, err = c.AnswerRunQuestion(ctx, runID, client.AnswerQuestionParams{Resolution: api.UserQuestionResolution{RequestID: "q1"}})
	require.ErrorIs(t, err, client.ErrInvalid)
	view := must(c.AnswerSessionQuestion(ctx, session.SessionID, blue("q1")))(t)
	require.Zero(t, view.PendingCount)

	claim := must(c.ClaimRun(ctx, runID, api.ClaimOptions{WorkerID: "w2"}))(t)
	require.Equal(t, "Which?: blue", claim.Resume.Questions[0].Resolution.Summary)
	_, err = c.ClaimRun(ctx, runID, api.ClaimOptions{WorkerID: "w3"})
	require.ErrorIs(t, err, client.ErrRunNotClaimable)
	_, err = c.CompleteRun(ctx, runID, fence, nil)
	require.ErrorIs(t, err, client.ErrLeaseLost)
	params.Input = "go"
	repeated = must(c.CreateRun(ctx, params))(t)
	require.True(t, repeated.Replayed)
	require.Nil(t, repeated.Claim, "the lease is another worker's")
	fence = claim.Lease.Fence
	must(c.ReleaseRun(ctx, runID, fence, api.JSON(`2`)))(t)
	claimed := must(c.ClaimRuns(ctx, client.ClaimRunsParams{WorkerID: "w2", AgentIDs: []string{"coder"}, WaitMs: 1000}))(t)
	require.Len(t, claimed, 1)
	require.Equal(t, "2", string(claimed[0].Checkpoint))
	for range 2 {
		ended := must(c.CompleteRun(ctx, runID, claimed[0].Lease.Fence, api.JSON(`"done"`)))(t)
		require.Equal(t, api.StatusCompleted, ended.Status)
	}
	awaited := must(c.WaitRun(ctx, runID, client.UntilTerminal))(t)
	require.Equal(t, `"done"`, string(awaited.Output))

	// Other ways to end.
	asked := must(c.CreateRun(ctx, client.CreateRunParams{RunID: "asks", Suspend: &api.Suspension{Questions: []api.UserQuestionRequest{{
		ID: "q", ToolCallID: "c", Questions: []api.UserQuestion{{ID: "x", Question: "Well?"}},
	}}}}))(t)
	cancelled := must(c.CancelQuestion(ctx, asked.RunID, "q", client.CancelQuestionParams{Justification: "never mind"}))(t)
	require.Equal(t, api.StatusCancelled, cancelled.Status)
	expired := must(c.CreateRun(ctx, client.CreateRunParams{Suspend: &api.Suspension{Questions: []api.UserQuestionRequest{{
		ID: "q", ToolCallID: "c", Questions: []api.UserQuestion{{ID: "x", Question: "Well?"}}, ExpiresAtMs: new(int64(1)),
	}}}}))(t)
	_, err = c.AnswerRunQuestion(ctx, expired.RunID, client.AnswerQuestionParams{Resolution: api.UserQuestionResolution{
		RequestID: "q", Answers: []api.UserQuestionAnswer{{QuestionID: "x", FreeformAnswer: "blue"}},
	}})
	require.ErrorIs(t, err, client.ErrExpired)
	failing := must(c.CreateSessionRun(ctx, session.SessionID, client.CreateRunParams{Input: 1}))(t)
	claim = must(c.ClaimRun(ctx, failing.RunID, api.ClaimOptions{WorkerID: "w2"}))(t)
	failed := must(c.FailRun(ctx, failing.RunID, claim.Lease.Fence, "no luck"))(t)
	require.Equal(t, "no luck", failed.Error)
	stopped := must(c.CreateSessionRun(ctx, session.SessionID, client.CreateRunParams{Input: 1}))(t)
	must(c.CancelRun(ctx, stopped.RunID, "why not"))(t)
	inline := must(c.SendInput(ctx, session.SessionID, client.CreateRunParams{Input: 1}, time.Second))(t)
	require.Len(t, inline.QueuedRunIDs, 1, "nobody took it in time")
	claim = must(c.ClaimRun(ctx, inline.QueuedRunIDs[0], api.ClaimOptions{WorkerID: "w2"}))(t)
	must(c.Suspend(ctx, claim.Run.RunID, claim.Lease.Fence, api.Suspension{Approvals: []api.ApprovalRequest{
		{ID: "a1", ToolCallID: "c1", ToolName: "bash", Input: api.JSON(`1`)},
	}}))(t)
	denied := must(c.ResolveSessionApprovals(ctx, session.SessionID, client.ResolveApprovalsParams{
		Resolutions: []api.ApprovalResolution{{RequestID: "a1", Behavior: api.BehaviorDeny, Reason: "no"}}, Wait: time.Second,
	}))(t)
	require.Equal(t, api.StatusRunning, denied.Status)
	must(c.CancelRun(ctx, claim.Run.RunID, ""))(t)
	events = must(c.ListSessionEvents(ctx, session.SessionID, client.EventListParams{Limit: 1}))(t)
	require.Equal(t, "1", events[0].ID)
	interrupted := must(c.InterruptSession(ctx, session.SessionID, ""))(t)
	require.False(t, interrupted.Interrupted)
	ended := must(c.EndSession(ctx, session.SessionID, "over"))(t)
	require.Equal(t, api.SessionEnded, ended.Status)
	_, err = c.CreateSessionRun(ctx, session.SessionID, client.CreateRunParams{Input: 1})
	require.ErrorIs(t, err, client.ErrSessionEnded)

	sessions, runCount := 0, 0
	for _, err := range c.AllSessions(ctx, client.SessionListParams{PageParams: client.PageParams{Limit: 1}}) {
		require.NoError(t, err)
		sessions++
	}
	require.Equal(t, 3, sessions)
	for run, err := range c.AllRuns(ctx, client.RunListParams{SessionID: session.SessionID, PageParams: client.PageParams{Limit: 1}}) {
		require.NoError(t, err)
		require.True(t, model.Terminal(run.Status))
		runCount++
	}
	require.Equal(t, 4, runCount)
}

// An interrupt whose reply is lost has ended a run, and the next one of the session may have begun.
func TestALostReplyOfAnInterruptEndsNoOtherRun(t *testing.T) {
	t.Parallel()
	var c *client.Client
	lost := false
	c = realClient(t, client.WithHTTPClient(&http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		response, err := http.DefaultTransport.RoundTrip(r)
		if err != nil || lost || !strings.HasSuffix(r.URL.Path, "/interrupt") {
			return response, err
		}
		lost = true
		require.NoError(t, response.Body.Close())
		must(c.ClaimRun(r.Context(), "second", api.ClaimOptions{WorkerID: "w"}))(t)
		return nil, io.ErrUnexpectedEOF
	})}))
	session := must(c.CreateSession(t.Context(), client.CreateSessionParams{}))(t)
	must(c.CreateSessionRun(t.Context(), session.SessionID, client.CreateRunParams{RunID: "first", Input: 1}))(t)
	must(c.ClaimRun(t.Context(), "first", api.ClaimOptions{WorkerID: "w"}))(t)
	must(c.CreateSessionRun(t.Context(), session.SessionID, client.CreateRunParams{RunID: "second", Input: 1}))(t)

	_, err := c.InterruptSession(t.Context(), session.SessionID, "enough")
	require.ErrorIs(t, err, client.ErrUnavailable)
	require.True(t, lost)
	require.Equal(t, api.StatusInterrupted, must(c.GetRun(t.Context(), "first"))(t).Status)
	require.Equal(t, api.StatusRunning, must(c.GetRun(t.Context(), "second"))(t).Status)
}

// The service names a session without an id, because a token may reach only some names.
func TestTheServiceNamesASession(t *testing.T) {
	t.Parallel()
	service := inprocess.Start(t, inprocess.Memory, inprocess.Options{Closed: true})
	made, _, err := service.Keyring.Create(t.Context(), &api.CreateTokenBody{Name: "agent", Role: api.RoleAgent, SessionPrefixes: []string{"ours:"}}, "user:test", "")
	require.NoError(t, err)
	lost := 0
	c := service.Connect(client.WithToken(made.Secret), client.WithHTTPClient(&http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		response, err := http.DefaultTransport.RoundTrip(r)
		if err != nil || lost > 0 {
			return response, err
		}
		lost = response.StatusCode
		require.NoError(t, response.Body.Close())
		return nil, io.ErrUnexpectedEOF
	})}))
	session := must(c.CreateSession(t.Context(), client.CreateSessionParams{}))(t)
	require.Equal(t, http.StatusCreated, lost)
	require.True(t, strings.HasPrefix(session.SessionID, "ours:"), session.SessionID)
	sessions := must(c.ListSessions(t.Context(), client.SessionListParams{}))(t)
	require.Len(t, sessions.Items, 1)
	require.Equal(t, session.SessionID, sessions.Items[0].SessionID)
}

func TestAWorkerWorksWithTheRealService(t *testing.T) {
	t.Parallel()
	c := realClient(t)
	const many = 8
	work(t, c, func(ctx context.Context, task *client.Task) error {
		// In place, concurrently, then by suspending.
		var asked sync.WaitGroup
		failures := make([]error, many)
		if task.Checkpoint() == nil {
			for i := range many {
				asked.Go(func() {
					_, failures[i] = task.Approve(ctx, approval(fmt.Sprint("a", i), "ls"))
				})
			}
			asked.Wait()
			if err := errors.Join(failures...); err != nil {
				return err
			}
		}
		resume, err := task.Suspend(ctx, api.Suspension{
			Questions: []api.UserQuestionRequest{question("q", "Which color?")}, Checkpoint: api.JSON(`"approved"`),
		})
		if err != nil {
			return err
		}
		return task.Complete(ctx, resume.Questions[0].Resolution.Summary)
	})
	run := must(c.CreateRun(t.Context(), client.CreateRunParams{Input: "x"}))(t)

	decided := map[string]bool{}
	answered := false
	for !answered {
		for pending, err := range c.AllApprovals(t.Context(), client.PendingListParams{}) {
			require.NoError(t, err)
			must(c.ResolveRunApprovals(t.Context(), run.RunID, allowing(pending.Request.ID)))(t)
			decided[pending.Request.ID] = true
		}
		for pending, err := range c.AllQuestions(t.Context(), client.PendingListParams{}) {
			require.NoError(t, err)
			must(c.AnswerRunQuestion(t.Context(), run.RunID, blue(pending.Request.ID)))(t)
			answered = true
		}
	}
	ended := must(c.WaitRun(t.Context(), run.RunID, client.UntilTerminal))(t)
	require.Equal(t, `"Which color?: blue"`, string(ended.Output))
	require.Len(t, decided, many)
}
