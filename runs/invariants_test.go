package runs_test

import (
	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// checkInvariants checks what must hold after every command, whoever gave it and
// whatever came of it (design.md §2 and §3).
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
		change.NewRules, change.UpdatedRules = nil, nil // a rule needs no session
		require.True(h.t, change.Empty(), "%T wrote into no session", command)
		return
	}
	h.checkLog(change, before, after)
	h.checkMoves(before, after)
	h.checkSlotAndQueue(after)
	for _, run := range after.Runs {
		h.checkRow(run, after)
	}
	h.checkRequests(command, before, after)
	h.checkParts(before, after)
	h.checkEffects(before, after)
	h.checkMessages(before, after)
}

// checkLog: events are numbered without gaps, and each run knows its first and
// last.
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
		var body struct {
			Type api.EventType `json:"type"`
		}
		require.NoError(h.t, json.Unmarshal(event.Body, &body))
		require.Equal(h.t, event.Type, body.Type)
		next++
	}
	require.Equal(h.t, next-1, after.Session.LastEventID)
	last := map[string]int64{}
	for _, event := range h.events[after.SessionID] {
		if last[event.RunID] == 0 {
			require.Equal(h.t, event.EventID, after.Runs[event.RunID].FirstEventID)
		}
		last[event.RunID] = event.EventID
	}
	for runID, run := range after.Runs {
		require.Equal(h.t, last[runID], run.LastEventID, "last event of %s", runID)
	}
}

// checkMoves: a status changes along legal moves only, and what is over stays as it
// is to the last member.
func (h *house) checkMoves(before, after *runs.State) {
	h.t.Helper()
	for runID, was := range before.Runs {
		is := after.Runs[runID]
		require.NotNil(h.t, is, "run %s is gone", runID)
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
}

// reachable reports whether a chain of legal moves leads from one status to the
// other: one command may make several.
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

// checkSlotAndQueue: one active run, which the session names, beside any number of
// clarifications; a queue without holes, whose head may be claimed exactly when the
// slot is free.
func (h *house) checkSlotAndQueue(after *runs.State) {
	h.t.Helper()
	active := ""
	for runID, run := range after.Runs {
		require.True(h.t, after.Session.EndedAtMs == 0 || model.Terminal(run.Status), "run %s is %s in an ended session", runID, run.Status)
		if run.Kind == api.KindInput && (run.Status == api.StatusRunning || model.Waiting(run.Status)) {
			require.Empty(h.t, active, "two active runs: %s and %s", active, runID)
			active = runID
		}
	}
	session := after.Session
	require.Equal(h.t, active, session.ActiveRunID)
	queue := queueOf(after)
	require.Equal(h.t, int64(len(queue)), session.QueuedCount)
	for place, run := range queue {
		require.Equal(h.t, int64(place), run.QueuedAhead, "place of %s in the queue", run.RunID)
		require.Equal(h.t, active == "" && place == 0, run.ClaimableAtMs != 0, "may %s be claimed?", run.RunID)
	}
}

// checkRow checks a run's row by itself: what the constraints of the databases say,
// and a little more.
func (h *house) checkRow(run *model.Run, after *runs.State) {
	h.t.Helper()
	leased := run.LeaseExpiresAtMs != 0
	require.Equal(h.t, model.Terminal(run.Status), run.FinishedAtMs != 0)
	require.Equal(h.t, run.Status == api.StatusQueued, run.StartedAtMs == 0 && !model.Terminal(run.Status))
	require.LessOrEqual(h.t, run.SettledCount, run.RaisedCount)
	require.LessOrEqual(h.t, run.ResumeAfter, run.SettledCount)
	require.GreaterOrEqual(h.t, run.Attempt, int64(0))
	require.GreaterOrEqual(h.t, run.StalledAttempts, int64(0))
	if leased {
		require.Positive(h.t, run.Fence)
		require.NotEmpty(h.t, run.WorkerID)
		require.Empty(h.t, run.LeaseEnd, "a lease that has ended is still held")
	}
	if run.Output != nil {
		require.Equal(h.t, api.StatusCompleted, run.Status)
	}
	switch {
	case run.Status == api.StatusQueued:
		require.Zero(h.t, run.Fence)
	case run.Status == api.StatusRunning && run.Leased(h.nowMs):
		require.Equal(h.t, run.LeaseExpiresAtMs, run.ClaimableAtMs, "claimable when its lease lapses")
	case run.Status == api.StatusRunning:
		require.NotZero(h.t, run.ClaimableAtMs, "nobody can ever claim %s", run.RunID)
		require.LessOrEqual(h.t, run.ClaimableAtMs, h.nowMs)
	case model.Waiting(run.Status):
		require.Zero(h.t, run.ClaimableAtMs)
		require.False(h.t, leased && !run.Attached, "a lease goes on while nobody is attached")
	default:
		require.Zero(h.t, run.ClaimableAtMs)
		require.False(h.t, leased || run.Attached)
		require.NotEmpty(h.t, run.LeaseEnd)
	}
	approvals, questions := 0, 0
	for _, request := range after.Requests {
		switch {
		case request.RunID != run.RunID || !request.Open():
		case request.Kind == model.KindApproval:
			approvals++
		case request.Kind == model.KindClarification && !request.Clarification().Parked:
			require.False(h.t, model.Terminal(run.Status), "a clarification is open on a run that is over")
		default:
			questions++
		}
	}
	h.checkClarification(run, after)
	require.Equal(h.t, run.Status == api.StatusWaitingForUserQuestion, questions > 0)
	require.Equal(h.t, run.Status == api.StatusWaitingForApproval, approvals > 0 && questions == 0)
}

// checkRequests: an outcome is written once, reported by exactly one event, and
// allowed by nobody but a caller who said so.
func (h *house) checkRequests(command runs.Command, before, after *runs.State) {
	h.t.Helper()
	reported := h.reportedResolutions(after.SessionID)
	numbers := map[string]map[int64]bool{}
	for key, is := range after.Requests {
		was := before.Requests[key]
		if is.Open() {
			require.Zero(h.t, reported[key], "an open request was reported as settled")
			require.Zero(h.t, is.SettledNumber)
			require.Nil(h.t, is.Resolution)
			if is.DueAtMs != 0 && !model.Terminal(after.Runs[key.RunID].Status) && is.CreatedAtMs == h.nowMs {
				require.Greater(h.t, is.DueAtMs, h.nowMs, "it was raised past its deadline and is open")
			}
			continue
		}
		require.Equal(h.t, 1, reported[key], "resolution events of %s", key.RequestID)
		require.Zero(h.t, is.DueAtMs)
		require.Equal(h.t, is.Outcome, is.Recorded().Outcome)
		if numbers[key.RunID] == nil {
			numbers[key.RunID] = map[int64]bool{}
		}
		require.False(h.t, numbers[key.RunID][is.SettledNumber], "two decisions have one number")
		numbers[key.RunID][is.SettledNumber] = true
		if was != nil && !was.Open() {
			requireSame(h.t, was, is, "a settled request has changed")
			continue
		}
		if is.Outcome == api.OutcomeAllowed && is.RuleID == "" {
			require.True(h.t, allows(command, key.RequestID), "%T allowed %s", command, key.RequestID)
		}
		require.Equal(h.t, is.Outcome == api.OutcomeAllowed, is.Recorded().Behavior == api.BehaviorAllow)
	}
	for runID, run := range after.Runs {
		require.Len(h.t, numbers[runID], int(run.SettledCount))
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

// reportedResolutions counts the resolutions in a session's log.
func (h *house) reportedResolutions(sessionID string) map[runs.RequestKey]int {
	h.t.Helper()
	counts := map[runs.RequestKey]int{}
	for _, event := range h.events[sessionID] {
		switch event.Type {
		case api.EventApprovalResolved, api.EventUserQuestionResolved, api.EventParentClarificationResolved:
		default:
			continue
		}
		var body struct {
			Resolution  *api.Resolution  `json:"resolution"`
			Resolutions []api.Resolution `json:"resolutions"`
		}
		require.NoError(h.t, json.Unmarshal(event.Body, &body))
		if body.Resolution != nil {
			body.Resolutions = append(body.Resolutions, *body.Resolution)
		}
		for _, resolution := range body.Resolutions {
			counts[runs.RequestKey{RunID: event.RunID, RequestID: resolution.RequestID}]++
		}
	}
	return counts
}
