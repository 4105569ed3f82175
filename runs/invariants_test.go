package runs_test

import (
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// checkInvariants checks the invariants after every command, accepted or refused. Package doctor
// checks the rows alone. The remaining checks compare the rows before and after, or need the
// command or the clock.
func (h *house) checkInvariants(command runs.Command, before, after *runs.State, change runs.Change, err error) {
	h.t.Helper()
	if err != nil {
		require.Empty(h.t, change.NewRuns, "%T was refused and made a run", command)
		require.Empty(h.t, change.NewRequests, "%T was refused and raised a request", command)
		require.Empty(h.t, change.Records, "%T was refused and left a record", command)
		require.Empty(h.t, change.NewMessages, "%T was refused and left a message", command)
		require.False(h.t, change.SessionNew, "%T was refused and made a session", command)
	}
	h.checkRules(command, before, after, change, err)
	if after.Session == nil {
		change.NewRules, change.UpdatedRules, change.Entries = nil, nil, nil // a rule needs no session
		require.True(h.t, change.Empty(), "%T wrote into no session", command)
		return
	}
	if !h.unexamined {
		h.checkExamined(after.SessionID)
	}
	h.checkLog(change, before, after)
	h.checkMoves(command, before, after)
	for place, run := range queueOf(after) {
		require.Equal(h.t, int64(place), run.QueuedAhead, "place of %s in the queue", run.RunID)
	}
	for _, run := range after.Runs {
		h.checkClock(run)
	}
	h.checkRequests(command, before, after)
	h.checkParts(command, before, after)
	h.checkEffects(command, before, after)
	h.checkMessages(before, after)
}

// checkLog: a command appends events with the current time, and rewrites none.
func (h *house) checkLog(change runs.Change, before, after *runs.State) {
	h.t.Helper()
	next := int64(1)
	if before.Session != nil {
		next += before.Session.LastEventID
	}
	for _, event := range change.Events {
		require.Equal(h.t, next, event.EventID, "the log has a gap")
		require.Equal(h.t, h.nowMs, event.TimestampMs)
		require.Equal(h.t, after.SessionID, event.SessionID)
		next++
	}
	require.Equal(h.t, next-1, after.Session.LastEventID)
}

// checkMoves: a status changes only along legal moves, and counters never decrease. A run that
// ends records how its lease ended. A finished run does not change, unless it failed and is
// retried.
func (h *house) checkMoves(command runs.Command, before, after *runs.State) {
	h.t.Helper()
	for runID, was := range before.Runs {
		is := after.Runs[runID]
		require.NotNil(h.t, is, "run %s is gone", runID)
		if retry, ok := command.(*runs.RetryRun); ok && retry.RunID == runID && was.Status == api.StatusFailed && is.Status == api.StatusRunning {
			require.Equal(h.t, was.Retries+1, is.Retries)
			continue
		}
		if model.Terminal(was.Status) {
			requireSame(h.t, was, is, "a run that was over has changed")
			continue
		}
		require.True(h.t, was.Status == is.Status || reachable(was.Kind, was.Status, is.Status),
			"run %s went from %s to %s", runID, was.Status, is.Status)
		require.Equal(h.t, was.Kind, is.Kind)
		require.GreaterOrEqual(h.t, is.Fence, was.Fence)
		require.GreaterOrEqual(h.t, is.SettledCount, was.SettledCount)
		require.GreaterOrEqual(h.t, is.ResumeAfter, was.ResumeAfter)
	}
	for _, is := range after.Runs {
		require.Equal(h.t, is.Status == api.StatusQueued, is.StartedAtMs == 0 && !model.Terminal(is.Status))
		require.False(h.t, is.Status == api.StatusQueued && is.Fence != 0, "run %s was claimed and is queued", is.RunID)
		require.False(h.t, model.Terminal(is.Status) && is.LeaseEnd == "", "run %s ended and its lease did not", is.RunID)
		require.GreaterOrEqual(h.t, is.Attempt, int64(0))
		require.GreaterOrEqual(h.t, is.StalledAttempts, int64(0))
	}
}

// reachable reports whether a chain of legal moves connects two statuses: one command may
// make several moves.
func reachable(kind api.RunKind, from, to api.Status) bool {
	seen := map[api.Status]bool{from: true}
	for reached := []api.Status{from}; len(reached) > 0; reached = reached[1:] {
		for _, next := range api.Statuses {
			if runs.CanMove(kind, reached[0], next) && !seen[next] {
				seen[next] = true
				reached = append(reached, next)
			}
		}
	}
	return to != from && seen[to]
}

// checkClock: a running run is claimable when its lease lapses, or at once without a holder,
// unless a worker released it with a delay.
func (h *house) checkClock(run *model.Run) {
	h.t.Helper()
	switch {
	case run.Status != api.StatusRunning:
	case run.Leased(h.nowMs):
		require.Equal(h.t, run.LeaseExpiresAtMs, run.ClaimableAtMs, "claimable when its lease lapses")
	case run.LastError != "" && run.LeaseEnd == model.LeaseReleased:
		require.LessOrEqual(h.t, run.ClaimableAtMs, h.nowMs+api.MaxLeaseMs, "claimable after the delay of its last attempt")
	default:
		require.LessOrEqual(h.t, run.ClaimableAtMs, h.nowMs)
	}
}

// checkRequests: a resolution is written once, no request stays open past its deadline, and
// only a caller's or a rule's allow can allow.
func (h *house) checkRequests(command runs.Command, before, after *runs.State) {
	h.t.Helper()
	for key, is := range after.Requests {
		was := before.Requests[key]
		switch {
		case is.Open():
			if is.DueAtMs != 0 && !model.Terminal(after.Runs[key.RunID].Status) && is.CreatedAtMs == h.nowMs {
				require.Greater(h.t, is.DueAtMs, h.nowMs, "it was raised past its deadline and is open")
			}
		case was != nil && !was.Open():
			redeemed := *is
			if was.Redemption == nil && is.Outcome == api.OutcomeAllowed {
				redeemed.Redemption = nil
			}
			requireSame(h.t, *was, redeemed, "a settled request has changed")
		case is.Outcome == api.OutcomeAllowed && is.RuleID == "":
			require.True(h.t, allows(runs.Unwrap(command), key.RequestID), "%T allowed %s", command, key.RequestID)
		}
	}
}

func allows(command runs.Command, requestID string) bool {
	var resolutions []runs.ApprovalDecision
	switch command := command.(type) {
	case *runs.ResolveApprovals:
		resolutions = command.Resolutions
	case *runs.DecideRequests:
		resolutions = command.Approvals
	}
	for _, resolution := range resolutions {
		if resolution.RequestID == requestID && resolution.Behavior == api.BehaviorAllow {
			return true
		}
	}
	return false
}
