package mcptools_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/mcptools"
	"github.com/holdpoint/holdpoint/store"
	"github.com/holdpoint/holdpoint/test/inprocess"
)

// A call is only raised to outlast its client where the person at the client is shown something: a form or a link. The
// request of any other call ends with the agent.
func TestACallWithoutAFormIsHeld(t *testing.T) {
	s := newScene(t)
	const kept = "agent-call:kept"
	agents := mcptools.Options{MayDecide: func(context.Context) bool { return false }}
	unlinked := agents
	unlinked.Link = func(string) string { return "" } // as of a service on a socket
	long := `"input":{"text":"` + strings.Repeat("long ", 4000) + `"}}`
	for name, row := range map[string]struct {
		options         mcptools.Options
		tool, arguments string
		kept            bool
	}{
		"a server without addresses":         {unlinked, "permission_prompt", touch, false},
		"a role that may not decide":         {agents, "request_approval", `{"tool_name":"deploy","input":{},"wait_seconds":1}`, true},
		"a question of such a role":          {agents, "ask_user", `{"question":"Where to?","wait_seconds":1}`, true},
		"a permission prompt of such a role": {agents, "permission_prompt", touch, false},
		"a prompt that no form shows whole":  {mcptools.Options{}, "permission_prompt", `{"tool_name":"Bash","tool_use_id":"toolu_1",` + long, false},
		"an input that no form shows whole":  {mcptools.Options{}, "request_approval", `{"tool_name":"deploy","wait_seconds":1,` + long, true},
		"a question that no form asks":       {mcptools.Options{}, "ask_user", `{"question":"Which?","options":["a","a"],"wait_seconds":1}`, true},
	} {
		row.options.SessionID = strings.ReplaceAll(name, " ", "-")
		capabilities := forms
		if row.options.Link != nil {
			capabilities = links
		}
		r := s.replica(row.options)
		answered := make(chan *reply, 1)
		go func() { answered <- r.ask(capabilities, row.tool, row.arguments, nil) }()
		if row.kept {
			pending := (<-answered).told(s)
			require.Equal(t, "pending", pending.Status, name)
			run, err := s.person.GetRun(t.Context(), pending.RunID)
			require.NoError(t, err, name)
			require.NotNil(t, run.Lease, name)
			require.Equal(t, kept, run.Lease.WorkerID, name)
			_, err = s.person.CancelRun(t.Context(), pending.RunID, "")
			require.NoError(t, err, name)
			continue
		}
		open := s.pending()
		run, err := s.person.GetRun(t.Context(), open.RunID)
		require.NoError(t, err, name)
		require.NotNil(t, run.Lease, name)
		require.NotEqual(t, kept, run.Lease.WorkerID, name)
		s.decide(open, api.ApprovalResolution{Behavior: api.BehaviorDeny})
		require.Contains(t, (<-answered).Content[0].Text, "Denied by ada", name)
	}
}

// The task of a question that expired has the result that a held client is told.
func TestTheTaskOfAnExpiredQuestionIsCompleted(t *testing.T) {
	t.Parallel()
	var nowMs atomic.Int64
	nowMs.Store(time.Now().UnixMilli())
	service := inprocess.Start(t, inprocess.Memory, inprocess.Options{Store: store.Options{NowMs: nowMs.Load}})
	s := &scene{T: t, service: service, person: service.Connect(client.WithActor("ada"))}
	r := s.replica(mcptools.Options{ExpiresAfter: time.Hour})
	task := r.ask(takesTask, "ask_user", `{"question":"Where to?"}`, nil)
	require.Equal(t, "working", task.Status)
	nowMs.Add(2 * time.Hour.Milliseconds())
	var done *reply
	require.Eventually(t, func() bool {
		done = r.task(takesTask, "tasks/get", task.TaskID)
		return done.Status != "working"
	}, time.Minute, 5*time.Millisecond)
	require.Equal(t, "completed", done.Status)
	require.NotContains(t, done.StatusMessage, "Denied")
	require.Equal(t, "expired", done.Result.told(s).Status)
}
