package mcptools_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client/ask"
	"github.com/holdpoint/holdpoint/mcptools"
)

// A form of a question shows what is decided, or there is none.
func TestAFormOfAQuestionShowsWhatIsDecided(t *testing.T) {
	s := newScene(t)
	r := s.replica(mcptools.Options{})
	options := func(options ...api.QuestionOption) *api.UserQuestionRequest {
		return &api.UserQuestionRequest{Questions: []api.UserQuestion{{ID: "q", Question: "Which?", Options: options}}}
	}
	typed := func(payload, schema string) *api.UserQuestionRequest {
		return &api.UserQuestionRequest{Payload: api.JSON(payload), ResponseSchema: api.JSON(schema)}
	}
	object := func(members string) string { return `{"type":"object","properties":{` + members + `}}` }
	pays := object(`"pay":{"type":"boolean","title":"Pay"}`)
	withPayload := options(api.QuestionOption{ID: "a", Label: "A"})
	withPayload.Payload = api.JSON(`{"amount":5000}`)
	for name, row := range map[string]struct {
		asked   *api.UserQuestionRequest
		message string // "" for no form
	}{
		"descriptions": {
			options(api.QuestionOption{ID: "a", Label: "A", Description: "Deletes\u202e all"}, api.QuestionOption{ID: "b", Label: "B"}),
			"The agent coder asks: Which?\n- A: Deletes\\u202e all",
		},
		"a description of several lines": {options(api.QuestionOption{ID: "a", Label: "A", Description: "x\n- B: deletes all"}), ""},
		"a preview":                      {options(api.QuestionOption{ID: "a", Label: "A", Preview: "rm -rf /"}), ""},
		"options and a payload":          {withPayload, ""},
		"a message":                      {typed(`{"message":"Pay?"}`, pays), "The agent coder asks: Pay?"},
		"a question":                     {typed(`{"question":"Pay?"}`, pays), "The agent coder asks: Pay?"},
		"a message and more": {
			typed(`{"message":"Pay?","to":"m\u0430ra"}`, pays),
			"The agent coder asks: Pay?\n{\n  \"message\": \"Pay?\",\n  \"to\": \"m\\u0430ra\"\n}",
		},
		"a question and more": {typed(`{"question":"Pay?","amount":5000}`, pays), "The agent coder asks: Pay?\n{\n  \"amount\": 5000,\n  \"question\": \"Pay?\"\n}"},
		"a large payload":     {typed(`{"message":"Pay?","text":"`+strings.Repeat("long ", 4000)+`"}`, pays), ""},
		"no members":          {typed(`{"message":"Pay?"}`, `{"type":"object"}`), ""},
		"a large schema":      {typed(`{"message":"Pay?"}`, object(`"pay":{"type":"boolean","description":"`+strings.Repeat("long ", 4000)+`"}`)), ""},
		"a hidden title":      {typed(`{"message":"Pay?"}`, object(`"pay":{"type":"boolean","title":"Do not\u202e pay"}`)), ""},
		"a hidden choice":     {typed(`{"message":"Pay?"}`, object(`"to":{"type":"string","enum":["mara","m\u0430ra"]}`)), ""},
		"a hidden name":       {typed(`{"message":"Pay?"}`, object(`"pay\u200b":{"type":"boolean"}`)), ""},
	} {
		raised, err := (&ask.Asker{Client: s.person, AgentID: "coder"}).Raise(t.Context(), ask.Call{Question: row.asked})
		require.NoError(t, err, name)
		task := r.ask(both, "check_decision", `{"run_id":"`+raised.RunID+`"}`, nil)
		require.NotEmpty(t, task.TaskID, name)
		shown := r.task(both, "tasks/get", task.TaskID)
		if row.message == "" {
			require.Equal(t, "working", shown.Status, name)
			require.Empty(t, shown.InputRequests, name)
			continue
		}
		require.Equal(t, row.message, shown.InputRequests[shown.only(s)].Params.Message, name)
	}
}
