package runs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
)

func typedQuestion(schema string) api.UserQuestionRequest {
	return api.UserQuestionRequest{ID: "q", ResponseSchema: api.JSON(schema)}
}

func valued(text string) *runs.AnswerQuestion {
	command := &runs.AnswerQuestion{RunID: "r", Resolution: runs.QuestionAnswer{RequestID: "q"}}
	if text != "" {
		command.Resolution.Value = api.JSON(text)
	}
	return command
}

func verbatim(text string) *runs.AnswerQuestion {
	command := valued(text)
	command.Resolution.Verbatim = true
	return command
}

// null is a value if the schema accepts it; otherwise it counts as absent.
func TestNullValue(t *testing.T) {
	t.Parallel()
	nullable := typedQuestion(`{"type":["integer","null"]}`)
	integer := typedQuestion(`{"type":"integer"}`)
	for name, test := range map[string]struct {
		question api.UserQuestionRequest
		command  *runs.AnswerQuestion
		code     api.Code // empty when it is accepted
		value    string
	}{
		"null where it may be":              {nullable, valued(`null`), "", `null`},
		"null with blanks":                  {nullable, valued(" null "), "", `null`},
		"null that any schema takes":        {typedQuestion(`true`), valued(`null`), "", `null`},
		"another value there":               {nullable, valued(`7`), "", `7`},
		"absent there":                      {nullable, valued(``), api.CodeQuestionAnswerEmpty, ""},
		"null where it may not be":          {integer, valued(`null`), api.CodeQuestionAnswerEmpty, ""},
		"absent where null may not be":      {integer, valued(``), api.CodeQuestionAnswerEmpty, ""},
		"null for structured questions":     {survey("q"), valued(`null`), api.CodeQuestionAnswerMissing, ""},
		"verbatim null where it may not be": {integer, verbatim(`null`), api.CodeInvalidRequest, ""},
		"verbatim null where it may be":     {nullable, verbatim(`null`), "", `null`},
		"verbatim and of another type":      {integer, verbatim(`"x"`), api.CodeInvalidRequest, ""},
		"verbatim null, structured":         {survey("q"), verbatim(`null`), "", `null`},
		"verbatim value, structured":        {survey("q"), verbatim(`{"one":["x"]}`), "", `{"one":["x"]}`},
		"verbatim and absent, structured":   {survey("q"), verbatim(``), api.CodeQuestionAnswerEmpty, ""},
		"verbatim and absent, typed":        {nullable, verbatim(``), api.CodeQuestionAnswerEmpty, ""},
		"a value for structured questions":  {survey("q"), valued(`7`), api.CodeInvalidRequest, ""},
		"null with answers, not verbatim":   {question("q"), withAnswer(valued(`null`)), "", ""},
		"verbatim null with answers":        {question("q"), withAnswer(verbatim(`null`)), api.CodeInvalidRequest, ""},
		"verbatim null with answers, typed": {nullable, withAnswer(verbatim(`null`)), api.CodeQuestionUnknownAnswer, ""},
		"answers alone, typed":              {integer, withAnswer(valued(``)), api.CodeQuestionAnswerEmpty, ""},
		"null with answers, typed":          {nullable, withAnswer(valued(`null`)), api.CodeQuestionAnswerEmpty, ""},
		"a value with answers, typed":       {integer, withAnswer(valued(`7`)), api.CodeQuestionUnknownAnswer, ""},
		"null with a decline":               {nullable, declining(valued(`null`)), "", ""},
		"verbatim null with a decline":      {nullable, declining(verbatim(`null`)), api.CodeQuestionDeclinedAnswers, ""},
		"a decline that is said verbatim":   {survey("q"), declining(verbatim(``)), "", ""},
	} {
		inHouse(t, name, func(t *testing.T, h *house) {
			h.wait("r", test.question)
			if test.code != "" {
				h.refused(test.code, test.command)
				require.True(t, h.request("r", "q").Open())
				return
			}
			h.must(test.command)
			recorded := h.request("r", "q").Recorded()
			require.Equal(t, test.value, string(recorded.Value))
			require.Equal(t, test.command.Resolution.Declined, *recorded.Declined)
			handed := h.record("r").Resume().Questions[0].Resolution
			require.Equal(t, test.value, string(handed.Value))
			h.checkHealthy()
		})
	}
}

func withAnswer(command *runs.AnswerQuestion) *runs.AnswerQuestion {
	command.Resolution.Answers = []api.UserQuestionAnswer{chosen("route", "north")}
	return command
}

func declining(command *runs.AnswerQuestion) *runs.AnswerQuestion {
	command.Resolution.Declined = true
	return command
}

// A second null answer to a clarification has no effect.
func TestNullAnswersAClarificationOnce(t *testing.T) {
	h := parallelHouse(t).family()
	command := park("q")
	command.Request = typedQuestion(`{"type":["integer","null"]}`)
	runID := h.asked(command)
	null, seven, none := valued(`null`), valued(`7`), valued(``)
	null.RunID, seven.RunID, none.RunID = runID, runID, runID
	h.must(null)
	h.requireUnchanged(null)
	h.refused(api.CodeQuestionResolutionConflict, seven)
	h.refused(api.CodeQuestionResolutionConflict, none)
	h.carryOut()
	require.Equal(t, `null`, string(h.record("r").Resume().Clarification.Value))
}

// A dialect's runtime payload is recorded, reported and handed over.
func TestRuntimePayload(t *testing.T) {
	h := parallelHouse(t).start("r")
	h.must(hold("r", 1, approval("a"), question("q")))
	h.must(&runs.ResolveApprovals{RunID: "r", Resolutions: []runs.ApprovalDecision{
		{RequestID: "a", Behavior: api.BehaviorAllow, RuntimePayload: api.JSON(`{"decision":"accept"}`)},
	}})
	given := answer("r", "q", "north")
	given.Resolution.RuntimePayload = api.JSON(`null`)
	h.must(given)
	resume := h.record("r").Resume()
	require.Equal(t, `{"decision":"accept"}`, string(resume.Approvals[0].Resolution.RuntimePayload))
	require.Equal(t, `null`, string(resume.Questions[0].Resolution.RuntimePayload))
	require.Contains(t, h.lastEvent("r", api.EventApprovalResolved), `"runtime_payload":{"decision":"accept"}`)
	require.Contains(t, string(document.Encode(h.request("r", "q").SettledQuestion())), `"runtime_payload":null`)

	h = newHouse(t)
	runID := h.parked()
	given = answer(runID, "q", "north")
	given.Resolution.RuntimePayload = api.JSON(`{"answers":{}}`)
	h.must(given)
	h.carryOut()
	require.Equal(t, `{"answers":{}}`, string(h.record("r").Resume().Clarification.RuntimePayload))
}

// Members that only a dialect sets distinguish keyed calls, and leave the fingerprints of calls
// without them unchanged.
func TestFingerprintOfDialects(t *testing.T) {
	t.Parallel()
	plain := func() *runs.AnswerQuestion {
		command := answer("r", "q", "north")
		command.Key = "k"
		return command
	}
	payload := plain()
	payload.Resolution.RuntimePayload = api.JSON(`{"b":1,"a":2}`)
	payloadToo := plain()
	payloadToo.Resolution.RuntimePayload = api.JSON(`{"a":2,"b":1.0}`)
	null := plain()
	null.Resolution.Value = api.JSON(`null`)
	other := plain()
	other.Resolution.RuntimePayload = api.JSON(`1`)
	word := &runs.AnswerQuestion{RunID: "r", Key: "k", Resolution: runs.QuestionAnswer{RequestID: "q", Verbatim: true, Value: api.JSON(`1`)}}
	nothing := &runs.AnswerQuestion{RunID: "r", Key: "k", Resolution: runs.QuestionAnswer{RequestID: "q", Verbatim: true, Value: api.JSON(`null`)}}
	for name, test := range map[string]struct {
		first, again *runs.AnswerQuestion
		same         bool
	}{
		"null with answers":    {plain(), null, true},
		"with a payload":       {plain(), payload, false},
		"without a payload":    {payload, plain(), false},
		"the same payload":     {payload, payloadToo, true},
		"another payload":      {payload, other, false},
		"verbatim":             {word, word, true},
		"another verbatim":     {word, nothing, false},
		"verbatim and answers": {word, plain(), false},
	} {
		inHouse(t, name, func(t *testing.T, h *house) {
			h.wait("r", question("q"))
			first, again := *test.first, *test.again
			h.must(&first)
			if !test.same {
				h.refused(api.CodeIdempotencyConflict, &again)
				return
			}
			require.True(t, h.must(&again).Replayed)
		})
	}
	// The fingerprint from before dialects existed.
	h := newHouse(t).wait("r", question("q"))
	h.must(plain())
	key := model.RecordKey{Operation: model.OperationQuestion, Scope: "s", IdempotencyKey: "k"}
	digest, err := document.Digest(api.JSON(`{"operation":"user_question","target":"r",
		"body":{"resolution":{"request_id":"q","answers":[{"question_id":"route","selected_option_ids":["north"]}]}}}`))
	require.NoError(t, err)
	require.Equal(t, digest, "sha256:"+h.states["s"].Records[key].Fingerprint)
}
