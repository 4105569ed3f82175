package runs_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// fill queues runs behind the active one until n are queued.
func (h *house) fill(n int) {
	h.t.Helper()
	for i := range n {
		h.unexamined = i < n-1
		h.create(fmt.Sprintf("queued-%04d", i))
	}
}

func (h *house) countStatus(status api.Status) (count int) {
	for _, run := range h.states["s"].Runs {
		if run.Status == status {
			count++
		}
	}
	return count
}

func TestQueueIsBounded(t *testing.T) {
	t.Parallel()
	newID := func(prefix string) string { return prefix + "_1" }
	create := func(queued int64, command *runs.CreateRun) (runs.Change, error) {
		command.SessionID, command.SessionGiven, command.Input = "s", true, api.JSON(`1`)
		require.NoError(t, runs.Prepare(command, newID))
		state := runs.NewState("s")
		state.Session = &model.Session{SessionID: "s", AgentID: "a", ActiveRunID: "r", QueuedCount: queued}
		state.Queued = &runs.Held{Rows: queued}
		change, _, err := runs.Decide(state, command, startMs)
		return change, err
	}
	change, err := create(api.MaxQueuedRuns-1, &runs.CreateRun{})
	require.NoError(t, err)
	require.Len(t, change.NewRuns, 1)
	for _, queued := range []int64{api.MaxQueuedRuns, 40_000} {
		change, err = create(queued, &runs.CreateRun{Key: "k"})
		require.Equal(t, api.CodeQueueFull, refusal.CodeOf(err))
		require.True(t, change.Empty(), "a refused run leaves no record of its key")
		_, err = create(queued, &runs.CreateRun{Inline: true})
		require.Equal(t, api.CodeSessionBusy, refusal.CodeOf(err))
		_, err = create(queued, &runs.CreateRun{Claim: &api.ClaimOptions{WorkerID: "w"}})
		require.Equal(t, api.CodeRunNotClaimable, refusal.CodeOf(err))
	}
}

func TestLongQueueEndsInParts(t *testing.T) {
	h := parallelHouse(t).wait("r", approval("a"))
	const queued = 3*runs.DrainChunk + 7
	h.fill(queued)
	reply, change := h.decided(&runs.EndSession{SessionID: "s", Reason: "closing time"})
	require.NotZero(t, reply.Session.EndedAtMs)
	require.LessOrEqual(t, len(change.UpdatedRuns), runs.DrainChunk+2)
	require.Equal(t, api.StatusCancelled, h.run("r").Status)
	require.Len(t, change.NewEffects, 1)
	effect := change.NewEffects[0]
	require.Equal(t, api.EffectDrainSession, effect.Kind)
	require.LessOrEqual(t, len(effect.EffectID), api.MaxIDLength)

	// The remaining runs do not start, and no new run is accepted.
	for _, run := range h.states["s"].Runs {
		require.Zero(t, run.ClaimableAtMs)
	}
	left := h.countStatus(api.StatusQueued)
	require.Equal(t, queued+1-runs.DrainChunk, left)
	h.refused(api.CodeSessionEnded, &runs.CreateRun{SessionID: "s", SessionGiven: true, Input: api.JSON(`1`)})
	h.refused(api.CodeRunNotClaimable, &runs.ClaimRun{RunID: "queued-0300", WorkerID: "w"})
	_, again := h.decided(&runs.EndSession{SessionID: "s"})
	require.True(t, again.Empty(), "ending again has no more effects")

	// The process may die after any part, and two processes may carry out the effect at once.
	parts := 0
	for more := true; more; parts++ {
		reply, change := h.decided(commandOf(effect))
		require.LessOrEqual(t, len(change.UpdatedRuns), runs.DrainChunk)
		more = reply.More
		require.Equal(t, h.countStatus(api.StatusQueued) > 0, more)
	}
	require.Equal(t, 3, parts)
	require.Zero(t, h.states["s"].Session.QueuedCount)
	require.Equal(t, "closing time", h.run("queued-0306").Error)
	_, change = h.decided(commandOf(effect))
	require.True(t, change.Empty(), "a late part changes nothing")
	require.Equal(t, 0, h.countStatus(api.StatusQueued))
}

// All parts of an end or an interrupt record who asked for it, and for whom.
func TestAllPartsRecordWhoEndedTheSession(t *testing.T) {
	t.Parallel()
	ann := runs.Actor{Name: "ann", ViaPrincipal: "gateway"}
	settledBy := func(t *testing.T, change runs.Change, via string) (settled int) {
		t.Helper()
		for _, event := range change.Events {
			require.Equal(t, "ann", event.Actor, "%s of %s", event.Type, event.RunID)
		}
		for _, request := range change.SettledRequests {
			recorded := request.Recorded()
			require.Equal(t, "ann", recorded.ResolvedBy)
			require.Equal(t, "gateway", recorded.ViaPrincipal)
			require.Equal(t, via, recorded.Via)
		}
		return len(change.SettledRequests)
	}
	for name, test := range map[string]struct {
		command runs.Command
		via     string
	}{
		"end":       {&runs.EndSession{SessionID: "s", Actor: ann}, api.ViaEnd},
		"interrupt": {&runs.InterruptSession{SessionID: "s", Actor: ann}, api.ViaInterrupt},
	} {
		inHouse(t, name, func(t *testing.T, h *house) {
			h.wait("r", approval("a"))
			h.clarify(runs.DrainChunk)
			h.must(&runs.CreateRun{
				SessionID: "s", SessionGiven: true, RunID: "call", Kind: api.KindCall, Input: api.JSON(`1`),
				Suspend: &api.Suspension{Approvals: []api.ApprovalRequest{approval("a")}},
			})
			h.create("queued")
			_, change := h.decided(test.command)
			settled := settledBy(t, change, test.via)
			require.Equal(t, api.StatusWaitingForApproval, h.run("call").Status)
			drain := slices.IndexFunc(change.NewEffects, func(e *model.Effect) bool { return e.Kind == api.EffectDrainSession })
			_, change = h.decided(commandOf(change.NewEffects[drain]))
			require.Equal(t, runs.DrainChunk+2, settled+settledBy(t, change, test.via))
		})
	}
}

// The head of the queue may be claimed, so it ends at once.
func TestHeadOfTheQueueEndsAtOnceBehindManyClarifications(t *testing.T) {
	h := parallelHouse(t)
	h.must(&runs.CreateSession{SessionID: "s"})
	h.clarify(runs.DrainChunk + 5)
	h.create("head")
	h.create("next")
	require.NotZero(t, h.run("head").ClaimableAtMs)
	h.must(&runs.EndSession{SessionID: "s"})
	require.Equal(t, api.StatusCancelled, h.run("head").Status)
	require.Equal(t, api.StatusQueued, h.run("next").Status)
	require.Zero(t, h.run("next").ClaimableAtMs)
	h.carryOutDrains()
	require.Equal(t, api.StatusCancelled, h.run("next").Status)
	require.Zero(t, h.countStatus(api.StatusWaitingForUserQuestion))
}

func TestManyClarificationsAreInterruptedInParts(t *testing.T) {
	h := parallelHouse(t).wait("r", approval("a"))
	h.clarify(2*runs.DrainChunk + 1)
	h.create("queued")
	reply, change := h.decided(&runs.InterruptSession{SessionID: "s", Reason: "stop"})
	require.True(t, reply.Interrupted)
	require.LessOrEqual(t, len(change.UpdatedRuns), runs.DrainChunk+2)
	require.Equal(t, api.StatusInterrupted, h.run("r").Status)
	require.NotZero(t, h.run("queued").ClaimableAtMs)
	// This one was created after the interrupt and is not affected.
	h.must(clarification("late"))
	h.carryOutDrains()
	require.Equal(t, api.StatusWaitingForUserQuestion, h.run("late").Status)
	require.Equal(t, 1, h.countStatus(api.StatusWaitingForUserQuestion))
	require.Equal(t, 2*runs.DrainChunk+1, h.countStatus(api.StatusCompleted))
	require.Equal(t, api.StatusQueued, h.run("queued").Status)
}

func clarification(runID string) *runs.OpenClarification {
	return &runs.OpenClarification{
		SessionID: "s", RunID: runID, Request: question("q-" + runID),
		Requester: api.Requester{RequesterSessionID: "elsewhere", RequesterRunID: "asking"},
	}
}

func (h *house) clarify(n int) {
	h.t.Helper()
	for i := range n {
		h.unexamined = i < n-1
		h.must(clarification(fmt.Sprintf("clarification-%04d", i)))
	}
}

// carryOutDrains carries out the pending drain effects of session s.
func (h *house) carryOutDrains() {
	h.t.Helper()
	for _, effect := range h.dueEffects() {
		if effect.Kind != api.EffectDrainSession {
			continue
		}
		claimed := h.must(&runs.ClaimEffect{SessionID: effect.SessionID, EffectID: effect.EffectID}).Effect
		for more := true; more; {
			more = h.must(commandOf(claimed)).More
		}
		done := h.must(&runs.FinishEffect{SessionID: effect.SessionID, EffectID: effect.EffectID, Attempt: claimed.Attempts}).Effect
		require.Equal(h.t, api.EffectDone, done.State)
	}
}

// The service carries out the effect of an interrupt, so an agent's interrupt ends nothing that it cannot
// check: another principal's call may be among the calls that are not loaded.
func TestAnAgentDoesNotInterruptMoreThanItsOwn(t *testing.T) {
	t.Parallel()
	caller := &auth.Identity{Principal: "agent:a", Role: api.RoleAgent, Via: auth.ViaToken}
	interrupt := &runs.Call{Command: &runs.InterruptSession{SessionID: "s"}, Caller: caller}
	h := newHouse(t)
	call := func(runID, principal string) {
		h.must(&runs.CreateRun{
			SessionID: "s", SessionGiven: true, RunID: runID, Kind: api.KindCall, Principal: principal, Input: api.JSON(`1`),
			Suspend: &api.Suspension{Approvals: []api.ApprovalRequest{approval("a")}},
		})
	}
	for i := range runs.DrainChunk + 1 {
		call(fmt.Sprintf("own-%03d", i), "agent:a")
	}
	call("others", "agent:b")
	problem := h.refused(api.CodeForbidden, interrupt)
	require.Contains(t, problem.Detail, "cancel its runs one by one")
	require.Equal(t, api.StatusWaitingForApproval, h.run("others").Status)

	for _, runID := range []string{"own-000", "own-001"} {
		h.must(&runs.Call{Command: &runs.CancelRun{RunID: runID}, Caller: caller})
	}
	problem = h.refused(api.CodeForbidden, interrupt)
	require.Contains(t, problem.Detail, "only what it made")
	h.must(&runs.CancelRun{RunID: "others"})
	require.True(t, h.must(interrupt).Interrupted)
	require.Empty(t, h.dueEffects())

	// The limit of bytes leaves calls out, too.
	state := runs.NewState("s")
	state.Session = &model.Session{SessionID: "s", AgentID: "a", Principal: "agent:a", LastEventID: 2}
	for i, runID := range []string{"loaded", "left-out"} {
		state.Runs[runID] = &model.Run{
			RunID: runID, SessionID: "s", Kind: api.KindCall, Status: api.StatusWaitingForApproval, Principal: "agent:a", FirstEventID: int64(i + 1),
		}
	}
	state.LeftOut["left-out"] = true
	require.NoError(t, runs.Prepare(interrupt, h.newID))
	_, _, err := runs.Decide(state, interrupt, startMs)
	requireCode(t, api.CodeForbidden, err)
}

// An earlier command of the batch may have ended loaded runs, so their number does not say what is left.
func TestADrainGoesOnAfterTheLastLoadedRun(t *testing.T) {
	t.Parallel()
	state := runs.NewState("s")
	state.Session = &model.Session{SessionID: "s", AgentID: "a", Principal: "agent:a", LastEventID: 9}
	ended := &model.Run{RunID: "ended", SessionID: "s", Kind: api.KindCall, Status: api.StatusCancelled, Principal: "agent:a", FirstEventID: 5}
	state.Runs["ended"] = ended
	decide := func(command runs.Command) ([]*model.Effect, error) {
		require.NoError(t, runs.Prepare(command, newHouse(t).newID))
		change, _, err := runs.Decide(state, command, startMs)
		return change.NewEffects, err
	}
	for _, one := range []struct {
		kind    api.RunKind
		command runs.Command
	}{
		{"", &runs.EndSession{SessionID: "s"}},
		{api.KindCall, &runs.InterruptSession{SessionID: "s"}},
		{api.KindParentClarification, &runs.InterruptSession{SessionID: "s"}},
	} {
		state.Cut = nil
		effects, err := decide(one.command)
		require.NoError(t, err)
		require.Empty(t, effects)
		state.Cut = map[api.RunKind]*model.Run{one.kind: ended}
		effects, err = decide(one.command)
		require.NoError(t, err)
		require.Len(t, effects, 1)
		require.Equal(t, "ended", effects[0].RunID)
	}
	_, err := decide(&runs.Call{Command: &runs.InterruptSession{SessionID: "s"}, Caller: &auth.Identity{Principal: "agent:a", Role: api.RoleAgent, Via: auth.ViaToken}})
	requireCode(t, api.CodeForbidden, err)
}
