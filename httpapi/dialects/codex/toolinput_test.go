package codex_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/dialecttest"
)

// recorded returns the stored resolution of a run's only settled request.
func (s *replica) recorded(t *testing.T, r run) api.Resolution {
	t.Helper()
	_, settled, err := s.Store.SettledAfter(t.Context(), r.id, 0)
	require.NoError(t, err)
	require.Len(t, settled, 1)
	return settled[0].Recorded()
}

func testToolInput(t *testing.T, service, other *replica) {
	const how = `"how":{"answers":["slowly"]}`
	for name, c := range map[string]struct {
		body    string
		where   api.UserQuestionAnswer
		payload string
	}{
		"a label": {
			body:    `{"decision":"accept","answers":{"where":{"answers":["prod"]},` + how + `}}`,
			where:   api.UserQuestionAnswer{QuestionID: "where", SelectedOptionIDs: []string{"p"}},
			payload: `{"answers":{"where":{"answers":["prod"]},"how":{"answers":["slowly"]}}}`,
		},
		"an option id": {
			body:    `{"decision":"accept","answers":{"where":{"answers":["s"]},` + how + `}}`,
			where:   api.UserQuestionAnswer{QuestionID: "where", SelectedOptionIDs: []string{"s"}},
			payload: `{"answers":{"where":{"answers":["s"]},"how":{"answers":["slowly"]}}}`,
		},
		"free text": {
			body:    `{"decision":"accept","answers":{"where":{"answers":["the cellar","left"]},` + how + `}}`,
			where:   api.UserQuestionAnswer{QuestionID: "where", FreeformAnswer: "the cellar\nleft"},
			payload: `{"answers":{"where":{"answers":["the cellar","left"]},"how":{"answers":["slowly"]}}}`,
		},
		"an option and a note": {
			body:    `{"decision":"accept","answers":{"where":{"answers":["user_note: after lunch","prod","p"]},` + how + `}}`,
			where:   api.UserQuestionAnswer{QuestionID: "where", SelectedOptionIDs: []string{"p"}, FreeformAnswer: "user_note: after lunch"},
			payload: `{"answers":{"where":{"answers":["user_note: after lunch","prod","p"]},"how":{"answers":["slowly"]}}}`,
		},
		"a question that nobody asked": {
			body:    `{"decision":"accept","answers":{"where":{"answers":["prod"]},"other":{"answers":[]},` + how + `}}`,
			where:   api.UserQuestionAnswer{QuestionID: "where", SelectedOptionIDs: []string{"p"}},
			payload: `{"answers":{"where":{"answers":["prod"]},"other":{"answers":[]},"how":{"answers":["slowly"]}}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := service.waiting(t, questions(question("q1", "")))
			requestID := service.requestID(t, r)
			other.reply(t, requestID, c.body, dialecttest.Header("X-Actor", "mia")).
				Is(http.StatusOK, fmt.Sprintf(`{"status":"ok","requestId":%q,"threadId":%q}`, requestID, r.session))
			recorded := service.recorded(t, r)
			require.Equal(t, api.OutcomeAnswered, recorded.Outcome)
			require.Equal(t, "codex", recorded.Via)
			require.Equal(t, "mia", recorded.ResolvedBy)
			require.Equal(t, []api.UserQuestionAnswer{c.where, {QuestionID: "how", FreeformAnswer: "slowly"}}, recorded.Answers)
			require.Equal(t, c.payload, string(recorded.RuntimePayload))
		})
	}

	t.Run("several options where several may be chosen", func(t *testing.T) {
		r := service.waiting(t, questions(`{"id":"q1","tool_call_id":"c","questions":[{"id":"m","header":"","question":"?","multi_select":true,"allow_freeform":true,
			"options":[{"id":"a","label":"A"},{"id":"b","label":"B"},{"id":"c","label":"C"}]}]}`))
		service.reply(t, service.requestID(t, r), `{"decision":"accept","answers":{"m":{"answers":["C","A","more"]}}}`).Want(http.StatusOK)
		require.Equal(t, []api.UserQuestionAnswer{{QuestionID: "m", SelectedOptionIDs: []string{"c", "a"}, FreeformAnswer: "more"}}, service.recorded(t, r).Answers)
	})

	t.Run("a label of two options selects neither", func(t *testing.T) {
		r := service.waiting(t, questions(`{"id":"q1","tool_call_id":"c","questions":[{"id":"m","question":"?","allow_freeform":true,
			"options":[{"id":"a","label":"Prod"},{"id":"b","label":"Prod"}]}]}`))
		requestID := service.requestID(t, r)
		service.reply(t, requestID, `{"decision":"accept","answers":{"m":{"answers":["Prod"]}}}`).invalid("answers", "m", "answers")
		service.reply(t, requestID, `{"decision":"accept","answers":{"m":{"answers":["b"]}}}`).Want(http.StatusOK)
		require.Equal(t, []string{"b"}, service.recorded(t, r).Answers[0].SelectedOptionIDs)
	})

	t.Run("own words where only the options are accepted", func(t *testing.T) {
		r := service.waiting(t, questions(`{"id":"q1","tool_call_id":"c","questions":[{"id":"m","question":"?","options":[{"id":"a","label":"A"}]}]}`))
		requestID := service.requestID(t, r)
		require.Equal(t, false, service.get(t, "/api/sessions/"+r.session+"/tool-input").At("data", 0, "questions", 0, "isOther"))
		service.reply(t, requestID, `{"decision":"accept","answers":{"m":{"answers":["A","mine"]}}}`).invalid("answers", "m", "answers")
		service.reply(t, requestID, `{"decision":"accept","response":"mine"}`).invalid("response")
		service.reply(t, requestID, `{"decision":"accept","answers":{"m":{"answers":["A"]}}}`).Want(http.StatusOK)
	})

	t.Run("decline lets the run go on, cancel ends it", func(t *testing.T) {
		r := service.waiting(t, questions(question("q1", "")))
		service.reply(t, service.requestID(t, r), `{"decision":"decline"}`).Want(http.StatusOK)
		recorded := service.recorded(t, r)
		require.Equal(t, api.OutcomeDeclined, recorded.Outcome)
		require.Equal(t, `{"status":"decline"}`, string(recorded.RuntimePayload))
		require.Equal(t, "running", service.get(t, "/v1/runs/"+r.id).At("status"))

		r = service.waiting(t, questions(question("q1", "")))
		requestID := service.requestID(t, r)
		service.reply(t, requestID, `{"decision":"cancel"}`).
			Is(http.StatusOK, fmt.Sprintf(`{"status":"ok","requestId":%q,"threadId":%q}`, requestID, r.session))
		recorded = service.recorded(t, r)
		require.Equal(t, api.OutcomeCancelled, recorded.Outcome)
		require.Equal(t, `{"status":"cancel"}`, string(recorded.RuntimePayload))
		require.Equal(t, "cancelled", service.get(t, "/v1/runs/"+r.id).At("status"))
	})

	for _, response := range []string{`null`, `false`, `"text"`, `[1,{"b":2,"a":1}]`, `{"answers":{}}`, `1.50`} {
		t.Run("the response as it is: "+response, func(t *testing.T) {
			for decision, outcome := range map[string]api.Outcome{
				"accept": api.OutcomeAnswered, "decline": api.OutcomeDeclined, "cancel": api.OutcomeCancelled,
			} {
				r := service.waiting(t, questions(question("q1", "")))
				service.reply(t, service.requestID(t, r), fmt.Sprintf(`{"decision":%q,"answers":{"x":{"answers":["y"]}},"response":%s}`, decision, response)).Want(http.StatusOK)
				recorded := service.recorded(t, r)
				require.Equal(t, outcome, recorded.Outcome)
				require.Equal(t, response, string(recorded.RuntimePayload))
				if decision == "accept" {
					require.Equal(t, response, string(recorded.Value))
				}
			}
		})
	}

	t.Run("an unusable answer is refused, and the question stays", func(t *testing.T) {
		r := service.waiting(t, questions(question("q1", "")))
		requestID := service.requestID(t, r)
		service.reply(t, requestID, `{"decision":"accept"}`).invalid("answers")
		service.reply(t, requestID, `{"decision":"accept","answers":{}}`).invalid("answers", "where")
		service.reply(t, requestID, `{"decision":"accept","answers":{"where":{"answers":["prod"]}}}`).invalid("answers", "how")
		service.reply(t, requestID, `{"decision":"accept","answers":{"where":{"answers":["prod"]},"how":{"answers":[]}}}`).invalid("answers", "how", "answers")
		service.reply(t, requestID, `{"decision":"accept","answers":{"where":{"answers":["prod"]},"how":{"answers":[""," "]}}}`).invalid("answers", "how", "answers")
		service.reply(t, requestID, `{"decision":"accept","answers":{"where":{"answers":["prod","staging"]},`+how+`}}`).invalid("answers", "where", "answers")
		require.Equal(t, requestID, service.requestID(t, r))
		service.reply(t, requestID, `{"decision":"accept","answers":{"where":{"answers":["prod"]},`+how+`}}`).Want(http.StatusOK)
	})
}

func testTypedToolInput(t *testing.T, service, _ *replica) {
	ask := func(schema, payload string) string {
		return questions(fmt.Sprintf(`{"id":"q","tool_call_id":"c","questions":[],"payload":%s,"response_schema":%s}`, payload, schema))
	}
	const never = `{"options":[{"label":"Sure","id":"yes","value":true},{"label":"Never","id":"no","value":false}]}`
	for name, c := range map[string]struct{ schema, payload, answers, value string }{
		"text":                {`{"type":"string"}`, `{}`, `["7"]`, `"7"`},
		"integer":             {`{"type":"integer"}`, `{}`, `[" 7 "]`, `7`},
		"number":              {`{"type":"number"}`, `{}`, `["1.50"]`, `1.50`},
		"boolean":             {`{"type":"boolean"}`, `{}`, `["false"]`, `false`},
		"null":                {`{"type":["integer","null"]}`, `{}`, `["null"]`, `null`},
		"text or number":      {`{"type":["string","number"]}`, `{}`, `["7"]`, `"7"`},
		"object":              {`{"type":"object"}`, `{}`, `["{\"a\":1}"]`, `{"a":1}`},
		"list of texts":       {`{"type":"array","items":{"type":"string"}}`, `{}`, `["a","b"]`, `["a","b"]`},
		"list of one":         {`{"type":"array","items":{"type":"integer"}}`, `{}`, `["4"]`, `[4]`},
		"list as JSON":        {`{"type":"array"}`, `{}`, `["[1, 2]"]`, `[1,2]`},
		"choice of a schema":  {`{"enum":["S",2]}`, `{}`, `["2"]`, `2`},
		"choice of a payload": {`{"type":"string"}`, `{"options":[{"label":"Large","value":"L"}]}`, `["Large"]`, `"L"`},
		"an option's id":      {`{"type":"string"}`, `{"options":[{"id":"pg","label":"Postgres"}]}`, `["Postgres"]`, `"pg"`},
		"an id of the enum":   {`{"enum":["pg"]}`, `{"options":[{"id":"pg","label":"Postgres"}]}`, `["Postgres"]`, `"pg"`},
		"a label of the enum": {`{"enum":["Postgres"]}`, `{"options":[{"id":"pg","label":"Postgres"}]}`, `["Postgres"]`, `"Postgres"`},
		"an id in a list":     {`{"type":"array","items":{"enum":["b","Red"]}}`, `{"options":[{"id":"b","label":"Blue"},{"id":"r","label":"Red"}]}`, `["Blue","Red"]`, `["b","Red"]`},
		"an option in a list": {`{"type":"array","items":{"type":"string"},"minItems":1}`, `{"options":["a","b"]}`, `["a"]`, `["a"]`},
		"no type":             {`{}`, `{}`, `["true"]`, `"true"`},
		"an id's value":       {`{}`, never, `["no"]`, `false`},
		"an id of two types":  {`{"type":["boolean","string"]}`, never, `["no"]`, `false`},
		"an id that is a label of another": {
			`{}`, `{"options":[{"label":"Delete","id":"keep","value":1},{"label":"keep","id":"x","value":2}]}`, `["keep"]`, `2`,
		},
		"ids in a list": {`{"type":"array"}`, never, `["no","Sure"]`, `[false,true]`},
	} {
		t.Run(name, func(t *testing.T) {
			r := service.waiting(t, ask(c.schema, c.payload))
			service.reply(t, service.requestID(t, r), `{"decision":"accept","answers":{"value":{"answers":`+c.answers+`},"x":{"answers":["y"]}}}`).Want(http.StatusOK)
			require.Equal(t, c.value, string(service.recorded(t, r).Value))
		})
	}

	t.Run("what does not fit is refused, and the question stays", func(t *testing.T) {
		r := service.waiting(t, ask(`{"type":"object","properties":{"n":{"type":"array","items":{"type":"integer"}}}}`, `{}`))
		requestID := service.requestID(t, r)
		service.reply(t, requestID, `{"decision":"accept"}`).invalid("answers")
		service.reply(t, requestID, `{"decision":"accept","answers":{"q":{"answers":["x"]}}}`).invalid("answers", "value")
		service.reply(t, requestID, `{"decision":"accept","answers":{"value":{"answers":["x"]}}}`).invalid("answers", "value", "answers")
		service.reply(t, requestID, `{"decision":"accept","answers":{"value":{"answers":["x","y"]}}}`).invalid("answers", "value", "answers")
		service.reply(t, requestID, `{"decision":"accept","response":7}`).invalid("response")
		service.reply(t, requestID, `{"decision":"accept","response":null}`).invalid("response")
		service.reply(t, requestID, `{"decision":"accept","response":{"n":[1,"x"]}}`).invalid("response", "n", 1)
		require.Equal(t, requestID, service.requestID(t, r))
		service.reply(t, requestID, `{"decision":"accept","response":{"n":[1]}}`).Want(http.StatusOK)
		recorded := service.recorded(t, r)
		require.Equal(t, `{"n":[1]}`, string(recorded.Value))
		require.Equal(t, `{"n":[1]}`, string(recorded.RuntimePayload))
	})

	t.Run("a label of two values is refused", func(t *testing.T) {
		r := service.waiting(t, ask(`{}`, `{"options":[{"label":"A","value":1},{"label":"A","value":2},{"label":"B","value":3},{"label":"B","value":3}]}`))
		requestID := service.requestID(t, r)
		service.reply(t, requestID, `{"decision":"accept","answers":{"value":{"answers":["A"]}}}`).invalid("answers", "value", "answers")
		service.reply(t, requestID, `{"decision":"accept","answers":{"value":{"answers":["B"]}}}`).Want(http.StatusOK)
		require.Equal(t, "3", string(service.recorded(t, r).Value))
	})

	t.Run("an id selects one of two options with the same label", func(t *testing.T) {
		r := service.waiting(t, ask(`{}`, `{"options":[{"label":"Prod","id":"eu","value":1},{"label":"Prod","id":"us","value":2},
			{"label":"Dev","id":"dev","value":3},{"label":"Test","id":"dev","value":4}]}`))
		requestID := service.requestID(t, r)
		for _, several := range []string{"Prod", "dev"} {
			service.reply(t, requestID, `{"decision":"accept","answers":{"value":{"answers":["`+several+`"]}}}`).invalid("answers", "value", "answers")
		}
		service.reply(t, requestID, `{"decision":"accept","answers":{"value":{"answers":["us"]}}}`).Want(http.StatusOK)
		require.Equal(t, "2", string(service.recorded(t, r).Value))
	})

	t.Run("null is a value where it fits", func(t *testing.T) {
		r := service.waiting(t, ask(`{"type":"null"}`, `{}`))
		service.reply(t, service.requestID(t, r), `{"decision":"accept","response":null}`).Want(http.StatusOK)
		recorded := service.recorded(t, r)
		require.Equal(t, `null`, string(recorded.Value))
		require.Equal(t, `null`, string(recorded.RuntimePayload))
	})

	t.Run("the worker is handed the value and the payload", func(t *testing.T) {
		r := service.waiting(t, ask(`{"type":"integer"}`, `{}`))
		service.reply(t, service.requestID(t, r), `{"decision":"accept","answers":{"value":{"answers":["4"]}}}`).Want(http.StatusOK)
		resolution := service.resolution(t, r, "questions")
		value, err := json.Marshal(resolution["value"])
		require.NoError(t, err)
		require.Equal(t, "4", string(value))
		require.Equal(t, `{"answers":{"value":{"answers":["4"]}}}`, payload(t, resolution))
	})
}
