package runs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// inParent moves an answer from the run's route to the parent session's route.
func inParent(command *runs.AnswerQuestion) *runs.AnswerQuestion {
	command.SessionID, command.RunID = "p", ""
	return command
}

// Resolution, output, event, completion and effect are written by one decision.
func TestClarificationIsAnswered(t *testing.T) {
	h := parallelHouse(t)
	runID := h.parked()
	h.nowMs += 10
	reply, change := h.decided(answer(runID, "q", "south"))
	h.flush()
	require.Equal(t, api.StatusCompleted, reply.Run.Run.Status)
	require.False(t, reply.Existing)
	require.Equal(t, h.nowMs, reply.Run.Run.FinishedAtMs)
	require.Equal(t, []api.EventType{
		"accepted", "waiting_for_user_question", "output", "parent_clarification_resolved", "completed",
	}, h.eventTypes(runID))
	require.Equal(t, []string{"Forwarded parent clarification answer for q to agent scout."}, h.outputs(runID))
	require.JSONEq(t, `{"type":"parent_clarification_resolved","requester_agent_id":"scout","requester_session_id":"s","request_id":"q","declined":false,
		"resolution":{"request_id":"q","outcome":"answered","declined":false,"answers":[{"question_id":"route","selected_option_ids":["south"]}],
		"resolved_by":"api-user","resolved_at_ms":1000010,"via":"api"}}`,
		h.lastEvent(runID, api.EventParentClarificationResolved))
	require.Len(t, change.NewEffects, 1)
	effect := change.NewEffects[0]
	require.Equal(t, model.Effect{
		SessionID: "p", EffectID: "deliver_answer:" + runID, RunID: runID, Kind: api.EffectDeliverAnswer, State: api.EffectPending,
		TargetSessionID: "s", Payload: effect.Payload, CreatedAtMs: h.nowMs, DueAtMs: h.nowMs,
	}, *effect)
	require.True(t, h.request("r", "q").Open(), "the child's session is changed by the effect alone")
}

// The checks before the answer: docs/spec/v1.md#order-for-questions.
func TestClarificationAnswersAreChecked(t *testing.T) {
	t.Parallel()
	for name, route := range map[string]func(*runs.AnswerQuestion) *runs.AnswerQuestion{
		"run":     func(c *runs.AnswerQuestion) *runs.AnswerQuestion { return c },
		"session": inParent,
	} {
		inHouse(t, name, func(t *testing.T, h *house) {
			runID := h.parked()
			h.refused(api.CodeQuestionOptionNotFound, route(answer(runID, "q", "west")))
			h.refused(api.CodeQuestionAnswerEmpty, route(answer(runID, "q")))
			declined := decline(runID, "q")
			declined.Resolution.Answers = answer("", "", "north").Resolution.Answers
			h.refused(api.CodeQuestionDeclinedAnswers, route(declined))
			require.Equal(t, api.StatusWaitingForUserQuestion, h.run(runID).Status)
			mistyped := h.do2(route(answer(runID, "Q", "north")))
			if name == "run" {
				requireCode(t, api.CodeQuestionRequestMismatch, mistyped)
			} else {
				requireCode(t, api.CodeRunStateConflict, mistyped)
			}

			given := func() *runs.AnswerQuestion {
				command := answer(runID, "q", "north")
				command.Resolution.Justification = "the bridge is closed"
				return command
			}
			h.must(route(given()))
			// A retry with the same answer succeeds and writes nothing, on either route and for any
			// caller.
			again := given()
			again.Actor = runs.Actor{Name: "ann"}
			for _, command := range []*runs.AnswerQuestion{again, inParent(given())} {
				reply := h.requireUnchanged(command)
				require.Equal(t, api.StatusCompleted, reply.Run.Run.Status)
			}
			for _, other := range []*runs.AnswerQuestion{answer(runID, "q", "north"), answer(runID, "q", "south"), decline(runID, "q")} {
				refusal := h.refused(api.CodeQuestionResolutionConflict, route(other))
				require.Equal(t, "run "+runID+" was already resolved with a different answer", refusal.Detail)
				requireRecorded(t, refusal, "q", api.OutcomeAnswered, api.ViaAPI)
			}
		})
	}
}

// do2 runs a command and returns only its error.
func (h *house) do2(command runs.Command) error {
	h.t.Helper()
	_, err := h.do(command)
	return err
}

// The order of arrays counts. An absent member equals an empty one.
func TestEqualAnswers(t *testing.T) {
	h := parallelHouse(t).family()
	command := ask("q")
	command.Request = survey("q")
	runID := h.asked(command)
	given := func(many []string, order ...int) *runs.AnswerQuestion {
		all := []api.UserQuestionAnswer{chosen("one", "x"), chosen("many", many...), written("text", "t")}
		resolution := answers()
		for _, place := range order {
			resolution.Answers = append(resolution.Answers, all[place])
		}
		return &runs.AnswerQuestion{RunID: runID, Resolution: resolution}
	}
	h.must(given([]string{"z", "x"}, 0, 1, 2))
	same := given([]string{"z", "x"}, 0, 1, 2)
	same.Resolution.Answers[2].SelectedOptionIDs = []string{}
	h.requireUnchanged(same)
	h.refused(api.CodeQuestionResolutionConflict, given([]string{"x", "z"}, 0, 1, 2))
	h.refused(api.CodeQuestionResolutionConflict, given([]string{"z", "x"}, 1, 0, 2))
	valued := given([]string{"z", "x"}, 0, 1, 2)
	valued.Resolution.Value = api.JSON(`1`)
	h.refused(api.CodeQuestionResolutionConflict, valued)
	// An id other than the one of its only request is unknown. The error shows the recorded answer.
	unknown := h.refused(api.CodeQuestionResolutionConflict, answer(runID, "Q", "north"))
	requireRecorded(t, unknown, "q", api.OutcomeAnswered, api.ViaAPI)
}

// If a clarification ends without an answer in any way, the child gets a declined answer and
// the clarification's run completes.
func TestClarificationIsDeclined(t *testing.T) {
	t.Parallel()
	const dueMs = startMs + 500
	for _, test := range []struct {
		name          string
		command       func(runID string) runs.Command
		outcome       api.Outcome
		justification string
		reason, via   string
		by            string
	}{
		{"declined", func(runID string) runs.Command { return decline(runID, "q") }, api.OutcomeDeclined, "", "", api.ViaAPI, "api-user"},
		{
			"declined with a reason", func(runID string) runs.Command {
				command := decline(runID, "q")
				command.Resolution.Justification = "busy"
				return command
			}, api.OutcomeDeclined, "busy", "", api.ViaAPI, "api-user",
		},
		{
			"question cancelled", func(runID string) runs.Command { return &runs.CancelQuestion{RunID: runID, RequestID: "q"} },
			api.OutcomeCancelled, "cancelled by operator", "cancelled", api.ViaAPI, "api-user",
		},
		{
			"question cancelled with a reason", func(runID string) runs.Command {
				return &runs.CancelQuestion{RunID: runID, RequestID: "q", Justification: "moot", Actor: runs.Actor{Name: "ann"}}
			},
			api.OutcomeCancelled, "moot", "cancelled", api.ViaAPI, "ann",
		},
		{
			"run cancelled", func(runID string) runs.Command { return &runs.CancelRun{RunID: runID} },
			api.OutcomeCancelled, "cancelled by operator", "cancelled", api.ViaCancel, "api-user",
		},
		{
			"run cancelled with a reason", func(runID string) runs.Command { return &runs.CancelRun{RunID: runID, Reason: "moot"} },
			api.OutcomeCancelled, "moot", "cancelled", api.ViaCancel, "api-user",
		},
		{
			"interrupted", func(string) runs.Command { return &runs.InterruptSession{SessionID: "p"} },
			api.OutcomeDeclined, "interrupted by operator", "interrupted", api.ViaInterrupt, "api-user",
		},
		{
			"interrupted with a reason", func(string) runs.Command { return &runs.InterruptSession{SessionID: "p", Reason: "stop"} },
			api.OutcomeDeclined, "stop", "interrupted", api.ViaInterrupt, "api-user",
		},
		{
			"session ended", func(string) runs.Command { return &runs.EndSession{SessionID: "p"} },
			api.OutcomeDeclined, "the session has ended", "session_ended", api.ViaEnd, "api-user",
		},
		{
			"session ended with a reason", func(string) runs.Command { return &runs.EndSession{SessionID: "p", Reason: "closing"} },
			api.OutcomeDeclined, "closing", "session_ended", api.ViaEnd, "api-user",
		},
		{
			"expired", func(runID string) runs.Command { return &runs.ExpireRequests{RunID: runID} },
			api.OutcomeExpired, "expired at 1000500", "expired", api.ViaClock, "system",
		},
	} {
		inHouse(t, test.name, func(t *testing.T, h *house) {
			h.family()
			command := park("q")
			command.Request.ExpiresAtMs = ms(dueMs)
			runID := h.asked(command)
			h.nowMs = dueMs - 1
			h.must(&runs.ExpireRequests{RunID: runID})
			require.Equal(t, api.StatusWaitingForUserQuestion, h.run(runID).Status)
			if test.outcome == api.OutcomeExpired {
				h.nowMs = dueMs
			}
			h.must(test.command(runID))
			require.Equal(t, api.StatusCompleted, h.run(runID).Status)
			require.Empty(t, h.run(runID).Error)
			declined := true
			recorded := h.request(runID, "q").Recorded()
			require.Equal(t, api.Resolution{
				RequestID: "q", Outcome: test.outcome, Declined: &declined, Justification: test.justification, Reason: test.reason,
				ResolvedBy: test.by, ResolvedAtMs: h.nowMs, Via: test.via,
			}, recorded)
			require.Equal(t, []string{"Declined parent clarification request q for agent scout."}, h.outputs(runID))
			require.Contains(t, h.lastEvent(runID, api.EventParentClarificationResolved), `"declined":true`)
			require.Equal(t, []api.EventType{
				"accepted", "waiting_for_user_question", "output", "parent_clarification_resolved", "completed",
			}, h.eventTypes(runID))

			// The child continues with a declined answer, delivered later than it was recorded.
			h.nowMs += 100
			require.Equal(t, 1, h.carryOut())
			require.Equal(t, recorded, h.request("r", "q").Recorded())
			require.Equal(t, test.outcome, h.request("r", "q").Outcome)
			require.Equal(t, h.nowMs, h.request("r", "q").SettledAtMs)
			justification := "null"
			if test.justification != "" {
				justification = `"` + test.justification + `"`
			}
			claim := h.must(&runs.ClaimRun{RunID: "r", WorkerID: "w"}).Claim
			requireJSON(t, `{"request_id":"q","declined":true,"summary":"","answers":[],"justification":`+justification+`}`, claim.Resume.Clarification)

			// A late answer's error shows the decision; an equal answer is accepted.
			code := api.CodeQuestionResolutionConflict
			if test.outcome == api.OutcomeExpired {
				code = api.CodeQuestionExpired
			}
			for _, late := range []*runs.AnswerQuestion{answer(runID, "q", "north"), inParent(answer("", "q", "north"))} {
				requireRecorded(t, h.refused(code, late), "q", test.outcome, test.via)
			}
			equal := decline(runID, "q")
			equal.Resolution.Justification = test.justification
			if test.outcome == api.OutcomeExpired {
				h.refused(api.CodeQuestionExpired, equal)
			} else {
				h.requireUnchanged(equal)
			}
			code = api.CodeQuestionStateConflict
			if test.outcome == api.OutcomeExpired {
				code = api.CodeQuestionExpired
			}
			requireRecorded(t, h.refused(code, &runs.CancelQuestion{RunID: runID, RequestID: "q"}), "q", test.outcome, test.via)
			require.True(t, h.must(&runs.CancelRun{RunID: runID}).Existing)
		})
	}
}

// After the deadline every command finds the question expired, whether the sweep has run or
// not.
func TestLateClarificationAnswer(t *testing.T) {
	t.Parallel()
	const dueMs = startMs + 50
	for name, late := range map[string]struct {
		command func(runID string) runs.Command
		code    api.Code
	}{
		"an answer":         {func(runID string) runs.Command { return answer(runID, "q", "north") }, api.CodeQuestionExpired},
		"a session answer":  {func(string) runs.Command { return inParent(answer("", "q", "north")) }, api.CodeQuestionExpired},
		"a decline":         {func(runID string) runs.Command { return decline(runID, "q") }, api.CodeQuestionExpired},
		"a question cancel": {func(runID string) runs.Command { return &runs.CancelQuestion{RunID: runID, RequestID: "q"} }, api.CodeQuestionExpired},
		"a cancel":          {func(runID string) runs.Command { return &runs.CancelRun{RunID: runID} }, ""},
		"an interrupt":      {func(string) runs.Command { return &runs.InterruptSession{SessionID: "p"} }, ""},
		"the end":           {func(string) runs.Command { return &runs.EndSession{SessionID: "p"} }, ""},
	} {
		inHouse(t, name, func(t *testing.T, h *house) {
			h.family()
			command := ask("q")
			command.Request.ExpiresAtMs = ms(dueMs)
			runID := h.asked(command)
			h.nowMs = dueMs
			reply, err := h.do(late.command(runID))
			require.Equal(t, late.code, refusal.CodeOf(err), "%v", err)
			require.False(t, reply.Interrupted)
			if late.code != "" {
				refusal := requireCode(t, late.code, err)
				require.Equal(t, "user-question request q expired at 1000050", refusal.Detail)
				requireRecorded(t, refusal, "q", api.OutcomeExpired, api.ViaClock)
			}
			require.Equal(t, api.StatusCompleted, h.run(runID).Status)
			require.Equal(t, api.OutcomeExpired, h.request(runID, "q").Outcome)
			require.Equal(t, api.StatusRunning, h.run("r").Status)
		})
	}

	// The deadline was already past when the run was created.
	h := newHouse(t).family()
	command := ask("q")
	command.Request.ExpiresAtMs = ms(1)
	runID := h.asked(command)
	require.Equal(t, api.StatusCompleted, h.run(runID).Status)
	require.Equal(t, api.EffectDone, h.effect("deliver_answer:"+runID).State)
}

// On the session's route the active run's open question comes first, then the clarification
// with that id. The error shows a decision for a known id, and none for an unknown one.
func TestSessionRouteOfClarifications(t *testing.T) {
	t.Parallel()
	waiting := func(t *testing.T, requests ...any) (*house, string) {
		h := newHouse(t)
		runID := h.unparked()
		h.must(&runs.CreateRun{SessionID: "p", SessionGiven: true, RunID: "active", Input: api.JSON(`1`), Claim: &api.ClaimOptions{WorkerID: "w"}})
		if len(requests) > 0 {
			h.must(suspend("active", 1, requests...))
		}
		return h, runID
	}
	h, runID := waiting(t, question("q"))
	require.Equal(t, "active", h.must(inParent(answer("", "q", "north"))).Run.Run.RunID)
	require.Equal(t, runID, h.must(inParent(answer("", "q", "south"))).Run.Run.RunID)

	h, runID = waiting(t, question("other"), approval("a"))
	require.Equal(t, runID, h.must(inParent(answer("", "q", "south"))).Run.Run.RunID)
	// A retry finds it too, whatever the active run waits for.
	require.Equal(t, runID, h.requireUnchanged(inParent(answer("", "q", "south"))).Run.Run.RunID)
	requireRecorded(t, h.refused(api.CodeQuestionResolutionConflict, inParent(answer("", "q", "north"))), "q", api.OutcomeAnswered, api.ViaAPI)
	h.refused(api.CodeQuestionRequestMismatch, inParent(answer("", "unknown", "north")))

	h, _ = waiting(t, approval("q"))
	require.NotEqual(t, "active", h.must(inParent(answer("", "q", "north"))).Run.Run.RunID, "an approval is not a question")
	refusal := h.refused(api.CodeRunStateConflict, inParent(answer("", "unknown", "north")))
	require.Equal(t, "session p has no run that waits for an answer", refusal.Detail)

	h = newHouse(t)
	h.unparked()
	refusal = h.refused(api.CodeRunStateConflict, inParent(answer("", "unknown", "north")))
	require.Equal(t, "session p has no active run", refusal.Detail)
	// Nobody can answer the same id in the child's session.
	refusal = h.refused(api.CodeRunStateConflict, answerInSession(answer("", "q", "north")))
	require.Equal(t, "session s has no run that waits for an answer", refusal.Detail)
	refusal = h.refused(api.CodeQuestionStateConflict, answer("r", "q", "north"))
	require.Equal(t, "run r is not waiting for user input", refusal.Detail)
	h.refused(api.CodeQuestionStateConflict, &runs.CancelQuestion{RunID: "r", RequestID: "q"})
	h.refused(api.CodeApprovalStateConflict, allow("r", "q"))
}

// Idempotency keys work for clarifications as for questions.
func TestClarificationAnswerWithKey(t *testing.T) {
	h := parallelHouse(t)
	runID := h.unparked()
	keyed := func(command *runs.AnswerQuestion) *runs.AnswerQuestion { command.Key = "k"; return command }
	require.False(t, h.must(keyed(answer(runID, "q", "north"))).Replayed)
	reply := h.must(keyed(answer(runID, "q", "north")))
	require.True(t, reply.Replayed)
	require.Equal(t, runID, reply.ReplayRunID)
	require.True(t, h.must(keyed(inParent(answer("", "q", "north")))).Replayed)
	h.refused(api.CodeIdempotencyConflict, keyed(answer(runID, "q", "south")))
}

// Interrupting a session declines its open clarifications, with or without an active run.
func TestInterruptWithClarifications(t *testing.T) {
	t.Parallel()
	for _, active := range []bool{false, true} {
		for _, clarification := range []bool{false, true} {
			h := newHouse(t).family()
			runID, other := "", ""
			if clarification {
				runID, other = h.asked(ask("q")), h.asked(ask("q-2"))
			}
			if active {
				h.must(&runs.CreateRun{SessionID: "p", SessionGiven: true, RunID: "active", Input: api.JSON(`1`), Claim: &api.ClaimOptions{WorkerID: "w"}})
			}
			h.must(&runs.CreateRun{SessionID: "p", SessionGiven: true, RunID: "queued", Input: api.JSON(`1`)})
			reply := h.must(&runs.InterruptSession{SessionID: "p"})
			require.Equal(t, active || clarification, reply.Interrupted)
			if clarification {
				require.Equal(t, api.StatusCompleted, h.run(runID).Status)
				require.Equal(t, api.StatusCompleted, h.run(other).Status)
			}
			if active {
				require.Equal(t, api.StatusInterrupted, h.run("active").Status)
			}
			require.Equal(t, api.StatusQueued, h.run("queued").Status)
			require.NotZero(t, h.run("queued").ClaimableAtMs)
			require.False(t, h.must(&runs.InterruptSession{SessionID: "p"}).Interrupted)
		}
	}
}

// Ending a session declines its open clarifications in the same decision.
func TestEndOfTheParent(t *testing.T) {
	h := parallelHouse(t)
	runID := h.parked()
	h.must(&runs.CreateRun{SessionID: "p", SessionGiven: true, RunID: "active", Input: api.JSON(`1`), Claim: &api.ClaimOptions{WorkerID: "w"}})
	h.must(&runs.CreateRun{SessionID: "p", SessionGiven: true, RunID: "queued", Input: api.JSON(`1`)})
	h.must(&runs.EndSession{SessionID: "p"})
	require.Equal(t, api.StatusCompleted, h.run(runID).Status)
	require.Equal(t, api.StatusCancelled, h.run("active").Status)
	require.Equal(t, api.StatusCancelled, h.run("queued").Status)
	h.carryOut()
	require.Equal(t, api.StatusRunning, h.run("r").Status)
}
