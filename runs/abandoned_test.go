package runs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// watched returns a suspension that is cancelled if its worker disappears.
func watched(requests ...any) *runs.Suspend {
	command := hold("r", 1, requests...)
	command.CancelWhenAbandoned = true
	return command
}

// look carries out the run's abandonment check, as an effects loop that has served for
// servingForMs does, and returns the effect.
func (h *house) look(effectID string, servingForMs int64) *model.Effect {
	h.t.Helper()
	claimed := h.must(&runs.ClaimEffect{SessionID: "s", EffectID: effectID})
	if claimed.Effect == nil {
		return h.states["s"].Effects[effectID]
	}
	command, err := runs.CommandOf(claimed.Effect)
	require.NoError(h.t, err)
	abandoned := command.(*runs.CancelAbandoned)
	abandoned.ServingForMs = servingForMs
	return h.must(abandoned).Effect
}

// raiseWatched raises an approval of a new run and returns the id of its abandonment check.
func (h *house) raiseWatched() string {
	h.t.Helper()
	h.start("r")
	_, change := h.decided(watched(approval("a")))
	require.Len(h.t, change.NewEffects, 1)
	require.Equal(h.t, h.nowMs+2*api.DefaultLeaseMs, change.NewEffects[0].DueAtMs)
	return change.NewEffects[0].EffectID
}

const servedLong = 1_000_000

func TestAbandonedRequestIsWithdrawn(t *testing.T) {
	h := parallelHouse(t)
	watch := h.raiseWatched()
	h.nowMs += 2*api.DefaultLeaseMs - 1
	require.Zero(t, h.look(watch, servedLong).Attempts, "not due yet")
	h.nowMs++
	require.Equal(t, api.EffectDone, h.look(watch, servedLong).State)
	run := h.run("r")
	require.Equal(t, api.StatusCancelled, run.Status)
	require.Equal(t, "the worker that asked is gone", run.Error)
	request := h.request("r", "a")
	require.Equal(t, api.OutcomeCancelled, request.Outcome)
	require.Equal(t, api.ViaWorker, request.RecordedDecision().Via)
	h.refused(api.CodeRunStateConflict, allow("r", "a"))
}

// A worker whose lease had little time left, or had lapsed, gets a default lease to come back.
func TestAnAbandonedRequestHasALeaseToComeBackIn(t *testing.T) {
	t.Parallel()
	for name, workedMs := range map[string]int64{"little time left": api.DefaultLeaseMs - 500, "lapsed": api.DefaultLeaseMs + 500} {
		inHouse(t, name, func(t *testing.T, h *house) {
			h.start("r")
			h.nowMs += workedMs
			_, change := h.decided(watched(approval("a")))
			watch := change.NewEffects[0].EffectID
			h.nowMs += 10_000
			require.Equal(t, api.EffectPending, h.look(watch, servedLong).State)
			require.Equal(t, api.StatusWaitingForApproval, h.run("r").Status)
			h.nowMs += api.DefaultLeaseMs
			require.Equal(t, api.EffectDone, h.look(watch, servedLong).State)
			require.Equal(t, api.StatusCancelled, h.run("r").Status)
		})
	}
}

func TestWatchGoesOnWhileTheWorkerIsThere(t *testing.T) {
	h := parallelHouse(t)
	watch := h.raiseWatched()
	for range 50 {
		h.nowMs += api.DefaultLeaseMs
		h.must(&runs.Heartbeat{RunID: "r", Fence: 1})
		effect := h.look(watch, servedLong)
		require.Equal(t, api.EffectPending, effect.State)
	}
	require.Equal(t, api.StatusWaitingForApproval, h.run("r").Status)
	h.must(allow("r", "a"))
	h.nowMs += api.DefaultLeaseMs - 1
	h.must(&runs.Complete{RunID: "r", Fence: 1})
	h.nowMs += 2 * api.DefaultLeaseMs
	require.Equal(t, api.EffectDone, h.look(watch, servedLong).State)
	require.Equal(t, api.StatusCompleted, h.run("r").Status)
}

func TestNobodyIsSilentToAServiceThatWasAway(t *testing.T) {
	h := parallelHouse(t)
	watch := h.raiseWatched()
	h.nowMs += 10 * api.DefaultLeaseMs
	effect := h.look(watch, 100)
	require.Equal(t, api.EffectPending, effect.State)
	require.Equal(t, h.nowMs-100+api.DefaultLeaseMs, effect.DueAtMs)
	h.must(&runs.Heartbeat{RunID: "r", Fence: 1})
	h.nowMs = effect.DueAtMs
	require.Equal(t, api.EffectPending, h.look(watch, servedLong).State)
	require.Equal(t, api.StatusWaitingForApproval, h.run("r").Status)
}

// The check leaves a run alone once another worker is responsible for it.
func TestWatchEndsWithTheLease(t *testing.T) {
	t.Parallel()
	ends := map[string]func(h *house){
		"released": func(h *house) { h.must(&runs.Release{RunID: "r", Fence: 1}) },
		"claimed by another": func(h *house) {
			h.must(allow("r", "a"))
			h.nowMs += api.DefaultLeaseMs
			h.must(&runs.ClaimRun{RunID: "r", WorkerID: "other"})
		},
		"cancelled": func(h *house) { h.must(&runs.CancelRun{RunID: "r"}) },
	}
	for name, end := range ends {
		inHouse(t, name, func(t *testing.T, h *house) {
			watch := h.raiseWatched()
			end(h)
			before := h.run("r").Status
			h.nowMs += 3 * api.DefaultLeaseMs
			require.Equal(t, api.EffectDone, h.look(watch, servedLong).State)
			require.Equal(t, before, h.run("r").Status)
		})
	}
}

const dayMs = 24 * 3_600_000

// A request with a period of its own stays open for that long after the lease, however often the service is started.
func TestAbandonedRequestHasAPeriod(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		// meanwhile happens an hour after the request was raised.
		meanwhile    func(h *house)
		silentMs     int64 // since the request was raised
		servingForMs int64
		status       api.Status
		dueInMs      int64 // 0 once the check is over
	}{
		"before its end":          {silentMs: api.DefaultLeaseMs + dayMs - 5, servingForMs: dayMs, status: api.StatusWaitingForApproval, dueInMs: 5},
		"at its end":              {silentMs: api.DefaultLeaseMs + dayMs, servingForMs: dayMs, status: api.StatusCancelled},
		"looks are not far apart": {silentMs: 2 * api.MaxLeaseMs, servingForMs: dayMs, status: api.StatusWaitingForApproval, dueInMs: api.MaxLeaseMs},
		"the service was down":    {silentMs: 9 * dayMs, servingForMs: 100, status: api.StatusWaitingForApproval, dueInMs: api.MaxLeaseMs - 100},
		"the service was started": {silentMs: 9 * dayMs, servingForMs: api.MaxLeaseMs, status: api.StatusCancelled},
		"the worker came back":    {func(h *house) { h.must(&runs.Heartbeat{RunID: "r", Fence: 1}) }, api.DefaultLeaseMs + dayMs, dayMs, api.StatusWaitingForApproval, api.MaxLeaseMs},
		"and left again":          {func(h *house) { h.must(&runs.Heartbeat{RunID: "r", Fence: 1}) }, api.MaxLeaseMs + api.DefaultLeaseMs + dayMs, dayMs, api.StatusCancelled, 0},
		"a decision can be read":  {func(h *house) { h.must(allow("r", "a")) }, 9 * dayMs, dayMs, api.StatusRunning, 0},
		"it was cancelled":        {func(h *house) { h.must(&runs.CancelRun{RunID: "r"}) }, 2 * api.MaxLeaseMs, dayMs, api.StatusCancelled, 0},
	} {
		inHouse(t, name, func(t *testing.T, h *house) {
			h.start("r")
			command := hold("r", 1, approval("a"))
			command.AbandonedAfterMs = dayMs
			_, change := h.decided(command)
			raisedAtMs := h.nowMs
			if c.meanwhile != nil {
				h.nowMs += api.MaxLeaseMs
				c.meanwhile(h)
			}
			h.nowMs = raisedAtMs + c.silentMs
			effect := h.look(change.NewEffects[0].EffectID, c.servingForMs)
			require.Equal(t, c.status, h.run("r").Status)
			if c.dueInMs == 0 {
				require.Equal(t, api.EffectDone, effect.State)
				return
			}
			require.Equal(t, api.EffectPending, effect.State)
			require.Equal(t, h.nowMs+c.dueInMs, effect.DueAtMs)
		})
	}
}

// A decision that was made before the worker died does not save the run.
func TestDecidedRunOfADeadWorkerIsCancelled(t *testing.T) {
	h := parallelHouse(t)
	watch := h.raiseWatched()
	h.must(allow("r", "a"))
	h.nowMs += 2 * api.DefaultLeaseMs
	require.Equal(t, api.EffectDone, h.look(watch, servedLong).State)
	require.Equal(t, api.StatusCancelled, h.run("r").Status)
	require.Equal(t, api.OutcomeAllowed, h.request("r", "a").Outcome, "what was recorded stays")
}

func TestWatchNeedsSomebodyWhoHolds(t *testing.T) {
	h := parallelHouse(t).start("r")
	command := suspend("r", 1, approval("a"))
	command.CancelWhenAbandoned = true
	refused := h.refused(api.CodeInvalidRequest, command)
	require.Equal(t, "/cancel_when_abandoned", refused.Faults[0].Pointer)

	for _, afterMs := range []int64{-1, api.MinLeaseMs - 1, api.MaxAbandonedAfterMs + 1} {
		command = hold("r", 1, approval("a"))
		command.AbandonedAfterMs = afterMs
		require.Equal(t, "/abandoned_after_ms", h.refused(api.CodeInvalidRequest, command).Faults[0].Pointer)
	}
	withBoth, withoutHold := watched(approval("a")), hold("r", 1, approval("a"))
	withoutHold.Hold = false
	for _, command := range []*runs.Suspend{withBoth, withoutHold} {
		command.AbandonedAfterMs = dayMs
		require.Equal(t, "/abandoned_after_ms", h.refused(api.CodeInvalidRequest, command).Faults[0].Pointer)
	}
}
