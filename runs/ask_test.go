package runs_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// A run that does not park continues under its lease, and its question appears in the
// parent's session at once.
func TestAskWithoutParking(t *testing.T) {
	h := parallelHouse(t).family()
	before := *h.run("r")
	h.nowMs += 10
	reply := h.must(ask("q"))
	require.False(t, reply.Existing)
	require.Equal(t, &api.WaitingOn{SessionID: "p", RunID: reply.Clarification.RunID, RequestID: "q"}, reply.Clarification)

	run := h.run("r")
	require.Equal(t, api.StatusRunning, run.Status)
	require.Equal(t, before.LeaseExpiresAtMs, run.LeaseExpiresAtMs)
	require.Equal(t, before.ClaimableAtMs, run.ClaimableAtMs)
	require.Equal(t, before.Attempt, run.Attempt)
	require.Zero(t, run.StalledAttempts, "a question is progress")
	require.Empty(t, run.SuspensionID)
	require.Nil(t, reply.Run.View().WaitingOn)
	require.Empty(t, reply.Run.View().PendingQuestionIDs)

	request := h.request("r", "q")
	require.Equal(t, model.KindClarification, request.Kind)
	require.True(t, request.Open())
	require.Zero(t, request.DueAtMs)
	clarification := request.Clarification()
	require.False(t, clarification.Parked)
	require.Equal(t, *reply.Clarification, clarification.WaitingOn)
	require.Empty(t, clarification.Request.Handle, "the handle of the parent's request counts")
	require.NotEmpty(t, request.Handle)
	require.Equal(t, []api.EventType{"accepted", "queued", "started", "parent_clarification_requested"}, h.eventTypes("r"))
	require.JSONEq(t, `{"type":"parent_clarification_requested","request_id":"q","parked":false,
		"waiting_on":{"session_id":"p","run_id":"`+reply.Clarification.RunID+`","request_id":"q"}}`,
		h.lastEvent("r", api.EventParentClarificationRequested))

	effectID := "open_clarification:" + reply.Clarification.RunID
	require.Equal(t, []string{effectID}, h.effectIDs("s"))
	effect := h.effect(effectID)
	require.Equal(t, model.Effect{
		SessionID: "s", EffectID: effectID, RunID: "r", Kind: api.EffectOpenClarification, State: api.EffectPending,
		TargetSessionID: "p", Payload: effect.Payload, CreatedAtMs: h.nowMs, DueAtMs: h.nowMs,
	}, *effect)
	require.Empty(t, h.states["p"].Runs, "the parent's session is changed by the effect alone")
	h.must(&runs.Heartbeat{RunID: "r", Fence: 1})
}

// A parked run waits without open requests of its own, and names the question it waits for.
func TestAskAndPark(t *testing.T) {
	h := parallelHouse(t).family()
	command := park("q")
	command.Checkpoint = api.JSON(`{"step":1}`)
	reply := h.must(command)
	run := h.run("r")
	require.Equal(t, api.StatusWaitingForUserQuestion, run.Status)
	require.Equal(t, model.LeaseSuspended, run.LeaseEnd)
	require.Zero(t, run.LeaseExpiresAtMs)
	require.Zero(t, run.ClaimableAtMs)
	require.Equal(t, `{"step":1}`, string(run.Checkpoint))
	require.Equal(t, "r", h.states["s"].Session.ActiveRunID, "it keeps its slot")
	view := reply.Run.View()
	require.Equal(t, reply.Clarification, view.WaitingOn)
	require.Empty(t, view.PendingQuestionIDs)
	require.Empty(t, view.PendingQuestions)
	require.Nil(t, view.Lease)
	require.Equal(t, []api.EventType{
		"accepted", "queued", "started", "parent_clarification_requested", "waiting_for_user_question",
	}, h.eventTypes("r"))
	require.JSONEq(t, `{"type":"waiting_for_user_question","request_ids":[],"requests":[],
		"waiting_on":{"session_id":"p","run_id":"`+reply.Clarification.RunID+`","request_id":"q"}}`,
		h.lastEvent("r", api.EventWaitingForUserQuestion))
	h.refused(api.CodeLeaseLost, &runs.Heartbeat{RunID: "r", Fence: 1})
	h.refused(api.CodeRunNotClaimable, &runs.ClaimRun{RunID: "r", WorkerID: "w"})

	record := model.SessionRecord{Session: *h.states["s"].Session, Active: h.record("r")}
	require.Zero(t, record.View().PendingCount, "what it waits for is shown in the parent's session")
	require.Equal(t, api.StatusWaitingForUserQuestion, record.View().Status)
}

// An attached run can park: its prompts stay open, and it waits for all of them.
func TestParkWhileAttached(t *testing.T) {
	h := parallelHouse(t).family()
	h.must(hold("r", 1, approval("a"), approval("b")))
	h.must(allow("r", "b"))
	reply := h.must(park("q"))
	require.Equal(t, api.StatusWaitingForUserQuestion, reply.Run.Run.Status)
	require.False(t, reply.Run.Run.Attached)
	require.Equal(t, []string{"a"}, reply.Run.View().PendingApprovalIDs)
	require.Equal(t, reply.Clarification, reply.Run.View().WaitingOn)
	h.carryOut()

	h.must(answer(reply.Clarification.RunID, "q", "north"))
	h.carryOut()
	require.Equal(t, api.StatusWaitingForApproval, h.run("r").Status, "the approval is still open")
	h.must(deny("r", "a"))
	claim := h.must(&runs.ClaimRun{RunID: "r", WorkerID: "w"}).Claim
	require.Len(t, claim.Resume.Approvals, 2, "nothing is lost that no checkpoint has taken in")
	require.Equal(t, "q", claim.Resume.Clarification.RequestID)

	// A checkpoint does not acknowledge resolutions that the worker may not have read.
	h = newHouse(t).family()
	h.must(hold("r", 1, approval("a")))
	h.must(allow("r", "a"))
	command := park("q")
	command.Checkpoint = api.JSON(`1`)
	clarification := h.asked(command)
	h.must(answer(clarification, "q", "north"))
	h.carryOut()
	claim = h.must(&runs.ClaimRun{RunID: "r", WorkerID: "w"}).Claim
	require.Len(t, claim.Resume.Approvals, 1)
	require.NotNil(t, claim.Resume.Clarification)
}

// A repeated call is recognized regardless of the lease and the question's state. The first
// deadline counts.
func TestAskAgain(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]func() *runs.AskClarification{
		"parked":   func() *runs.AskClarification { return park("q") },
		"unparked": func() *runs.AskClarification { return ask("q") },
	} {
		inHouse(t, name, func(t *testing.T, h *house) {
			h.family()
			lasting := func() *runs.AskClarification {
				command := command()
				command.Request.ExpiresAfterMs = ms(60_000)
				command.RequesterProjectIDs = []string{"p1"}
				return command
			}
			first := h.must(lasting())
			opens := commandOf(first.Effect).(*runs.OpenClarification)
			require.Equal(t, int64(startMs+60_000), *opens.Request.ExpiresAtMs)
			require.Nil(t, opens.Request.ExpiresAfterMs)
			h.nowMs += 1_000
			again := h.requireUnchanged(lasting())
			require.Equal(t, first.Clarification, again.Clarification)
			require.Equal(t, first.Run.Run.RunID, again.Run.Run.RunID)
			requireSame(t, commandOf(first.Effect), commandOf(again.Effect), "the second call would open another clarification")
			require.NoError(t, runs.Prepare(commandOf(again.Effect), h.newID))
			require.NotNil(t, h.must(commandOf(first.Effect)).Run)
			h.requireUnchanged(commandOf(again.Effect))
			h.carryOut()
			require.Len(t, h.states["p"].Runs, 1)

			// Even if the answer has arrived, and even if another worker has claimed the run.
			h.must(answer(first.Clarification.RunID, "q", "north"))
			h.carryOut()
			require.Equal(t, first.Clarification, h.requireUnchanged(lasting()).Clarification)
			h.nowMs += api.DefaultLeaseMs
			h.claim("r")
			h.refused(api.CodeLeaseLost, lasting())
			other := lasting()
			other.Fence = 2
			require.Equal(t, first.Clarification, h.requireUnchanged(other).Clarification)
		})
	}
}

// A request id is unique within a run, and among the clarifications of a session: the
// message with the answer is named after it.
func TestClarificationIDsAreUsedOnce(t *testing.T) {
	t.Parallel()
	otherwise := func(change func(*runs.AskClarification)) *runs.AskClarification {
		command := ask("q")
		change(command)
		return command
	}
	for name, command := range map[string]*runs.AskClarification{
		"parked":            park("q"),
		"another question":  otherwise(func(c *runs.AskClarification) { c.Request.Questions[0].Question = "Which way?" }),
		"a deadline":        otherwise(func(c *runs.AskClarification) { c.Request.ExpiresAfterMs = ms(5) }),
		"another context":   otherwise(func(c *runs.AskClarification) { c.ParentChannelIDs = []string{"c"} }),
		"metadata":          otherwise(func(c *runs.AskClarification) { c.Request.Metadata = api.JSON(`{"a":1}`) }),
		"a tool call":       otherwise(func(c *runs.AskClarification) { c.Request.ToolCallID = "other" }),
		"its own approval":  ask("a"),
		"its own question":  ask("mine"),
		"a settled request": ask("done"),
	} {
		inHouse(t, name, func(t *testing.T, h *house) {
			h.family()
			h.must(hold("r", 1, approval("a"), approval("done"), question("mine")))
			h.must(allow("r", "done"))
			h.must(&runs.Heartbeat{RunID: "r", Fence: 1, Checkpoint: api.JSON(`1`)})
			h.must(ask("q"))
			refused := h.refused(api.CodeIDConflict, command)
			require.Equal(t, "request "+command.Request.ID+" was used before by run r with another payload", refused.Detail)
		})
	}

	h := newHouse(t)
	h.unparked()
	h.refused(api.CodeIDConflict, suspend("r", 1, approval("q")))
	h.must(&runs.Complete{RunID: "r", Fence: 1})
	h.start("next")
	same := ask("q")
	same.RunID = "next"
	refused := h.refused(api.CodeIDConflict, same)
	require.Equal(t, "request q was used before by run r with another payload", refused.Detail)
	// Questions that other runs ask in their own session do not conflict.
	h.must(suspend("next", 1, question("own")))
	h.must(answer("next", "own", "north"))
	h.claim("next")
	h.must(&runs.Complete{RunID: "next", Fence: 2})
	h.start("last")
	own := ask("own")
	own.RunID = "last"
	h.must(own)
}

func TestWhoMayAsk(t *testing.T) {
	h := parallelHouse(t).family()
	unknown := ask("q")
	unknown.RunID = "x"
	h.refused(api.CodeRunNotFound, unknown)
	for _, fence := range []int64{0, 2} {
		stale := ask("q")
		stale.Fence = fence
		h.refused(api.CodeLeaseLost, stale)
	}
	// A lapsed lease that no other worker has claimed still works.
	h.nowMs += 2 * api.DefaultLeaseMs
	h.must(ask("q"))

	for name, test := range map[string]struct {
		end  runs.Command
		code api.Code
	}{
		"released":    {&runs.Release{RunID: "r", Fence: 1}, api.CodeLeaseLost},
		"suspended":   {suspend("r", 1, approval("a")), api.CodeLeaseLost},
		"completed":   {&runs.Complete{RunID: "r", Fence: 1}, api.CodeRunStateConflict},
		"failed":      {&runs.Fail{RunID: "r", Fence: 1, Error: "e"}, api.CodeRunStateConflict},
		"cancelled":   {&runs.CancelRun{RunID: "r"}, api.CodeLeaseLost},
		"interrupted": {&runs.InterruptSession{SessionID: "s"}, api.CodeLeaseLost},
		"ended":       {&runs.EndSession{SessionID: "s"}, api.CodeLeaseLost},
	} {
		inHouse(t, name, func(t *testing.T, h *house) {
			h.unparked()
			h.must(test.end)
			h.refused(test.code, ask("new"))
			if model.Terminal(h.run("r").Status) {
				h.refused(test.code, ask("q"))
			}
		})
	}

	h = newHouse(t).start("r")
	refused := h.refused(api.CodeNoParentSession, ask("q"))
	require.Equal(t, "session s has no parent session", refused.Detail)

	// A refusal by the parent's session applies only to new questions.
	h = newHouse(t)
	h.unparked()
	ended := func(id string) *runs.AskClarification {
		command := ask(id)
		command.ParentRefusal = refusal.New(api.CodeSessionEnded, "the parent session p has ended")
		return command
	}
	h.refused(api.CodeSessionEnded, ended("new"))
	h.requireUnchanged(ended("q"))
}

func TestAskLimits(t *testing.T) {
	h := parallelHouse(t).family()
	tooMany := slices.Repeat([]string{"id"}, api.MaxContextIDs+1)
	for _, test := range []struct {
		name     string
		pointers []string
		change   func(*runs.AskClarification)
	}{
		{"an id whose message id is too long", []string{"/request/id"}, func(c *runs.AskClarification) { c.Request.ID = strings.Repeat("q", 173) }},
		{"no id", []string{"/request/id", "/request/id"}, func(c *runs.AskClarification) { c.Request.ID, c.Request.ToolCallID = "", "" }},
		{"nothing asked", []string{"/request/questions"}, func(c *runs.AskClarification) { c.Request.Questions = nil }},
		{"both deadlines", []string{"/request/expires_after_ms"}, func(c *runs.AskClarification) { c.Request.ExpiresAtMs, c.Request.ExpiresAfterMs = ms(1), ms(1) }},
		{"a checkpoint without parking", []string{"/checkpoint"}, func(c *runs.AskClarification) { c.Checkpoint = api.JSON(`1`) }},
		{
			"too many ids",
			[]string{"/requester_project_ids", "/requester_channel_ids", "/parent_project_ids", "/parent_channel_ids"},
			func(c *runs.AskClarification) {
				c.RequesterProjectIDs, c.RequesterChannelIDs, c.ParentProjectIDs, c.ParentChannelIDs = tooMany, tooMany, tooMany, tooMany
			},
		},
		{
			"ids that are none",
			[]string{"/requester_project_ids/1", "/parent_channel_ids/0"},
			func(c *runs.AskClarification) {
				c.RequesterProjectIDs, c.ParentChannelIDs = []string{"ok", ""}, []string{strings.Repeat("x", api.MaxNameLength+1)}
			},
		},
	} {
		command := ask("q")
		test.change(command)
		got := pointersOf(h.refused(api.CodeInvalidRequest, command))
		if test.name == "no id" {
			require.Contains(t, got, "/request/id", test.name)
			continue
		}
		require.Equal(t, test.pointers, got, test.name)
	}
	longest := ask(strings.Repeat("q", 172))
	longest.RequesterProjectIDs = tooMany[1:]
	h.must(longest)
	require.Len(t, model.MessageIDOf(longest.Request.ID), api.MaxIDLength)
	null := ask("null")
	null.Checkpoint = api.JSON(`null`)
	h.must(null)
}

func TestTooManyOpenClarifications(t *testing.T) {
	h := parallelHouse(t).family()
	state := copyState(h.states["s"])
	decide := func(id string) (runs.Change, error) {
		command := ask(id)
		require.NoError(t, runs.Prepare(command, h.newID))
		change, _, err := runs.Decide(state, command, h.nowMs)
		return change, err
	}
	change, err := decide("q")
	require.NoError(t, err)
	require.Len(t, change.NewRequests, 1)
	state.Apply(change)
	for _, id := range numbered("q-%d", api.MaxOpenRequests-2) {
		other := *change.NewRequests[0]
		other.RequestID = id
		state.Requests[runs.RequestKey{RunID: other.RunID, RequestID: id}] = &other
	}
	change, err = decide("last")
	require.NoError(t, err)
	state.Apply(change)
	_, err = decide("more")
	require.Equal(t, []string{"/request"}, pointersOf(requireCode(t, api.CodeInvalidRequest, err)))
}
