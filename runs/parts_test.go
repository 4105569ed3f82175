package runs_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// part answers some questions of request "q".
func part(runID string, given ...api.UserQuestionAnswer) *runs.AnswerQuestion {
	return &runs.AnswerQuestion{
		RunID: runID, Partial: true, Resolution: answers(given...), Actor: runs.Actor{Name: "ann", Via: "hermes"},
	}
}

func TestPartsOfAnAnswer(t *testing.T) {
	h := parallelHouse(t).wait("r", survey("q"))
	first := part("r", written("text", "later"))
	first.Resolution.Justification = "as agreed"
	reply := h.must(first)
	require.Equal(t, api.StatusWaitingForUserQuestion, reply.Run.Run.Status)
	require.JSONEq(t, `{"type":"user_question_answered","request_id":"q","question_ids":["text"],
		"answers":[{"question_id":"text","freeform_answer":"later"}],"justification":"as agreed","resolved_by":"ann","via":"hermes","open":2}`,
		h.lastEvent("r", api.EventUserQuestionAnswered))
	h.must(part("r", chosen("one", "x")))
	// Readers see the partial answers, in the order of the questions.
	want := []api.UserQuestionAnswer{chosen("one", "x"), written("text", "later")}
	require.Equal(t, want, h.record("r").View().PendingQuestions[0].PartialAnswers)
	pending := model.PendingRequest{Request: *h.request("r", "q")}
	require.Equal(t, want, pending.QuestionView("").Request.PartialAnswers)

	reply = h.must(part("r", chosen("many", "z")))
	require.Equal(t, api.StatusRunning, reply.Run.Run.Status)
	recorded := h.request("r", "q").Recorded()
	require.Equal(t, []api.UserQuestionAnswer{chosen("one", "x"), chosen("many", "z"), written("text", "later")}, recorded.Answers)
	require.Equal(t, "hermes", recorded.Via)
	require.Empty(t, recorded.Justification, "the part that completed the answer has one")
	require.Equal(t, []api.EventType{
		"accepted", "queued", "started", "waiting_for_user_question", "user_question_answered", "user_question_answered",
		"user_question_resolved", "started",
	}, h.eventTypes("r"))
	require.Nil(t, h.record("r").Resume().Questions[0].Request.PartialAnswers)
	requireRecorded(t, h.refused(api.CodeQuestionStateConflict, part("r", chosen("one", "x"))), "q", api.OutcomeAnswered, "hermes")
}

// When two errors apply, the same one is returned as for a whole answer.
func TestPartChecksInOrder(t *testing.T) {
	t.Parallel()
	withValue := part("r", chosen("one", "x"))
	withValue.Resolution.Value = api.JSON(`1`)
	onlyNull := part("r")
	onlyNull.Resolution.Value = api.JSON(`null`)
	declined := part("r", chosen("one", "x"))
	declined.Resolution.Declined = true
	other := part("r", chosen("one", "none"))
	other.Resolution.RequestID = "p"
	withKey := part("r", chosen("one", "x"))
	withKey.Key = "k"
	for _, test := range []struct {
		name    string
		command *runs.AnswerQuestion
		code    api.Code
		detail  string
	}{
		{"a key", withKey, api.CodeInvalidRequest, "/idempotency_key: must not be given with a part of an answer"},
		{"another request", other, api.CodeQuestionRequestMismatch, "user-question resolution p does not match any pending request on run r"},
		{"declined with answers", declined, api.CodeQuestionDeclinedAnswers, "declined user-question resolutions must not include answers"},
		{"a value", withValue, api.CodeInvalidRequest, "/resolution/value: request q takes answers, not a value"},
		{"an answer twice", part("r", chosen("none"), chosen("none")), api.CodeQuestionDuplicateAnswer, "duplicate answer for question none"},
		{"nothing", part("r"), api.CodeQuestionAnswerMissing, "missing answer for question one"},
		{"null", onlyNull, api.CodeQuestionAnswerMissing, "missing answer for question one"},
		{"answered before", part("r", chosen("many", "x")), api.CodeQuestionStateConflict, "question many of request q is answered already"},
		{"answered before and wrong", part("r", chosen("many", "none")), api.CodeQuestionStateConflict, "question many of request q is answered already"},
		{"the very same answer", part("r", chosen("many", "y")), api.CodeQuestionStateConflict, "question many of request q is answered already"},
		{"a fault of an earlier question, before one that is answered", part("r", chosen("many", "x"), chosen("one", "none")), api.CodeQuestionOptionNotFound, "unknown option none for question one"},
		{"one that is answered, before an empty one", part("r", written("text", " "), chosen("many", "x")), api.CodeQuestionStateConflict, "question many of request q is answered already"},
		{"empty", part("r", written("text", " ")), api.CodeQuestionAnswerEmpty, "question text requires at least one answer"},
		{"too many options", part("r", chosen("one", "x", "y")), api.CodeQuestionSingleSelect, "question one allows only one option"},
		{"an option twice", part("r", chosen("text", "x", "x")), api.CodeQuestionSingleSelect, "question text allows only one option"},
		{"an unknown question, when all others are right", part("r", chosen("none", "x"), chosen("one", "x")), api.CodeQuestionUnknownAnswer, "resolution contains answers for unknown questions"},
		{"an unknown question alone", part("r", chosen("none", "x")), api.CodeQuestionUnknownAnswer, "resolution contains answers for unknown questions"},
		{"the last one with an unknown question", part("r", chosen("one", "x"), written("text", "t"), chosen("none", "x")), api.CodeQuestionUnknownAnswer, "resolution contains answers for unknown questions"},
	} {
		inHouse(t, test.name, func(t *testing.T, h *house) {
			h.wait("r", survey("q"))
			h.must(part("r", chosen("many", "y")))
			_, change, err := h.decide(test.command)
			refusal := requireCode(t, test.code, err)
			require.Equal(t, test.detail, refusal.Detail)
			require.Nil(t, refusal.Recorded)
			require.True(t, change.Empty())
			h.flush()
			require.Equal(t, []api.UserQuestionAnswer{chosen("many", "y")}, partsOf(t, h.request("r", "q")))
		})
	}
}

// Any other end of the request overrides the stored parts.
func TestWholeGoesBeforeParts(t *testing.T) {
	t.Parallel()
	whole := &runs.AnswerQuestion{RunID: "r", Resolution: answers(chosen("one", "y"), chosen("many", "y"), written("text", "whole"))}
	declined := part("r")
	declined.Resolution.Declined = true
	verbatim := &runs.AnswerQuestion{RunID: "r", Partial: true, Resolution: runs.QuestionAnswer{RequestID: "q", Value: api.JSON(`7`), Verbatim: true}}
	for name, test := range map[string]struct {
		command runs.Command
		outcome api.Outcome
		status  api.Status
	}{
		"a whole answer":       {whole, api.OutcomeAnswered, api.StatusRunning},
		"a decline":            {decline("r", "q"), api.OutcomeDeclined, api.StatusRunning},
		"a decline as a part":  {declined, api.OutcomeDeclined, api.StatusRunning},
		"a verbatim value":     {verbatim, api.OutcomeAnswered, api.StatusRunning},
		"a cancel":             {&runs.CancelQuestion{RunID: "r", RequestID: "q"}, api.OutcomeCancelled, api.StatusCancelled},
		"the run is cancelled": {&runs.CancelRun{RunID: "r"}, api.OutcomeCancelled, api.StatusCancelled},
		"an interrupt":         {&runs.InterruptSession{SessionID: "s"}, api.OutcomeCancelled, api.StatusInterrupted},
		"the deadline":         {nil, api.OutcomeExpired, api.StatusCancelled},
	} {
		inHouse(t, name, func(t *testing.T, h *house) {
			request := survey("q")
			request.ExpiresAtMs = ms(startMs + 10)
			h.wait("r", request)
			h.must(part("r", chosen("one", "x"), written("text", "kept")))
			if test.command == nil {
				h.nowMs += 10
				// The part that would complete the answer is too late.
				requireRecorded(t, h.refused(api.CodeQuestionExpired, part("r", chosen("many", "x"))), "q", api.OutcomeExpired, api.ViaClock)
			} else {
				h.must(test.command)
			}
			require.Equal(t, test.outcome, h.request("r", "q").Outcome)
			require.Equal(t, test.status, h.run("r").Status)
			require.NotContains(t, string(h.request("r", "q").Resolution), "kept")
			require.Nil(t, h.request("r", "q").PartialAnswers)
		})
	}
}

func TestPartsByTheSession(t *testing.T) {
	h := parallelHouse(t).wait("r", survey("q"))
	h.must(answerInSession(part("", chosen("one", "x"))))
	h.must(answerInSession(part("", chosen("many", "x"), written("text", "t"))))
	require.Equal(t, api.StatusRunning, h.run("r").Status)
}

func TestPartOfAWholeIsTheWhole(t *testing.T) {
	h := parallelHouse(t).wait("r", question("q"))
	h.must(part("r", chosen("route", "north")))
	require.Equal(t, api.OutcomeAnswered, h.request("r", "q").Outcome)
	require.NotContains(t, h.eventTypes("r"), api.EventUserQuestionAnswered)

	// A typed question accepts no parts.
	h = newHouse(t).wait("r", api.UserQuestionRequest{ID: "q", ResponseSchema: api.JSON(`{"type":"integer"}`)})
	h.refused(api.CodeQuestionAnswerEmpty, part("r", chosen("one", "x")))
	h.refused(api.CodeQuestionAnswerEmpty, part("r"))
	typed := part("r")
	typed.Resolution.Value = api.JSON(`7`)
	h.must(typed)
	require.Equal(t, `7`, string(h.request("r", "q").Recorded().Value))
}

func TestPartsAreBoundedInBytes(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", 600_000)
	asked := func(first string) *house {
		h := newHouse(t)
		request := question("q")
		request.Questions = nil
		for _, id := range numbered("text-%d", 3) {
			request.Questions = append(request.Questions, api.UserQuestion{ID: id, Question: id})
		}
		h.wait("r", request)
		h.must(part("r", written("text-0", first)))
		return h
	}
	h := asked(large)
	refused := h.refused(api.CodeInvalidRequest, part("r", written("text-1", large)))
	require.Equal(t, "/resolution/answers", refused.Faults[0].Pointer)
	h.must(part("r", written("text-1", "short")))
	h.must(part("r", written("text-2", large)))
	require.Equal(t, api.OutcomeAnswered, h.request("r", "q").Outcome, "the part that completes the answer is not kept")

	// Parts from before the limit may be above it: the whole answer replaces them.
	h = asked(large + large)
	h.refused(api.CodeInvalidRequest, part("r", written("text-1", "short")))
	whole := part("r", written("text-0", "a"), written("text-1", "b"), written("text-2", "c"))
	whole.Partial = false
	h.must(whole)
	require.Len(t, h.request("r", "q").Recorded().Answers, 3)
}

func TestPartsOfAClarification(t *testing.T) {
	h := parallelHouse(t).family()
	command := park("q")
	command.Request = survey("q")
	runID := h.asked(command)
	h.must(part(runID, chosen("one", "x")))
	h.must(inParent(part("", written("text", "t"))))
	require.Equal(t, api.StatusWaitingForUserQuestion, h.run(runID).Status)
	require.Nil(t, h.refused(api.CodeQuestionStateConflict, part(runID, chosen("one", "x"))).Recorded)
	h.must(part(runID, chosen("many", "y")))
	require.Equal(t, api.StatusCompleted, h.run(runID).Status)
	h.carryOut()
	clarification := h.record("r").Resume().Clarification
	require.Equal(t, "One?: X\nMany?: Y\nText?: t", clarification.Summary)
	h.checkHealthy()
}

// The service sets the members that show parts; a caller's are ignored.
func TestPartsAreNotTakenFromTheWorker(t *testing.T) {
	h := parallelHouse(t)
	request := survey("q")
	request.PartialAnswers = []api.UserQuestionAnswer{chosen("one", "x")}
	h.wait("r", request)
	require.Nil(t, h.request("r", "q").Question().PartialAnswers)
	require.NotContains(t, string(h.request("r", "q").Body), "partial_answers")
	h.must(part("r", chosen("one", "y")))
	event := &runs.AppendEvents{RunID: "r", Fence: 1, Events: []api.JSON{api.JSON(`{"type":"user_question_answered"}`)}}
	require.Equal(t, []string{"/events/0/type"}, pointersOf(h.refused(api.CodeInvalidRequest, event)))
}
