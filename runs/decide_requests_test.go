package runs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
)

var codex = runs.Actor{Name: "ann", Via: "codex"}

// several decides approvals and questions of run "r" together.
func several(items ...any) *runs.DecideRequests {
	command := &runs.DecideRequests{RunID: "r", Actor: codex}
	for _, item := range items {
		switch item := item.(type) {
		case runs.ApprovalDecision:
			command.Approvals = append(command.Approvals, item)
		case runs.QuestionAnswer:
			command.Answers = append(command.Answers, item)
		default:
			panic("neither a decision nor an answer")
		}
	}
	return command
}

func yes(id string) runs.ApprovalDecision {
	return runs.ApprovalDecision{RequestID: id, Behavior: api.BehaviorAllow}
}

func no(id string) runs.ApprovalDecision {
	return runs.ApprovalDecision{RequestID: id, Behavior: api.BehaviorDeny}
}

func north(id string) runs.QuestionAnswer {
	return answer("r", id, "north").Resolution
}

// cancelBy cancels run "r" by one of its requests, ignoring the other items.
func cancelBy(id, reason string, items ...any) *runs.DecideRequests {
	command := several(items...)
	command.CancelRequestID, command.CancelReason = id, reason
	return command
}

func TestDecideSeveralRequests(t *testing.T) {
	h := parallelHouse(t).wait("r", question("q"), approval("a"), question("p"), approval("b"), approval("c"))
	allowed := yes("b")
	allowed.RuntimePayload = api.JSON(`{"decision":"accept"}`)
	reply := h.must(several(north("p"), allowed, north("q"), no("a")))
	require.Equal(t, api.StatusWaitingForApproval, reply.Run.Run.Status, "what is not named stays open")
	// Approvals are recorded first, then the answers, in the given order.
	for i, id := range []string{"b", "a", "p", "q"} {
		require.Equal(t, int64(i+1), h.request("r", id).SettledNumber, id)
		require.Equal(t, "codex", h.request("r", id).Recorded().Via)
		require.Equal(t, "ann", h.request("r", id).Recorded().ResolvedBy)
	}
	require.Equal(t, allowed.RuntimePayload, h.request("r", "b").Recorded().RuntimePayload)
	require.Equal(t, api.StatusRunning, h.must(several(yes("c"))).Run.Run.Status)
	require.Equal(t, []api.EventType{
		"accepted", "queued", "started", "waiting_for_user_question", "waiting_for_approval",
		"approval_resolved", "user_question_resolved", "user_question_resolved",
		"approval_resolved", "started",
	}, h.eventTypes("r"))
	h.checkHealthy()
}

// A decision about all open requests resumes the run once.
func TestDecideGoesOnOnce(t *testing.T) {
	h := parallelHouse(t).wait("r", question("q"), approval("a"))
	h.must(several(yes("a"), north("q")))
	require.Equal(t, []api.EventType{
		"accepted", "queued", "started", "waiting_for_user_question", "waiting_for_approval",
		"approval_resolved", "user_question_resolved", "started",
	}, h.eventTypes("r"))
}

// Approvals are checked before the first answer, and any fault prevents all changes.
func TestDecideChecksInOrder(t *testing.T) {
	t.Parallel()
	withInput := func(id, input string) runs.ApprovalDecision {
		resolution := yes(id)
		resolution.UpdatedInput = api.JSON(input)
		return resolution
	}
	value := func(id, text string) runs.QuestionAnswer {
		return runs.QuestionAnswer{RequestID: id, Value: api.JSON(text)}
	}
	west := answer("r", "q", "west").Resolution
	badKey := several(yes("none"))
	badKey.Key = "\x00"
	nobody := several()
	nobody.RunID = "nobody"
	badText := cancelBy("none", "\x00")
	for _, test := range []struct {
		name     string
		command  *runs.DecideRequests
		code     api.Code
		pointers []string
	}{
		{
			"all that can be told without a row", several(yes(""), runs.ApprovalDecision{RequestID: "a", Behavior: "maybe", Reason: "\x00"}, north(""), runs.QuestionAnswer{RequestID: "q", Justification: "\x00"}, north("q")), api.CodeInvalidRequest,
			[]string{"/approvals/0/request_id", "/approvals/1/behavior", "/approvals/1/reason", "/answers/0/request_id", "/answers/1/justification", "/answers/2/request_id"},
		},
		{"nothing", several(), api.CodeApprovalBatchEmpty, nil},
		{"a bad reason", badText, api.CodeInvalidRequest, []string{"/cancel_reason"}},
		{"a bad key", badKey, api.CodeInvalidIdempotencyKey, nil},
		{"no such run, before an empty batch", nobody, api.CodeRunNotFound, nil},
		{"an approval twice, before one that is unknown", several(yes("a"), yes("a"), yes("none"), north("none")), api.CodeApprovalDuplicate, nil},
		{"an unknown approval, before an unknown question", several(yes("none"), north("none")), api.CodeApprovalNotPending, nil},
		{"a question is not an approval", several(yes("q")), api.CodeApprovalNotPending, nil},
		{"an approval is not a question", several(yes("a"), north("b")), api.CodeQuestionRequestMismatch, nil},
		{"a bad input, before an unknown question", several(yes("a"), withInput("i", `{"command":1}`), north("none")), api.CodeInvalidRequest, []string{"/approvals/1/updated_input/command"}},
		{"an unknown question, before a wrong answer", several(yes("a"), west, north("none")), api.CodeQuestionRequestMismatch, nil},
		{"a wrong answer", several(yes("a"), west, value("v", `"x"`)), api.CodeQuestionOptionNotFound, nil},
		{"values that do not fit, before a wrong answer after them", several(value("v", `"x"`), west, value("w", `"y"`)), api.CodeInvalidRequest, []string{"/answers/0/value", "/answers/2/value"}},
		{"no value", several(north("q"), runs.QuestionAnswer{RequestID: "v"}), api.CodeQuestionAnswerEmpty, nil},
		{"a hostile id", several(yes("a\n")), api.CodeApprovalNotPending, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			integer := func(id string) api.UserQuestionRequest {
				return api.UserQuestionRequest{ID: id, ResponseSchema: api.JSON(`{"type":"integer"}`)}
			}
			h := newHouse(t).wait("r", approval("a"), approval("b"), withInputSchema("i"), question("q"), integer("v"), integer("w"))
			_, change, err := h.decide(test.command)
			refusal := requireCode(t, test.code, err)
			if test.pointers != nil {
				require.Equal(t, test.pointers, pointersOf(refusal))
			}
			require.Nil(t, refusal.Recorded)
			require.True(t, change.Empty())
		})
	}
	over := &runs.DecideRequests{RunID: "r", Approvals: make([]runs.ApprovalDecision, api.MaxResolutionsPerBatch+1), Answers: make([]runs.QuestionAnswer, api.MaxResolutionsPerBatch+1)}
	require.Equal(t, []string{"/approvals", "/answers"}, pointersOf(newHouse(t).refused(api.CodeInvalidRequest, over)))
}

// A late caller's error shows the first settled item, approvals before answers.
func TestLateDecision(t *testing.T) {
	h := parallelHouse(t).wait("r", approval("a"), approval("b"), question("q"), question("p"))
	h.must(several(yes("a"), north("q")))
	// Other requests of the kind are open.
	requireRecorded(t, h.refused(api.CodeApprovalNotPending, several(yes("b"), no("a"), north("q"))), "a", api.OutcomeAllowed, "codex")
	requireRecorded(t, h.refused(api.CodeApprovalNotPending, several(no("none"), no("a"))), "a", api.OutcomeAllowed, "codex")
	requireRecorded(t, h.refused(api.CodeApprovalNotPending, several(no("none"), north("q"))), "q", api.OutcomeAnswered, "codex")
	requireRecorded(t, h.refused(api.CodeQuestionRequestMismatch, several(yes("b"), north("none"), north("q"))), "q", api.OutcomeAnswered, "codex")
	requireRecorded(t, h.refused(api.CodeApprovalNotPending, cancelBy("a", "")), "a", api.OutcomeAllowed, "codex")
	requireRecorded(t, h.refused(api.CodeQuestionRequestMismatch, cancelBy("q", "")), "q", api.OutcomeAnswered, "codex")
	// An invalid answer is not a late one.
	require.Nil(t, h.refused(api.CodeQuestionOptionNotFound, several(answer("r", "p", "west").Resolution)).Recorded)
	require.True(t, h.request("r", "b").Open())

	// No request of the kind is open.
	h.must(several(no("b")))
	requireRecorded(t, h.refused(api.CodeApprovalStateConflict, several(yes("b"), north("p"))), "b", api.OutcomeDenied, "codex")
	requireRecorded(t, h.refused(api.CodeApprovalStateConflict, cancelBy("b", "")), "b", api.OutcomeDenied, "codex")
	h.must(several(north("p")))
	requireRecorded(t, h.refused(api.CodeQuestionStateConflict, several(north("p"))), "p", api.OutcomeAnswered, "codex")
	requireRecorded(t, h.refused(api.CodeQuestionStateConflict, cancelBy("p", "")), "p", api.OutcomeAnswered, "codex")

	// The run is finished.
	h.must(&runs.CancelRun{RunID: "r"})
	requireRecorded(t, h.refused(api.CodeRunStateConflict, several(north("p"), yes("a"))), "a", api.OutcomeAllowed, "codex")
	requireRecorded(t, h.refused(api.CodeRunStateConflict, cancelBy("a", "")), "a", api.OutcomeAllowed, "codex")
	requireRecorded(t, h.refused(api.CodeQuestionStateConflict, several(north("p"))), "p", api.OutcomeAnswered, "codex")
	require.Nil(t, h.refused(api.CodeQuestionStateConflict, several(north("none"))).Recorded)
}

// Overdue requests expire first, and stay expired even if the decision is refused.
func TestDecisionAfterTheDeadline(t *testing.T) {
	h := parallelHouse(t).wait("r", expiringApproval("a", startMs+10), approval("b"), question("q"))
	h.nowMs += 10
	requireRecorded(t, h.refused(api.CodeApprovalNotPending, several(yes("b"), yes("a"), north("q"))), "a", api.OutcomeExpired, api.ViaClock)
	require.Equal(t, api.OutcomeExpired, h.request("r", "a").Outcome)
	require.True(t, h.request("r", "b").Open())
	require.True(t, h.request("r", "q").Open())

	h = newHouse(t).wait("r", approval("a"), expiringQuestion("q", startMs+10))
	h.nowMs += 10
	requireRecorded(t, h.refused(api.CodeQuestionExpired, several(north("q"))), "q", api.OutcomeExpired, api.ViaClock)
	requireRecorded(t, h.refused(api.CodeQuestionExpired, cancelBy("q", "")), "q", api.OutcomeExpired, api.ViaClock)
	requireRecorded(t, h.refused(api.CodeRunStateConflict, several(yes("a"), north("q"))), "a", api.OutcomeCancelled, api.ViaClock)
}

// A cancel overrides the other items, which have no effect even if they are invalid.
func TestCancelByARequest(t *testing.T) {
	t.Parallel()
	for id, text := range map[string]string{"a": "approval request a cancelled: enough", "q": "user-question request q cancelled: enough"} {
		h := newHouse(t).wait("r", approval("a"), approval("b"), question("q"), pair("p"))
		h.create("next")
		command := cancelBy(id, "enough", yes("b"), yes("b"), yes(""), answer("r", "p", "west").Resolution)
		command.CancelRuntimePayload = api.JSON(`{"decision":"cancel"}`)
		reply := h.must(command)
		require.Equal(t, api.StatusCancelled, reply.Run.Run.Status)
		require.Equal(t, text, reply.Run.Run.Error)
		require.NotZero(t, h.run("next").ClaimableAtMs, "the next queued run may go")
		for _, sibling := range []string{"a", "b", "q", "p"} {
			recorded := h.request("r", sibling).Recorded()
			require.Equal(t, api.OutcomeCancelled, recorded.Outcome, sibling)
			require.Equal(t, "enough", recorded.Reason)
			require.Equal(t, "codex", recorded.Via)
			require.Equal(t, sibling == id, recorded.RuntimePayload != nil, "the one request has the payload")
		}
		require.Equal(t, int64(1), h.request("r", id).SettledNumber)
		require.JSONEq(t, `{"type":"cancelled","reason":"enough"}`, h.lastEvent("r", api.EventCancelled))
		h.checkHealthy()
	}
	h := newHouse(t).wait("r", approval("a"))
	require.Equal(t, "approval request a cancelled", h.must(cancelBy("a", "")).Run.Run.Error)
}

// The error for an unknown id depends on the kind of request that the run waits for.
func TestCancelByAnUnknownRequest(t *testing.T) {
	h := parallelHouse(t).start("r")
	require.Equal(t, "run r is not waiting for user input", h.refused(api.CodeQuestionStateConflict, cancelBy("none", "")).Detail)
	h.must(suspend("r", 1, approval("a")))
	h.refused(api.CodeApprovalNotPending, cancelBy("none", ""))
	h = newHouse(t).wait("r", approval("a"), question("q"))
	refusal := h.refused(api.CodeQuestionRequestMismatch, cancelBy("none", ""))
	require.Equal(t, "user-question cancel none does not match any pending request on run r", refusal.Detail)
	require.Equal(t, api.StatusWaitingForUserQuestion, h.run("r").Status)
}

func TestDecideAClarification(t *testing.T) {
	h := parallelHouse(t)
	runID := h.parked()
	about := func(command *runs.DecideRequests) *runs.DecideRequests {
		command.RunID = runID
		return command
	}
	h.refused(api.CodeApprovalStateConflict, about(several(yes("q"))))
	h.refused(api.CodeQuestionRequestMismatch, about(several(north("none"))))
	h.must(about(several(north("q"))))
	require.Equal(t, api.StatusCompleted, h.run(runID).Status)
	h.requireUnchanged(about(several(north("q"))))
	requireRecorded(t, h.refused(api.CodeQuestionResolutionConflict, about(several(answer("", "q", "south").Resolution))), "q", api.OutcomeAnswered, "codex")
	h.carryOut()
	require.Equal(t, api.StatusRunning, h.run("r").Status)

	h = newHouse(t)
	runID = h.parked()
	command := about(cancelBy("q", ""))
	command.CancelRuntimePayload = api.JSON(`{"status":"cancel"}`)
	require.Equal(t, api.StatusCompleted, h.must(command).Run.Run.Status)
	requireRecorded(t, h.refused(api.CodeQuestionStateConflict, about(cancelBy("q", ""))), "q", api.OutcomeCancelled, "codex")
	h.carryOut()
	clarification := h.record("r").Resume().Clarification
	require.True(t, clarification.Declined)
	require.Equal(t, "cancelled by operator", *clarification.Justification)
	require.Equal(t, `{"status":"cancel"}`, string(clarification.RuntimePayload))
	h.checkHealthy()
}

// One key covers the whole decision.
func TestDecisionKeys(t *testing.T) {
	t.Parallel()
	with := func(change func(*runs.DecideRequests)) *runs.DecideRequests {
		command := several(yes("a"), yes("b"), north("q"))
		command.Key = "k"
		change(command)
		return command
	}
	first := func(*runs.DecideRequests) {}
	for name, test := range map[string]struct {
		change func(*runs.DecideRequests)
		same   bool
	}{
		"the same":              {first, true},
		"by another":            {func(c *runs.DecideRequests) { c.Actor = runs.Actor{} }, true},
		"defaults":              {func(c *runs.DecideRequests) { c.Answers[0].Value = api.JSON(`null`) }, true},
		"another order":         {func(c *runs.DecideRequests) { c.Approvals[0], c.Approvals[1] = c.Approvals[1], c.Approvals[0] }, false},
		"one less":              {func(c *runs.DecideRequests) { c.Approvals = c.Approvals[:1] }, false},
		"no answers":            {func(c *runs.DecideRequests) { c.Answers = nil }, false},
		"another behavior":      {func(c *runs.DecideRequests) { c.Approvals[0].Behavior = api.BehaviorDeny }, false},
		"another answer":        {func(c *runs.DecideRequests) { c.Answers[0].Answers[0].SelectedOptionIDs = []string{"south"} }, false},
		"a payload":             {func(c *runs.DecideRequests) { c.Approvals[0].RuntimePayload = api.JSON(`1`) }, false},
		"a payload of answers":  {func(c *runs.DecideRequests) { c.Answers[0].RuntimePayload = api.JSON(`1`) }, false},
		"a match":               {func(c *runs.DecideRequests) { c.Approvals[0].RememberMatch = &api.RuleMatch{AnyInput: true} }, false},
		"verbatim":              {func(c *runs.DecideRequests) { c.Answers[0].Verbatim = true }, false},
		"a cancel":              {func(c *runs.DecideRequests) { c.CancelRequestID = "a" }, false},
		"a reason":              {func(c *runs.DecideRequests) { c.CancelReason = "r" }, false},
		"a payload of a cancel": {func(c *runs.DecideRequests) { c.CancelRuntimePayload = api.JSON(`1`) }, false},
	} {
		inHouse(t, name, func(t *testing.T, h *house) {
			h.wait("r", approval("a"), approval("b"), question("q"), approval("more"))
			h.must(with(first))
			reply, change, err := h.decide(with(test.change))
			require.True(t, change.Empty())
			if !test.same {
				requireCode(t, api.CodeIdempotencyConflict, err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, runs.Reply{Replayed: true, ReplayRunID: "r"}, reply)
			// Decisions have their own key space.
			h.must(keyed(allow("r", "more"), "k"))
		})
	}
	// A refused call leaves no record: the key may be reused, even for a cancel.
	h := newHouse(t).wait("r", approval("a"), question("q"))
	wrong := several(yes("none"))
	wrong.Key = "k"
	h.refused(api.CodeApprovalNotPending, wrong)
	cancel := cancelBy("a", "")
	cancel.Key = "k"
	h.must(cancel)
	again := cancelBy("a", "")
	again.Key = "k"
	require.True(t, h.must(again).Replayed)
	// In another session the key is a different one.
	h.must(&runs.CreateRun{SessionID: "t", RunID: "u", Input: api.JSON(`1`), Claim: &api.ClaimOptions{WorkerID: "w"}, Suspend: &api.Suspension{Approvals: []api.ApprovalRequest{approval("a")}}})
	elsewhere := &runs.DecideRequests{RunID: "u", Approvals: []runs.ApprovalDecision{yes("a")}, Key: "k"}
	require.False(t, h.must(elsewhere).Replayed)
}

// A decision may write a rule, as ResolveApprovals may. One that writes a deny rule
// needs ChangesRules.
func TestDecisionWritesARule(t *testing.T) {
	h := parallelHouse(t).wait("r", approval("a"), question("q"))
	remember := no("a")
	remember.Remember = api.RememberSession
	require.True(t, several(remember, north("q")).Needs().ChangesRules)
	require.False(t, cancelBy("q", "", remember).Needs().ChangesRules)
	remember.Behavior = api.BehaviorAllow
	require.False(t, several(remember, north("q")).Needs().ChangesRules)

	_, change := h.decided(several(remember, north("q")))
	h.flush()
	require.Len(t, change.NewRules, 1)
	require.Equal(t, change.NewRules[0].RuleID, h.request("r", "a").Recorded().Rule.RuleID)
	require.Empty(t, h.request("r", "a").RuleID, "a person decided")

	// A cancelled decision writes no rule, and one beyond the age cap is refused.
	h = newHouse(t).wait("r", approval("a"), question("q"))
	remember.RememberForMs = ms(1_001)
	capped := several(remember, north("q"))
	capped.MaxRuleAgeMs = 1_000
	require.Equal(t, []string{"/approvals/0/remember_for_ms"}, pointersOf(h.refused(api.CodeInvalidRequest, capped)))
	_, change = h.decided(cancelBy("q", "", remember))
	require.Empty(t, change.NewRules)
}
