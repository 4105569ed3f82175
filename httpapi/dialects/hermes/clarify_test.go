package hermes_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/dialecttest"
)

const route = `{"id":"q1","tool_call_id":"c","questions":[{"id":"route","header":"Route","question":"Which route?","multi_select":%t,"allow_freeform":true,
	"options":[{"id":"a","label":"Main"},{"id":"b","label":" Dev "},{"id":"c,d","label":"Both, please"},{"id":"Main","label":"Other"}]}]}`

// testClarifications holds docs/spec/hermes.md#clarify-respond as far as one caller sees it.
func testClarifications(t *testing.T, s *service) {
	parallel(t, "an answer, by its id and without", func(t *testing.T) {
		for _, id := range []bool{true, false} {
			made := s.waiting(t, questions(free("b"), free("a")))
			member := ""
			if id {
				member = `,"clarify_id":"` + made.handle(t, "a") + `"`
			}
			got := s.clarify(t, made.SessionID, `"response":" because \n"`+member, dialecttest.Header("X-Actor", "ada"))
			got.is(http.StatusOK, took("because"))
			answered, open := "a", "b"
			if !id {
				answered, open = "b", "a"
				require.Equal(t, made.handle(t, "b"), got.Header.Get("X-Clarify-Id"))
			} else {
				require.Empty(t, got.Header.Get("X-Clarify-Id"))
			}
			require.Equal(t, made.handle(t, open), s.pendingClarification(t, made.SessionID).head())
			s.clarify(t, made.SessionID, `"response":"x"`).is(http.StatusOK, took("x"))
			for _, one := range s.now(t, made).Resume.Questions {
				if one.Request.ID == answered {
					require.Equal(t, "because", one.Resolution.Answers[0].FreeformAnswer)
					require.Equal(t, "ada", one.Resolution.ResolvedBy)
					require.Equal(t, "hermes", one.Resolution.Via)
				}
			}
		}
	})
	parallel(t, "an id under another name", func(t *testing.T) {
		made := s.waiting(t, questions(free("b"), free("a")))
		for _, name := range []string{"clarifyId", "Clarify_ID", "approval_id", "requestId", "handle"} {
			s.clarify(t, made.SessionID, `"response":"x","`+name+`":"`+made.handle(t, "a")+`"`).
				is(http.StatusBadRequest, failed(name+": this contract has no such id, so nothing was decided; send it as clarify_id"))
		}
		require.Len(t, s.now(t, made).PendingQuestions, 2)
		s.clarify(t, made.SessionID, `"response":"x","handle":"x","clarify_id":"`+made.handle(t, "a")+`"`).is(http.StatusOK, took("x"))
		s.clarify(t, made.SessionID, `"response":"x","handle":""`).is(http.StatusOK, took("x"))
	})
	parallel(t, "the aliases", func(t *testing.T) {
		for members, response := range map[string]string{
			`"answer":"x"`: "x", `"choice":"x"`: "x", `"response":null,"answer":null,"choice":"x"`: "x",
			`"response":"r","answer":"a","choice":"c"`: "r", `"answer":"a","choice":"c"`: "a",
			`"response":5`: "5", `"response":1.50`: "1.50", `"response":true`: "True", `"response":["a", 1]`: `["a",1]`,
			`"response":"<é\u0000>"`: "<é\x00>", `"response":"\u3000x\u00a0"`: "x",
		} {
			made := s.waiting(t, questions(free("q1")))
			got := s.clarify(t, made.SessionID, members)
			require.Equal(t, http.StatusOK, got.Status, "%s: %s", members, got.Text)
			require.Equal(t, response, s.now(t, made).Resume.Questions[0].Resolution.Answers[0].FreeformAnswer, members)
		}
	})
	parallel(t, "an answer that is empty", func(t *testing.T) {
		made := s.waiting(t, questions(free("q1")))
		for _, members := range []string{
			`"x":1`, `"response":""`, `"response":" \t\n "`, `"response":"","answer":"x"`, `"response":0,"answer":"x"`, `"response":false`,
			`"response":0.0`, `"response":[]`, `"response":{}`, `"response":null`, `"answer":"","choice":"x"`, `"choice":null`,
		} {
			s.clarify(t, made.SessionID, members).is(http.StatusBadRequest, failed("response is required"))
		}
		require.Len(t, s.now(t, made).PendingQuestions, 1)
	})
	parallel(t, "anything else where only the choices are accepted", func(t *testing.T) {
		made := s.waiting(t, questions(strings.Replace(fmt.Sprintf(route, false), `"allow_freeform":true`, `"allow_freeform":false`, 1)))
		got := s.clarify(t, made.SessionID, `"response":"neither"`)
		require.Equal(t, http.StatusBadRequest, got.Status)
		require.Contains(t, got.Text, "question route accepts only its options")
		s.clarify(t, made.SessionID, `"response":"Dev"`).is(http.StatusOK, took("Dev"))
	})
	parallel(t, "labels and ids select, anything else is taken as it is", func(t *testing.T) {
		for _, test := range []struct {
			multi    bool
			response string
			selected []string
		}{
			{false, "Main", []string{"a"}},
			{false, "Dev", []string{"b"}},
			{false, "a", []string{"a"}},
			{false, "c,d", []string{"c,d"}},
			{false, "main", nil},
			{false, "Main, Dev", nil},
			{false, "Both, please", []string{"c,d"}},
			{false, "neither", nil},
			{true, "Main", []string{"a"}},
			{true, "Main, Dev", []string{"a", "b"}},
			{true, "b ,Main,Dev", []string{"b", "a"}},
			{true, "Both, please", []string{"c,d"}},
			{true, "Main, or so", nil},
			{true, "Main,", nil},
			{true, "neither", nil},
		} {
			made := s.waiting(t, questions(fmt.Sprintf(route, test.multi)))
			s.clarify(t, made.SessionID, fmt.Sprintf(`"response":%q`, test.response)).is(http.StatusOK, took(test.response))
			answer := s.now(t, made).Resume.Questions[0].Resolution.Answers[0]
			if test.selected == nil {
				require.Empty(t, answer.SelectedOptionIDs, test.response)
				require.Equal(t, test.response, answer.FreeformAnswer)
				continue
			}
			require.Equal(t, test.selected, answer.SelectedOptionIDs, test.response)
			require.Empty(t, answer.FreeformAnswer)
		}
	})
}

const ambiguous = "The response names options whose labels can be read in several ways. Answer with the ids of the options."

// testSameLabels checks that a label of two options selects neither.
func testSameLabels(t *testing.T, s *service) {
	for _, multi := range []bool{false, true} {
		made := s.waiting(t, questions(fmt.Sprintf(`{"id":"q1","tool_call_id":"c","questions":[{"id":"m","question":"?","multi_select":%t,"allow_freeform":true,
			"options":[{"id":"a","label":"Prod"},{"id":"b","label":" Prod"}]}]}`, multi)))
		s.clarify(t, made.SessionID, `"response":"Prod"`).is(http.StatusBadRequest, failed(ambiguous))
		s.clarify(t, made.SessionID, `"response":"b"`).is(http.StatusOK, took("b"))
		require.Equal(t, []string{"b"}, s.now(t, made).Resume.Questions[0].Resolution.Answers[0].SelectedOptionIDs)
	}
}

// testTypedQuestions holds how typed questions are shown and answered.
func testTypedQuestions(t *testing.T, s *service) {
	typed := func(schema, payload string) string {
		return questions(`{"id":"q1","tool_call_id":"c","kind":"deploy","payload":` + payload + `,"response_schema":` + schema + `}`)
	}
	parallel(t, "what is shown", func(t *testing.T) {
		for _, test := range []struct{ schema, payload, question, choices string }{
			{`{"enum":["a",5,true,null]}`, `{"question":"Which?","options":["x"]}`, "Which?", `["a","5","true","null"]`},
			{`{"type":"string"}`, `{"question":"Which?","options":["x",2,{"id":"y","label":"Y"},{"id":"z"},{"value":7},{"label":"L"},[],null,{}]}`, "Which?", `["x","2","Y","z","7","L"]`},
			{`{"type":"integer"}`, `{"question":"How many?","options":"none"}`, "How many?", `[]`},
			{`true`, `{"title":"T"}`, `{\"title\":\"T\"}`, `[]`},
			{`{}`, `[1, 2]`, `[1,2]`, `[]`},
		} {
			made := s.waiting(t, typed(test.schema, test.payload))
			data := s.follow(t, "/api/clarify/stream", made.SessionID).Frame().Data
			require.Contains(t, data, `"question":"`+test.question+`","choices_offered":`+test.choices+`,`)
		}
		made := s.waiting(t, questions(`{"id":"q1","tool_call_id":"c","kind":"deploy","response_schema":{}}`))
		require.Contains(t, s.pendingClarification(t, made.SessionID).Text, `"question": "deploy",`)
	})
	parallel(t, "what a text is taken for", func(t *testing.T) {
		for _, test := range []struct{ schema, response, value string }{
			{`{"type":"string"}`, "5", `"5"`},
			{`{}`, "true", `"true"`},
			{`{"type":"integer"}`, "5", `5`},
			{`{"type":"boolean"}`, "true", `true`},
			{`{"type":"boolean"}`, "Sure", `true`},
			{`{"type":"boolean"}`, "no", `false`},
			{`{"enum":["a",5,true]}`, "5", `5`},
			{`{"enum":["a",5,true]}`, "a", `"a"`},
			{`{"type":"object","required":["x"]}`, `{"x":[1]}`, `{"x":[1]}`},
			{`{"type":"null"}`, "null", `null`},
			{`{"type":"array","items":{"type":"boolean"}}`, "Sure", `[true]`},
			{`{"type":"array"}`, "no", `[false]`},
			{`{"type":"array"}`, "[1]", `[1]`},
		} {
			made := s.waiting(t, typed(test.schema, `{"question":"?","options":[{"label":"Sure","id":"yes","value":true},{"label":"Never","id":"no","value":false}]}`))
			got := s.clarify(t, made.SessionID, fmt.Sprintf(`"response":%q,"clarify_id":%q`, test.response, made.handle(t, "q1")))
			got.is(http.StatusOK, took(strings.ReplaceAll(test.response, `\"`, `"`)))
			require.Equal(t, test.value, string(s.now(t, made).Resume.Questions[0].Resolution.Value), test.schema)
		}
	})
	parallel(t, "a label before an id, and a label of two values is refused", func(t *testing.T) {
		payload := `{"question":"?","options":[{"label":"Delete","id":"keep","value":1},{"label":"keep","id":"x","value":2},
			{"label":"same","value":3},{"label":"same","value":3},{"label":"twice","value":4},{"label":"twice","value":5},"5",{"label":"5","value":6}]}`
		for response, value := range map[string]string{"keep": `2`, "same": `3`, "x": `2`} {
			made := s.waiting(t, typed(`{}`, payload))
			s.clarify(t, made.SessionID, fmt.Sprintf(`"response":%q`, response)).is(http.StatusOK, took(response))
			require.Equal(t, value, string(s.now(t, made).Resume.Questions[0].Resolution.Value), response)
		}
		made := s.waiting(t, typed(`{}`, payload))
		for _, response := range []string{"twice", "5"} {
			s.clarify(t, made.SessionID, fmt.Sprintf(`"response":%q`, response)).is(http.StatusBadRequest, failed(ambiguous))
		}
		require.Len(t, s.now(t, made).PendingQuestions, 1)
	})
	parallel(t, "what does not fit is refused, and the question stays", func(t *testing.T) {
		for _, test := range []struct{ schema, response, told string }{
			{`{"type":"integer"}`, "many", "got string, want integer"},
			{`{"type":"integer","maximum":3}`, "5", "maximum: got 5, want 3"},
			{`{"enum":["a","b"]}`, "c", "value must be one of 'a', 'b'"},
			{`{"type":"number"}`, "1e400", "got string, want number"},
			{`{"type":"object"}`, `{"a":1,"a":2}`, "got string, want object"},
		} {
			made := s.waiting(t, typed(test.schema, `{"question":"?"}`))
			s.clarify(t, made.SessionID, fmt.Sprintf(`"response":%q`, test.response)).
				is(http.StatusBadRequest, failed("The response does not fit the question: "+test.told))
			require.Equal(t, made.handle(t, "q1"), s.pendingClarification(t, made.SessionID).head())
		}
	})
}

const three = `{"id":"q1","tool_call_id":"c","questions":[
	{"id":"one","header":"","question":"First?","multi_select":false,"allow_freeform":true,"options":[{"id":"a","label":"A"}]},
	{"id":"two:x","header":"","question":"Second?","multi_select":true,"options":[{"id":"a","label":"A"},{"id":"b","label":"B"}]},
	{"id":"three","header":"Third","question":"Third?","multi_select":false,"options":[]}]}`

// testSeveralQuestions checks that the questions of a request are answered one by one, in any
// order, and that the last answer settles it (docs/spec/hermes.md#clarify-id).
func testSeveralQuestions(t *testing.T, s *service) {
	parallel(t, "one after the other", func(t *testing.T) {
		made := s.waiting(t, questions(three, free("q2")))
		handle := made.handle(t, "q1")
		stream := s.follow(t, "/api/clarify/stream", made.SessionID)
		stream.shows("initial", handle+":one", 4)
		for i, step := range []struct{ response, next string }{
			{"A", handle + ":two:x"}, {"B,A", handle + ":three"}, {"my own words", made.handle(t, "q2")},
		} {
			require.Empty(t, s.now(t, made).Resume.Questions)
			got := s.clarify(t, made.SessionID, fmt.Sprintf(`"response":%q`, step.response))
			got.is(http.StatusOK, took(step.response))
			stream.shows("clarify", step.next, 3-i)
		}
		s.clarify(t, made.SessionID, `"response":"x"`).is(http.StatusOK, took("x"))
		stream.shows("clarify", "", 0)
		settled := s.now(t, made).Resume.Questions
		require.Len(t, settled, 2)
		require.Equal(t, "First?: A\nSecond?: B, A\nThird?: my own words", settled[0].Resolution.Summary)
		require.Equal(t, api.OutcomeAnswered, settled[0].Resolution.Outcome)
		require.Equal(t, "hermes", settled[0].Resolution.Via)
	})
	parallel(t, "in any order, each by its id, and each once", func(t *testing.T) {
		made := s.waiting(t, questions(three))
		handle := made.handle(t, "q1")
		answer := func(id, response string) *reply {
			return s.clarify(t, made.SessionID, fmt.Sprintf(`"response":%q,"clarify_id":%q`, response, id))
		}
		for _, nobody := range []string{handle, handle + ":", handle + ":four", handle + ":two", ":one", "one"} {
			answer(nobody, "A").is(http.StatusConflict, stale)
		}
		answer(handle+":three", "last").is(http.StatusOK, took("last"))
		answer(handle+":three", "last").is(http.StatusConflict, stale)
		require.Equal(t, handle+":one", s.pendingClarification(t, made.SessionID).head())
		answer(handle+":one", "A").is(http.StatusOK, took("A"))
		require.Equal(t, handle+":two:x", s.pendingClarification(t, made.SessionID).head())
		answer(handle+":two:x", "B").is(http.StatusOK, took("B"))
		s.pendingClarification(t, made.SessionID).is(http.StatusOK, noClarification)
		require.Equal(t, "First?: A\nSecond?: B\nThird?: last", s.now(t, made).Resume.Questions[0].Resolution.Summary)
		answer(handle+":one", "A").is(http.StatusConflict, stale)
	})
	parallel(t, "the native face answers the rest", func(t *testing.T) {
		made := s.waiting(t, questions(three))
		stream := s.follow(t, "/api/clarify/stream", made.SessionID)
		stream.shows("initial", made.handle(t, "q1")+":one", 3)
		s.clarify(t, made.SessionID, `"response":"A"`).is(http.StatusOK, took("A"))
		stream.shows("clarify", made.handle(t, "q1")+":two:x", 2)
		s.post(t, "/v1/runs/"+made.RunID+"/questions", `{"resolution":{"request_id":"q1","answers":[{"question_id":"one","freeform_answer":"x"},
			{"question_id":"two:x","selected_option_ids":["b"]},{"question_id":"three","freeform_answer":"y"}]}}`).Into(nil)
		stream.shows("clarify", "", 0)
	})
}

// testLostAnswers checks that a late answer never answers a question of a later run or another
// session. test/faces checks the replies to late callers.
func testLostAnswers(t *testing.T, s *service) {
	parallel(t, "a later run", func(t *testing.T) {
		made := s.waiting(t, questions(free("q1")))
		late := `"response":"late","clarify_id":"` + made.handle(t, "q1") + `"`
		s.post(t, "/v1/runs/"+made.RunID+"/cancel", "").Into(nil)
		s.clarify(t, made.SessionID, late).is(http.StatusConflict, stale)
		s.clarify(t, made.SessionID, `"response":"late"`).is(http.StatusConflict, stale)
		s.pendingClarification(t, made.SessionID).is(http.StatusOK, noClarification)

		next := s.waitingIn(t, made.SessionID, questions(free("q2")))
		s.clarify(t, made.SessionID, late).is(http.StatusConflict, stale)
		require.Len(t, s.now(t, next).PendingQuestions, 1)
	})
	parallel(t, "another session's, or an approval's id", func(t *testing.T) {
		mine, theirs := s.waiting(t, questions(free("q1"))), s.waiting(t, questions(free("q1"))+","+approvals("a1"))
		for _, id := range []string{
			`"` + theirs.handle(t, "q1") + `"`, `"` + theirs.handle(t, "a1") + `"`, `"q1"`, `"x"`, "5", "true", `[1]`, `"\u0000"`,
		} {
			s.clarify(t, mine.SessionID, `"response":"x","clarify_id":`+id).is(http.StatusConflict, stale)
		}
		require.Len(t, s.now(t, mine).PendingQuestions, 1)
		require.Len(t, s.now(t, theirs).PendingQuestions, 1)
	})
}
