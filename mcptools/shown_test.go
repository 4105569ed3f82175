package mcptools_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/client/ask"
	"github.com/holdpoint/holdpoint/mcptools"
	"github.com/holdpoint/holdpoint/test/inprocess"
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
		"a header": {
			&api.UserQuestionRequest{Questions: []api.UserQuestion{{ID: "q", Header: "Delete production\n", Question: "Which?", Options: []api.QuestionOption{{ID: "a", Label: "A"}}}}},
			`The agent coder asks: [Delete production\n] Which?`,
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
		"a question and more":      {typed(`{"question":"Pay?","amount":5000}`, pays), "The agent coder asks: Pay?\n{\n  \"question\": \"Pay?\",\n  \"amount\": 5000\n}"},
		"a large payload":          {typed(`{"message":"Pay?","text":"`+strings.Repeat("long ", 4000)+`"}`, pays), ""},
		"no members":               {typed(`{"message":"Pay?"}`, `{"type":"object"}`), ""},
		"a large schema":           {typed(`{"message":"Pay?"}`, object(`"pay":{"type":"boolean","description":"`+strings.Repeat("long ", 4000)+`"}`)), ""},
		"a hidden title":           {typed(`{"message":"Pay?"}`, object(`"pay":{"type":"boolean","title":"Do not\u202e pay"}`)), ""},
		"a hidden choice":          {typed(`{"message":"Pay?"}`, object(`"to":{"type":"string","enum":["mara","m\u0430ra"]}`)), ""},
		"a choice of look-alikes":  {typed(`{"message":"Pay?"}`, object(`"to":{"type":"string","enum":["cop","\u0441\u043e\u0440"]}`)), ""},
		"an option of look-alikes": {options(api.QuestionOption{ID: "a", Label: "cop"}, api.QuestionOption{ID: "b", Label: "\u0441\u043e\u0440"}), ""},
		"a letter like another":    {typed(`{"message":"Pay?"}`, object(`"to":{"type":"string","enum":["A","\u0410"]}`)), ""},
		"look-alikes in Russian":   {typed(`{"message":"Pay?"}`, object(`"to":{"type":"string","title":"Счёт","enum":["cop","\u0441\u043e\u0440"]}`)), ""},
		"options of one letter":    {options(api.QuestionOption{ID: "a", Label: "Plan A"}, api.QuestionOption{ID: "b", Label: "Plan \u0410"}), ""},
		"a title like its value":   {typed(`{"message":"Pay?"}`, object(`"to":{"type":"string","oneOf":[{"const":"A","title":"\u0410"},{"const":"B","title":"\u0411"}]}`)), "The agent coder asks: Pay?"},
		"titles like another":      {typed(`{"message":"Pay?"}`, object(`"to":{"type":"string","oneOf":[{"const":"1","title":"A"},{"const":"2","title":"\u0410"}]}`)), ""},
		"powers":                   {typed(`{"message":"Pay?"}`, object(`"to":{"type":"string","enum":["m2","m\u00b2"]}`)), "The agent coder asks: Pay?"},
		"a form in Russian":        {typed(`{"message":"Pay?"}`, object(`"to":{"type":"string","title":"Счёт","enum":["сор","хор"]}`)), "The agent coder asks: Pay?"},
		"a hidden name":            {typed(`{"message":"Pay?"}`, object(`"pay\u200b":{"type":"boolean"}`)), ""},
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

// A form decides about the request that it shows, and not about a later one with the same ids.
func TestAFormDecidesNothingAboutALaterRequest(t *testing.T) {
	s := newScene(t)
	service := inprocess.Start(t, inprocess.Memory, inprocess.Options{})
	later := &scene{T: t, service: service, person: service.Connect(client.WithActor("ada"))}
	made := map[string]string{"made_by": "holdpoint agent call", "digest": "d", "asker": "a"}
	for name, row := range map[string]struct {
		raises  func(text string) *api.Suspension
		content map[string]any
	}{
		"approval": {func(text string) *api.Suspension {
			return &api.Suspension{Approvals: []api.ApprovalRequest{{ID: "r", ToolCallID: "c", ToolName: "deploy", Input: api.JSON(`{"to":"` + text + `"}`)}}}
		}, map[string]any{"decision": "allow"}},
		"question": {func(text string) *api.Suspension {
			return &api.Suspension{Questions: []api.UserQuestionRequest{{ID: "r", Questions: []api.UserQuestion{{ID: "q", Question: text}}}}}
		}, map[string]any{"text": "yes"}},
	} {
		for on, text := range map[*scene]string{s: "staging", later: "production"} {
			_, err := on.person.CreateRun(t.Context(), client.CreateRunParams{
				SessionID: name, RunID: name, Kind: api.KindCall, AgentID: "coder", Metadata: made, Suspend: row.raises(text),
			})
			require.NoError(t, err, name)
		}
		r, reads := s.replica(mcptools.Options{}), `{"run_id":"`+name+`"}`
		task := r.ask(both, "check_decision", reads, nil)
		call := r.ask(forms, "check_decision", reads, nil)
		require.Contains(t, call.InputRequests[call.only(s)].Params.Message, "staging", name)
		given := map[string]any{call.only(s): accept(row.content)}

		r.options.Client = service.Connect(client.WithActor("ada"), client.WithVia("mcp"))
		require.Nil(t, r.task(both, "tasks/update", task.TaskID, given).Error, name)
		again := r.ask(forms, "check_decision", reads, map[string]any{"requestState": call.RequestState, "inputResponses": given})
		require.Equal(t, "input_required", again.ResultType, name)
		require.Contains(t, again.InputRequests[again.only(s)].Params.Message, "production", name)
		run, err := later.person.GetRun(t.Context(), name)
		require.NoError(t, err, name)
		require.Len(t, append(run.PendingApprovalIDs, run.PendingQuestionIDs...), 1, name)
	}
}
