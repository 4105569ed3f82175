package runs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// The legal moves, all pairs for each kind of run. A parent clarification makes only one move,
// which no other kind makes.
func TestLegalMoves(t *testing.T) {
	t.Parallel()
	legal := map[api.Status]map[api.Status]bool{
		"queued":  {"running": true, "failed": true, "cancelled": true},
		"running": {"waiting_for_approval": true, "waiting_for_user_question": true, "completed": true, "failed": true, "interrupted": true, "cancelled": true},
		"failed":  {"running": true},
		"waiting_for_approval": {
			"running": true, "waiting_for_user_question": true, "failed": true, "interrupted": true, "cancelled": true,
		},
		"waiting_for_user_question": {
			"running": true, "waiting_for_approval": true, "failed": true, "interrupted": true, "cancelled": true,
		},
	}
	require.Len(t, api.Statuses, 8)
	for _, from := range api.Statuses {
		for _, to := range api.Statuses {
			require.Equal(t, legal[from][to], runs.CanMove(api.KindInput, from, to), "%s to %s", from, to)
			require.Equal(t, from == api.StatusWaitingForUserQuestion && to == api.StatusCompleted,
				runs.CanMove(api.KindParentClarification, from, to), "clarification: %s to %s", from, to)
		}
		require.Equal(t, len(legal[from]) == 0 || from == api.StatusFailed, model.Terminal(from), "%s", from)
		require.True(t, model.KnownStatus(from))
	}
	require.False(t, model.KnownStatus(api.Status("idle")))
	require.False(t, model.KnownStatus(api.Status("")))
}

// into brings run "r" of session "s" into a status. Its newest fence is 1; a queued run has
// none.
func into(t *testing.T, status api.Status) *house {
	t.Helper()
	h := newHouse(t)
	switch status {
	case api.StatusQueued:
		h.create("r")
	case api.StatusWaitingForApproval:
		h.wait("r", approval("item"))
	case api.StatusWaitingForUserQuestion:
		h.wait("r", question("item"))
	default:
		h.start("r")
	}
	switch status {
	case api.StatusCompleted:
		h.must(&runs.Complete{RunID: "r", Fence: 1, Output: api.JSON(`"done"`)})
	case api.StatusFailed:
		h.must(&runs.Fail{RunID: "r", Fence: 1, Error: "broken"})
	case api.StatusInterrupted:
		h.must(&runs.InterruptSession{SessionID: "s"})
	case api.StatusCancelled:
		h.must(&runs.CancelRun{RunID: "r"})
	}
	require.Equal(t, status, h.run("r").Status)
	return h
}

// asIs says that a command is accepted and the status stays.
const asIs = "="

// TestEveryCommandInEveryStatus tests the state machine from the callers' side. A cell is the
// status after the command, "=" when the command is accepted and the status stays, or the
// refusal's code.
func TestEveryCommandInEveryStatus(t *testing.T) {
	t.Parallel()
	commands := map[string]func() runs.Command{
		"create session": func() runs.Command { return &runs.CreateSession{SessionID: "s"} },
		"create run": func() runs.Command {
			return &runs.CreateRun{SessionID: "s", SessionGiven: true, RunID: "other", Input: api.JSON(`1`)}
		},
		"create same run": func() runs.Command {
			return &runs.CreateRun{SessionID: "s", SessionGiven: true, RunID: "r", Input: api.JSON(`"go"`)}
		},
		"create inline": func() runs.Command {
			return &runs.CreateRun{SessionID: "s", SessionGiven: true, RunID: "other", Input: api.JSON(`1`), Inline: true}
		},
		"create claimed": func() runs.Command {
			return &runs.CreateRun{SessionID: "s", SessionGiven: true, Input: api.JSON(`1`), Claim: &api.ClaimOptions{WorkerID: "w"}}
		},
		"claim":     func() runs.Command { return &runs.ClaimRun{RunID: "r", WorkerID: "w"} },
		"heartbeat": func() runs.Command { return &runs.Heartbeat{RunID: "r", Fence: 1} },
		"suspend":   func() runs.Command { return suspend("r", 1, approval("new")) },
		"ask":       func() runs.Command { return suspend("r", 1, question("new")) },
		"hold":      func() runs.Command { return hold("r", 1, approval("new")) },
		"withdraw":  func() runs.Command { return &runs.Withdraw{RunID: "r", RequestID: "item", Fence: 1} },
		"append": func() runs.Command {
			return &runs.AppendEvents{RunID: "r", Fence: 1, Events: []api.JSON{api.JSON(`{"type":"delta"}`)}}
		},
		"complete":        func() runs.Command { return &runs.Complete{RunID: "r", Fence: 1, Output: api.JSON(`"done"`)} },
		"fail":            func() runs.Command { return &runs.Fail{RunID: "r", Fence: 1, Error: "broken"} },
		"release":         func() runs.Command { return &runs.Release{RunID: "r", Fence: 1} },
		"approve":         func() runs.Command { return allow("r", "item") },
		"approve session": func() runs.Command { return approveInSession(allow("r", "item")) },
		"answer":          func() runs.Command { return answer("r", "item", "north") },
		"answer session":  func() runs.Command { return answerInSession(answer("r", "item", "north")) },
		"cancel question": func() runs.Command { return &runs.CancelQuestion{RunID: "r", RequestID: "item"} },
		"cancel":          func() runs.Command { return &runs.CancelRun{RunID: "r"} },
		"retry":           func() runs.Command { return &runs.RetryRun{RunID: "r"} },
		"interrupt":       func() runs.Command { return &runs.InterruptSession{SessionID: "s"} },
		"end":             func() runs.Command { return &runs.EndSession{SessionID: "s"} },
		"expire":          func() runs.Command { return &runs.ExpireRequests{RunID: "r"} },
		"acknowledge": func() runs.Command {
			return &runs.AcknowledgeRequest{RunID: "r", RequestID: "item", State: api.Acknowledged}
		},
	}
	const (
		lost        = "lease_lost"
		over        = "run_state_conflict"
		noClaim     = "run_not_claimable"
		noApproval  = "approval_state_conflict"
		noQuestion  = "question_state_conflict"
		toRun       = "running"
		toApproval  = "waiting_for_approval"
		toQuestion  = "waiting_for_user_question"
		toCancelled = "cancelled"
		noRequest   = "request_not_found"
	)
	// queued, running, waiting for approval, for a question, completed, failed,
	// interrupted, cancelled: the order of runs.Statuses.
	cells := map[string][8]string{
		"create session":  {asIs, asIs, asIs, asIs, asIs, asIs, asIs, asIs},
		"create run":      {asIs, asIs, asIs, asIs, asIs, asIs, asIs, asIs},
		"create same run": {asIs, asIs, asIs, asIs, asIs, asIs, asIs, asIs},
		"create inline":   {"session_busy", "session_busy", "session_busy", "session_busy", asIs, asIs, asIs, asIs},
		"create claimed":  {noClaim, noClaim, noClaim, noClaim, asIs, asIs, asIs, asIs},
		"claim":           {toRun, noClaim, noClaim, noClaim, noClaim, noClaim, noClaim, noClaim},
		"heartbeat":       {lost, asIs, lost, lost, over, over, asIs, asIs},
		"suspend":         {lost, toApproval, lost, lost, over, over, lost, lost},
		"ask":             {lost, toQuestion, lost, lost, over, over, lost, lost},
		"hold":            {lost, toApproval, lost, lost, over, over, lost, lost},
		"withdraw":        {lost, "request_not_found", lost, lost, over, over, lost, lost},
		"append":          {lost, asIs, lost, lost, over, over, lost, lost},
		"complete":        {lost, "completed", lost, lost, asIs, over, lost, lost},
		"fail":            {lost, "failed", lost, lost, over, asIs, lost, lost},
		"release":         {lost, asIs, lost, lost, over, over, lost, lost},
		"approve":         {noApproval, noApproval, toRun, noApproval, over, over, over, over},
		"approve session": {over, noApproval, toRun, noApproval, over, over, over, over},
		"answer":          {noQuestion, noQuestion, noQuestion, toRun, noQuestion, noQuestion, noQuestion, noQuestion},
		"answer session":  {over, over, over, toRun, over, over, over, over},
		"cancel question": {noQuestion, noQuestion, noQuestion, toCancelled, noQuestion, noQuestion, noQuestion, noQuestion},
		"cancel":          {toCancelled, toCancelled, toCancelled, toCancelled, asIs, asIs, asIs, asIs},
		"retry":           {over, over, over, over, over, toRun, over, over},
		"interrupt":       {asIs, "interrupted", "interrupted", "interrupted", asIs, asIs, asIs, asIs},
		"end":             {toCancelled, toCancelled, toCancelled, toCancelled, asIs, asIs, asIs, asIs},
		"expire":          {asIs, asIs, asIs, asIs, asIs, asIs, asIs, asIs},
		"acknowledge":     {noRequest, noRequest, asIs, asIs, noRequest, noRequest, noRequest, noRequest},
	}
	require.Len(t, cells, len(commands))
	for name, row := range cells {
		inEveryStatus(t, name, commands[name], row)
	}
}

// inEveryStatus gives a command about run "r" of session "s" in each of [api.Statuses], and holds what comes of it against
// the cells of [TestEveryCommandInEveryStatus].
func inEveryStatus(t *testing.T, name string, command func() runs.Command, cells [8]string) {
	t.Helper()
	for place, want := range cells {
		status := api.Statuses[place]
		t.Run(name+" when "+string(status), func(t *testing.T) {
			t.Parallel()
			h := into(t, status)
			command := command()
			if look, is := command.(*runs.AcknowledgeRequest); is && model.Waiting(status) {
				look.Handle = h.request("r", look.RequestID).Handle
			}
			reply, change, err := h.decide(command)
			h.flush()
			got := string(h.run("r").Status)
			switch {
			case err != nil:
				got = string(refusal.CodeOf(err))
				require.True(t, change.Empty(), "a refused command wrote something")
			case got == string(status):
				got = asIs
			}
			require.Equal(t, want, got, "%v", err)
			if err == nil && model.Terminal(status) && name != "create run" && reply.Existing {
				require.Empty(t, change.Events, "a repeated end was reported twice")
			}
		})
	}
}

// Repeated terminal moves change nothing and return Existing.
func TestTerminalMovesAbsorb(t *testing.T) {
	t.Parallel()
	for _, status := range []api.Status{"completed", "failed", "interrupted", "cancelled"} {
		h := into(t, status)
		reply, change := h.decided(&runs.CancelRun{RunID: "r", Reason: "again"})
		require.True(t, reply.Existing)
		require.True(t, change.Empty())
		require.Equal(t, status, reply.Run.Run.Status)
	}
}

func TestUnknownTargets(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]runs.Command{
		"claim":     &runs.ClaimRun{RunID: "x", WorkerID: "w"},
		"heartbeat": &runs.Heartbeat{RunID: "x", Fence: 1},
		"suspend":   suspend("x", 1, approval("a")),
		"withdraw":  &runs.Withdraw{RunID: "x", RequestID: "a", Fence: 1},
		"append":    &runs.AppendEvents{RunID: "x", Fence: 1, Events: []api.JSON{api.JSON(`{"type":"t"}`)}},
		"complete":  &runs.Complete{RunID: "x", Fence: 1},
		"fail":      &runs.Fail{RunID: "x", Fence: 1, Error: "e"},
		"release":   &runs.Release{RunID: "x", Fence: 1},
		"approve":   allow("x", "a"),
		"answer":    answer("x", "a", "north"),
		"question":  &runs.CancelQuestion{RunID: "x", RequestID: "a"},
		"cancel":    &runs.CancelRun{RunID: "x"},
		"retry":     &runs.RetryRun{RunID: "x"},
		"look":      &runs.AcknowledgeRequest{RunID: "x", RequestID: "a", State: api.Acknowledged},
		"expire":    &runs.ExpireRequests{RunID: "x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refusal := newHouse(t).refused(api.CodeRunNotFound, command)
			require.Equal(t, "unknown run x", refusal.Detail)
		})
	}
	for name, command := range map[string]runs.Command{
		"approve":   approveInSession(allow("", "a")),
		"answer":    answerInSession(answer("", "a", "north")),
		"interrupt": &runs.InterruptSession{SessionID: "s"},
		"end":       &runs.EndSession{SessionID: "s"},
	} {
		t.Run(name+" in session", func(t *testing.T) {
			t.Parallel()
			refusal := newHouse(t).refused(api.CodeSessionNotFound, command)
			require.Equal(t, "unknown session s", refusal.Detail)
		})
	}
}
