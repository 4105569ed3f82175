package runs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
)

// survey asks three questions: one choice, several choices, and free text.
func survey(id string) api.UserQuestionRequest {
	options := func() []api.QuestionOption {
		return []api.QuestionOption{{ID: "x", Label: "X"}, {ID: "y", Label: "Y"}, {ID: "z", Label: "Z"}}
	}
	return api.UserQuestionRequest{ID: id, ToolCallID: "call", Questions: []api.UserQuestion{
		{ID: "one", Question: "One?", AllowFreeform: new(true), Options: options()},
		{ID: "many", Question: "Many?", MultiSelect: true, AllowFreeform: new(true), Options: options()},
		{ID: "text", Question: "Text?"},
	}}
}

func chosen(questionID string, options ...string) api.UserQuestionAnswer {
	return api.UserQuestionAnswer{QuestionID: questionID, SelectedOptionIDs: options}
}

func written(questionID, text string, options ...string) api.UserQuestionAnswer {
	return api.UserQuestionAnswer{QuestionID: questionID, FreeformAnswer: text, SelectedOptionIDs: options}
}

func answers(given ...api.UserQuestionAnswer) runs.QuestionAnswer {
	return runs.QuestionAnswer{RequestID: "q", Answers: given}
}

// The order of docs/spec/v1.md#order-for-answers: when two errors apply, this one is returned.
func TestAnswerChecksInOrder(t *testing.T) {
	t.Parallel()
	declinedWithValue := runs.QuestionAnswer{RequestID: "q", Declined: true, Value: api.JSON(`1`)}
	declinedWithAnswers := answers(chosen("none"))
	declinedWithAnswers.Declined = true
	for _, test := range []struct {
		name   string
		given  runs.QuestionAnswer
		code   api.Code
		detail string
	}{
		{"declined with answers, before what is wrong in them", declinedWithAnswers, api.CodeQuestionDeclinedAnswers, "declined user-question resolutions must not include answers"},
		{"declined with a value", declinedWithValue, api.CodeQuestionDeclinedAnswers, "declined user-question resolutions must not include answers"},
		{"an answer twice, before a missing one", answers(chosen("one", "x"), chosen("one", "y")), api.CodeQuestionDuplicateAnswer, "duplicate answer for question one"},
		{"an unknown answer twice is twice first", answers(chosen("none"), chosen("none")), api.CodeQuestionDuplicateAnswer, "duplicate answer for question none"},
		{"the first that is twice", answers(chosen("many"), chosen("one"), chosen("one"), chosen("many")), api.CodeQuestionDuplicateAnswer, "duplicate answer for question one"},
		{"nothing", answers(), api.CodeQuestionAnswerMissing, "missing answer for question one"},
		{"a missing answer, before a fault of a later question", answers(chosen("many", "none"), written("text", "t")), api.CodeQuestionAnswerMissing, "missing answer for question one"},
		{"a fault of an earlier question, before a missing answer", answers(chosen("one", "none")), api.CodeQuestionOptionNotFound, "unknown option none for question one"},
		{"too many options, before an option twice", answers(chosen("one", "x", "x"), chosen("many", "x"), written("text", "t")), api.CodeQuestionSingleSelect, "question one allows only one option"},
		{"too many options, before an unknown one", answers(chosen("one", "none", "x"), chosen("many", "x"), written("text", "t")), api.CodeQuestionSingleSelect, "question one allows only one option"},
		{"an option twice, before an unknown one after it", answers(chosen("one", "x"), chosen("many", "x", "x", "none"), written("text", "t")), api.CodeQuestionDuplicateOption, "duplicate option x for question many"},
		{"an unknown option, before one twice after it", answers(chosen("one", "x"), chosen("many", "none", "none"), written("text", "t")), api.CodeQuestionOptionNotFound, "unknown option none for question many"},
		{"an option of a question that has none", answers(chosen("one", "x"), chosen("many", "x"), chosen("text", "x")), api.CodeQuestionOptionNotFound, "unknown option x for question text"},
		{"no option and no text", answers(chosen("one"), chosen("many", "x"), written("text", "t")), api.CodeQuestionAnswerEmpty, "question one requires at least one answer"},
		{"no option and blanks", answers(written("one", " \t\n"), chosen("many", "x"), written("text", "t")), api.CodeQuestionAnswerEmpty, "question one requires at least one answer"},
		{"an unknown option with text", answers(written("one", "t", "none"), chosen("many", "x"), written("text", "t")), api.CodeQuestionOptionNotFound, "unknown option none for question one"},
		{"an empty answer, before an unknown question", answers(chosen("none", "x"), chosen("one", "x"), chosen("many"), written("text", "t")), api.CodeQuestionAnswerEmpty, "question many requires at least one answer"},
		{"an answer too many, when all others are right", answers(chosen("none", "x"), chosen("one", "x"), chosen("many", "x"), written("text", "t")), api.CodeQuestionUnknownAnswer, "resolution contains answers for unknown questions"},
		{"a value for a question that takes answers", runs.QuestionAnswer{RequestID: "q", Value: api.JSON(`1`)}, api.CodeInvalidRequest, "/resolution/value: request q takes answers, not a value"},
	} {
		inHouse(t, test.name, func(t *testing.T, h *house) {
			h.wait("r", survey("q"))
			_, change, err := h.decide(&runs.AnswerQuestion{RunID: "r", Resolution: test.given})
			require.Equal(t, test.detail, requireCode(t, test.code, err).Detail)
			require.True(t, change.Empty())
			h.flush()
			require.Equal(t, api.StatusWaitingForUserQuestion, h.run("r").Status)
		})
	}
}

func TestAnswersThatAreTaken(t *testing.T) {
	t.Parallel()
	for name, given := range map[string]runs.QuestionAnswer{
		"in another order": answers(written("text", "t"), chosen("many", "z", "x"), chosen("one", "y")),
		"text with option": answers(written("one", "because", "x"), written("many", "both", "x", "y"), written("text", "t")),
		"text instead":     answers(written("one", "none of these"), written("many", "-"), written("text", "t")),
		"declined":         {RequestID: "q", Declined: true, Justification: "not now"},
		"declined with []": {RequestID: "q", Declined: true, Answers: []api.UserQuestionAnswer{}, Value: api.JSON(`null`)},
	} {
		inHouse(t, name, func(t *testing.T, h *house) {
			h.wait("r", survey("q"))
			reply := h.must(&runs.AnswerQuestion{RunID: "r", Resolution: given, Actor: runs.Actor{Name: "ann", Via: "inbox"}})
			// Declining a plain question resumes the run.
			require.Equal(t, api.StatusRunning, reply.Run.Run.Status)
			recorded := h.request("r", "q").Recorded()
			require.Equal(t, given.Declined, *recorded.Declined)
			require.Equal(t, given.Justification, recorded.Justification)
			require.Len(t, recorded.Answers, len(given.Answers))
			require.Equal(t, "ann", recorded.ResolvedBy)
			require.Equal(t, "inbox", recorded.Via)
			want := api.OutcomeAnswered
			if given.Declined {
				want = api.OutcomeDeclined
			}
			require.Equal(t, want, recorded.Outcome)
			require.Equal(t, []api.EventType{"accepted", "queued", "started", "waiting_for_user_question", "user_question_resolved", "started"}, h.eventTypes("r"))
		})
	}
}

// One value typed by a JSON Schema.
func TestTypedQuestion(t *testing.T) {
	h := parallelHouse(t)
	h.wait("r", api.UserQuestionRequest{ID: "q", Kind: "amount", Payload: api.JSON(`{"question":"How many?"}`), ResponseSchema: api.JSON(`{"type":"object","properties":{"a/b":{"type":"integer"}},"required":["a/b"]}`)})
	value := func(text string) *runs.AnswerQuestion {
		return &runs.AnswerQuestion{RunID: "r", Resolution: runs.QuestionAnswer{RequestID: "q", Value: api.JSON(text)}}
	}
	require.Equal(t, "request q requires a value", h.refused(api.CodeQuestionAnswerEmpty, value(`null`)).Detail)
	h.refused(api.CodeQuestionAnswerEmpty, &runs.AnswerQuestion{RunID: "r", Resolution: answers()})
	h.refused(api.CodeQuestionAnswerEmpty, &runs.AnswerQuestion{RunID: "r", Resolution: answers(chosen("one", "x"))})
	declined := value(`1`)
	declined.Resolution.Declined = true
	h.refused(api.CodeQuestionDeclinedAnswers, declined)
	refusal := h.refused(api.CodeInvalidRequest, value(`{"a/b":"many"}`))
	require.Equal(t, []api.Fault{{Pointer: "/resolution/value/a~1b", Detail: "got string, want integer"}}, refusal.Faults)
	require.Equal(t, "/resolution/value", h.refused(api.CodeInvalidRequest, value(`[]`)).Faults[0].Pointer)

	h.must(value(`{ "a/b" : 12 }`))
	resume := h.record("r").Resume()
	require.Len(t, resume.Questions, 1)
	require.JSONEq(t, `{"a/b":12}`, string(resume.Questions[0].Resolution.Value))
	require.JSONEq(t, `{"a/b":12}`, resume.Questions[0].Resolution.Summary)
}

// The checks before the answers: docs/spec/v1.md#order-for-questions.
func TestQuestionChecksInOrder(t *testing.T) {
	t.Parallel()
	wrong := func(id string) *runs.AnswerQuestion { return answer("r", id, "none") }
	h := newHouse(t)
	bad := wrong("q")
	bad.Resolution.Justification, bad.Key = "\x00", "\x00"
	require.Equal(t, "/resolution/justification", h.refused(api.CodeInvalidRequest, bad).Faults[0].Pointer)
	require.Equal(t, "/resolution/request_id", h.refused(api.CodeInvalidRequest, wrong("")).Faults[0].Pointer)
	bad = wrong("q")
	bad.Key = "\x00"
	h.refused(api.CodeInvalidIdempotencyKey, bad)
	h.refused(api.CodeRunNotFound, wrong("q"))

	h.wait("r", question("q"), approval("a"), question("p"))
	refusal := h.refused(api.CodeQuestionRequestMismatch, wrong("x"))
	require.Equal(t, "user-question resolution x does not match any pending request on run r", refusal.Detail)
	require.Nil(t, refusal.Recorded)
	h.refused(api.CodeQuestionRequestMismatch, wrong("a"))
	h.refused(api.CodeQuestionRequestMismatch, wrong("bad id\n"))
	h.refused(api.CodeQuestionOptionNotFound, wrong("q"))
	h.must(answer("r", "q", "south"))
	// The settled question's id while another is open: a mismatch that shows the decision.
	refusal = h.refused(api.CodeQuestionRequestMismatch, wrong("q"))
	requireRecorded(t, refusal, "q", api.OutcomeAnswered, api.ViaAPI)

	h.must(decline("r", "p"))
	for id, outcome := range map[string]api.Outcome{"q": api.OutcomeAnswered, "p": api.OutcomeDeclined} {
		refusal = h.refused(api.CodeQuestionStateConflict, wrong(id))
		require.Contains(t, refusal.Detail, "run r is not waiting for user input")
		requireRecorded(t, refusal, id, outcome, api.ViaAPI)
	}
	refusal = h.refused(api.CodeQuestionStateConflict, wrong("x"))
	require.Equal(t, "run r is not waiting for user input", refusal.Detail)
	require.Nil(t, refusal.Recorded)
	h.must(&runs.CancelRun{RunID: "r"})
	requireRecorded(t, h.refused(api.CodeQuestionStateConflict, wrong("q")), "q", api.OutcomeAnswered, api.ViaAPI)
}

// The run that a session's answer is routed to.
func TestSessionAnswer(t *testing.T) {
	h := parallelHouse(t).create("r")
	refusal := h.refused(api.CodeRunStateConflict, answerInSession(answer("", "q", "north")))
	require.Equal(t, "session s has no active run", refusal.Detail)
	h.claim("r")
	refusal = h.refused(api.CodeRunStateConflict, answerInSession(answer("", "q", "north")))
	require.Equal(t, "session s has no run that waits for an answer", refusal.Detail)

	h.must(suspend("r", 1, question("q")))
	h.refused(api.CodeQuestionRequestMismatch, answerInSession(answer("", "x", "north")))
	h.must(answerInSession(answer("", "q", "north")))
	requireRecorded(t, h.refused(api.CodeQuestionStateConflict, answerInSession(answer("", "q", "north"))), "q", api.OutcomeAnswered, api.ViaAPI)

	// The id is known in the session, although its run is finished and another one is active.
	h.must(&runs.CancelRun{RunID: "r"})
	h.wait("next", approval("q"))
	requireRecorded(t, h.refused(api.CodeQuestionStateConflict, answerInSession(answer("", "q", "north"))), "q", api.OutcomeAnswered, api.ViaAPI)
	h.refused(api.CodeRunStateConflict, answerInSession(answer("", "x", "north")))
	// The active run's open question comes first, even for an id that is known elsewhere.
	h.must(allow("next", "q"))
	h.claim("next")
	h.must(suspend("next", 2, question("other")))
	refusal = h.refused(api.CodeQuestionStateConflict, answerInSession(answer("", "q", "north")))
	requireRecorded(t, refusal, "q", api.OutcomeAnswered, api.ViaAPI)
}

// The checks of a cancel: docs/spec/v1.md#order-for-cancel.
func TestCancelQuestion(t *testing.T) {
	t.Parallel()
	cancel := func(id, why string) *runs.CancelQuestion {
		return &runs.CancelQuestion{RunID: "r", RequestID: id, Justification: why, Actor: runs.Actor{Name: "ann"}}
	}
	h := newHouse(t)
	bad := cancel("q", "\x00")
	bad.Key = "\x00"
	h.refused(api.CodeInvalidRequest, bad)
	bad.Justification, bad.Key = "", "\x00"
	h.refused(api.CodeInvalidIdempotencyKey, bad)
	h.refused(api.CodeRunNotFound, cancel("q", ""))

	h.wait("r", question("q"), question("p"), approval("a"))
	h.create("next")
	refusal := h.refused(api.CodeQuestionRequestMismatch, cancel("x", ""))
	require.Equal(t, "user-question cancel x does not match any pending request on run r", refusal.Detail)
	h.refused(api.CodeQuestionRequestMismatch, cancel("a", ""))
	require.Equal(t, api.StatusWaitingForUserQuestion, h.run("r").Status)

	reply := h.must(cancel("q", "not needed"))
	require.Equal(t, api.StatusCancelled, reply.Run.Run.Status)
	require.Equal(t, "user-question request q cancelled: not needed", reply.Run.Run.Error)
	require.NotZero(t, h.run("next").ClaimableAtMs, "the next queued run may go")
	// A cancel also settles the other open requests.
	for _, id := range []string{"q", "p", "a"} {
		require.Equal(t, api.OutcomeCancelled, h.request("r", id).Outcome, id)
		require.Equal(t, "ann", h.request("r", id).Recorded().ResolvedBy, id)
	}
	for _, late := range []runs.Command{cancel("q", ""), answer("r", "q", "north"), answerInSession(answer("", "q", "north"))} {
		refusal = h.refused(api.CodeQuestionStateConflict, late)
		require.Equal(t, "user-question request q cancelled: not needed", refusal.Detail)
		requireRecorded(t, refusal, "q", api.OutcomeCancelled, api.ViaAPI)
	}
	require.Equal(t, "run r is not waiting for user input", h.refused(api.CodeQuestionStateConflict, cancel("x", "")).Detail)

	h = newHouse(t).wait("r", question("q"))
	require.Equal(t, "user-question request q cancelled", h.must(cancel("q", "")).Run.Run.Error)
	require.Equal(t, "user-question request q cancelled", h.refused(api.CodeQuestionStateConflict, cancel("q", "")).Detail)
}

// A question with only a kind accepts any JSON value, null included.
func TestQuestionOfAKind(t *testing.T) {
	t.Parallel()
	for _, value := range []string{`"x"`, `null`, `{"a":[]}`, `17`} {
		h := newHouse(t).wait("r", api.UserQuestionRequest{ID: "q", Kind: "ask_user", Payload: api.JSON(`{"question":"Which?"}`)})
		h.must(&runs.AnswerQuestion{RunID: "r", Resolution: runs.QuestionAnswer{RequestID: "q", Value: api.JSON(value)}})
	}
	h := newHouse(t).start("r")
	h.refused(api.CodeInvalidRequest, suspend("r", 1, api.UserQuestionRequest{ID: "q", Payload: api.JSON(`{"question":"Which?"}`)}))
}

// An answer in the person's own words is refused where only the options are accepted, alone and
// with an option, and nothing is recorded.
func TestOwnWordsOnlyWhereTheyAreAccepted(t *testing.T) {
	t.Parallel()
	options := []api.QuestionOption{{ID: "x", Label: "X"}}
	for name, test := range map[string]struct {
		asked    api.UserQuestion
		accepted bool
	}{
		"with options":               {api.UserQuestion{ID: "one", Question: "One?", Options: options}, false},
		"with options and own words": {api.UserQuestion{ID: "one", Question: "One?", Options: options, AllowFreeform: new(true)}, true},
		"without options":            {api.UserQuestion{ID: "one", Question: "One?"}, true},
	} {
		inHouse(t, name, func(t *testing.T, h *house) {
			h.wait("r", api.UserQuestionRequest{ID: "q", ToolCallID: "c", Questions: []api.UserQuestion{test.asked, {ID: "two", Question: "Two?"}}})
			given := []*runs.AnswerQuestion{
				{RunID: "r", Resolution: answers(written("two", "fine"), written("one", "mine"))},
				{RunID: "r", Partial: true, Resolution: answers(written("two", "fine"), written("one", "mine"))},
				{RunID: "r", Resolution: runs.QuestionAnswer{RequestID: "q", Verbatim: true, Value: api.JSON(`"mine"`)}},
			}
			if len(test.asked.Options) > 0 {
				given = append(given, &runs.AnswerQuestion{RunID: "r", Resolution: answers(written("two", "fine"), written("one", "mine", "x"))})
			}
			for _, command := range given {
				if test.accepted {
					h.must(command)
					return
				}
				pointer := "/resolution/answers/1/freeform_answer"
				if command.Resolution.Verbatim {
					pointer = "/resolution/value"
				}
				refused := h.refused(api.CodeInvalidRequest, command)
				require.Equal(t, pointer, refused.Faults[0].Pointer)
				require.Contains(t, refused.Faults[0].Detail, "question one accepts only its options")
				require.True(t, h.request("r", "q").Open())
				require.Nil(t, h.request("r", "q").PartialAnswers)
			}
			h.must(&runs.AnswerQuestion{RunID: "r", Resolution: answers(chosen("one", "x"), written("two", "fine"))})
		})
	}
	h := newHouse(t).start("r")
	none := api.UserQuestion{ID: "one", Question: "One?", AllowFreeform: new(false)}
	refused := h.refused(api.CodeInvalidRequest, suspend("r", 1, api.UserQuestionRequest{ID: "q", ToolCallID: "c", Questions: []api.UserQuestion{none}}))
	require.Equal(t, "/questions/0/questions/0/allow_freeform", refused.Faults[0].Pointer)
}
