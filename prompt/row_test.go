package prompt_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/prompt"
)

// Inputs as coding agents and business agents send them.
func TestWhatIsReadBeforeAnApproval(t *testing.T) {
	t.Parallel()
	due := int64(2000)
	for _, test := range []struct {
		name    string
		request api.ApprovalRequest
		rows    []prompt.Row
		lines   []string
	}{
		{
			"a command with hints",
			api.ApprovalRequest{
				ToolName: "Bash", Input: api.JSON(`{"command":"npm publish"}`), Reason: "release 1.2", InputDigest: "sha256:ab",
				Hints: []api.Hint{{Level: api.HintDanger, Text: "customers see it"}, {Level: api.HintInfo, Text: "tests pass"}}, CreatedAtMs: 1000, ExpiresAtMs: &due,
			},
			[]prompt.Row{
				{Label: "tool", Kind: prompt.Title, Value: "Bash", Deciding: true},
				{Label: "action", Value: "Run a command", Deciding: true},
				{Label: "reason", Kind: prompt.Said, Value: "release 1.2", Deciding: true},
				{Label: "hints", Kind: prompt.List, Value: "danger: customers see it\ninfo: tests pass", Deciding: true},
				{Label: "command", Kind: prompt.Verbatim, Value: "npm publish", Deciding: true},
				{Label: "input digest", Value: "sha256:ab"},
				{Label: "raised", Kind: prompt.Time, AtMs: 1000, Deciding: true},
				{Label: "expires", Kind: prompt.Time, AtMs: 2000, Deciding: true},
			},
			[]string{"action: Run a command", "reason: release 1.2", "hints: danger: customers see it", "hints: info: tests pass", "command: npm publish"},
		},
		{
			"an edit that somebody else must allow",
			api.ApprovalRequest{ToolName: "Edit", Input: api.JSON(`{"file_path":"/w/a.go"}`), ExcludeRequester: true, Metadata: api.JSON(`{ "pr": 7 }`)},
			[]prompt.Row{
				{Label: "tool", Kind: prompt.Title, Value: "Edit", Deciding: true},
				{Label: "input", Kind: prompt.Body, Value: "{\n  \"file_path\": \"/w/a.go\"\n}", Deciding: true},
				{Label: "metadata", Value: `{"pr":7}`},
				{Label: "someone else must allow it", Value: "yes", Deciding: true},
			},
			[]string{"someone else must allow it: yes", "{\n  \"file_path\": \"/w/a.go\"\n}"},
		},
		{
			"a call with a schema",
			api.ApprovalRequest{ToolName: "pay", Input: api.JSON(`1`), InputSchema: api.JSON(`{ "type": "integer" }`)},
			[]prompt.Row{
				{Label: "tool", Kind: prompt.Title, Value: "pay", Deciding: true},
				{Label: "input", Kind: prompt.Body, Value: "1", Deciding: true},
				{Label: "may be edited to", Value: `{"type":"integer"}`},
			},
			[]string{"1"},
		},
		{
			"a call that may not be edited",
			api.ApprovalRequest{ToolName: "pay", Input: api.JSON(`1`), InputSchema: api.JSON(` false `)},
			[]prompt.Row{
				{Label: "tool", Kind: prompt.Title, Value: "pay", Deciding: true},
				{Label: "input", Kind: prompt.Body, Value: "1", Deciding: true},
				{Label: "may be edited", Value: "no"},
			},
			[]string{"1"},
		},
	} {
		rows := prompt.OfApproval(&test.request)
		require.Equal(t, test.rows, rows, test.name)
		require.Equal(t, test.lines, prompt.Lines(rows, func(text string, _ bool) string { return text }), test.name)
	}
}

// What runs is read as lines, each of them marked, so that none looks like a row or the end of the command.
func TestTextsOfSeveralLinesAreReadAsLines(t *testing.T) {
	t.Parallel()
	for input, want := range map[string][]string{
		`{"command":"npm ci\n\nnpm test"}`:                                                     {"action: Run a command", "command:", "│ npm ci", "│ ", "│ npm test"},
		`{"cmd":"ls\n│ x\nother input:","env":{"A":"b\nc"},"description":"See","x":1}`:         {"action: Run a command", "description: See", "command:", "│ ls", "│ │ x", "│ other input:", "other input:", `{"env":{"A":"b\nc"},"x":1}`},
		`{"argv":["sh","-c","a\nb"]}`:                                                          {"action: Run a command", "command:", "│ sh -c 'a", "│ b'"},
		`{"command":"make","argv":["/bin/bash","-lc","make"]}`:                                 {"action: Run a command", "command: make"},
		`{"command":"make","argv":["/tmp/bash","-lc","make"]}`:                                 {"action: Run a command", "command: make", "other input:", `{"argv":["/tmp/bash","-lc","make"]}`},
		`{"file_path":"a.sh","content":"#!/bin/sh\nls\n","reason":"a\nb","tool: x\ny":"a\nb"}`: {"action: Write a file", "input.content:", "│ #!/bin/sh", "│ ls", "│ ", "input.reason:", "│ a", "│ b", "other input:", `{"file_path":"a.sh","tool: x\ny":"a\nb"}`},
		`{"command":"create","path":"a.sh","file_text":"ls\nmake"}`:                            {"action: Write a file", "input.file_text:", "│ ls", "│ make", "other input:", `{"command":"create","path":"a.sh"}`},
		`{"description":"See"}`:                                                                {"description: See"},
		`{"command":"ls","command":"rm\n-rf"}`:                                                 {"action: Run a command", `{"command":"ls","command":"rm\n-rf"}`},
		`{"command":"a\n\ud800"}`:                                                              {"action: Run a command", `{"command":"a\n\ud800"}`},
		`{"command":"","x":"y"}`:                                                               {"action: Run a command", `{"command":"","x":"y"}`},
		`{"command":" \n","reason":" "}`:                                                       {"action: Run a command", `{"command":" \n","reason":" "}`},
		`{"file_path":"a","content":"\n"}`:                                                     {"action: Write a file", `{"file_path":"a","content":"\n"}`},
		`{"steps":["a\nb"]}`:                                                                   {`{"steps":["a\nb"]}`},
		`["a\nb"]`:                                                                             {`["a\nb"]`},
		`{}`:                                                                                   {`{}`},
	} {
		lines := prompt.Lines(prompt.OfApproval(&api.ApprovalRequest{Input: api.JSON(input)}), func(text string, _ bool) string {
			if json.Valid([]byte(text)) {
				text = prompt.Compact(api.JSON(text))
			}
			return text
		})
		require.Equal(t, want, lines, input)
	}
}

// A line break in the agent's words cannot fake a row of its own.
func TestWordsOfAnAgentStayInTheirRow(t *testing.T) {
	t.Parallel()
	rows := prompt.OfApproval(&api.ApprovalRequest{
		ToolName: "Bash", Input: api.JSON(`"ls"`), Reason: "x\nsomeone else must allow it: yes", Hints: []api.Hint{{Level: api.HintInfo, Text: "y\ninput: harmless"}},
	})
	lines := prompt.Lines(rows, func(text string, breaks bool) string {
		if !breaks {
			text = strings.ReplaceAll(text, "\n", "⟨LF⟩")
		}
		return text
	})
	require.Equal(t, []string{"reason: x⟨LF⟩someone else must allow it: yes", "hints: info: y", "hints: input: harmless", `"ls"`}, lines)

	// The hints of rules have rows of their own.
	rows = prompt.OfApproval(&api.ApprovalRequest{ToolName: "Bash", Input: api.JSON(`"ls"`), Hints: []api.Hint{
		{Level: api.HintDanger, Text: "production", RuleID: "prod"}, {Level: api.HintInfo, Text: "y\nhints of rules: info: harmless"},
	}})
	require.Equal(t, []string{"hints of rules: danger: production", "hints: info: y", "hints: hints of rules: info: harmless", `"ls"`},
		prompt.Lines(rows, func(text string, _ bool) string { return text }))
}

// A reason in which there is nothing to see is not a line.
func TestBlankWordsAreNoRow(t *testing.T) {
	t.Parallel()
	rows := prompt.OfApproval(&api.ApprovalRequest{ToolName: "Bash", Input: api.JSON(`1`), Reason: " ", Description: "\n"})
	require.Equal(t, []string{"1"}, prompt.Lines(rows, func(text string, _ bool) string { return text }))
}

func TestWhatIsReadBeforeAQuestionIsAnswered(t *testing.T) {
	t.Parallel()
	no := false
	rows := prompt.OfQuestion(&api.UserQuestionRequest{Questions: []api.UserQuestion{{
		ID: "q1", Header: "Database", Question: "Which one?", MultiSelect: true, AllowFreeform: &no,
		Options: []api.QuestionOption{{ID: "a", Label: "a"}, {ID: "b", Label: "Second", Description: "slower"}},
	}}})
	require.Equal(t, []prompt.Row{{
		Label: "question q1", Kind: prompt.Body, Value: "[Database] Which one?\n- a\n- b: Second (slower)\nseveral may be chosen", Deciding: true,
	}}, rows)
	typed := prompt.OfQuestion(&api.UserQuestionRequest{Kind: "form", Payload: api.JSON(`{}`), ResponseSchema: api.JSON(`{}`)})
	require.Len(t, typed, 3)
	require.Len(t, prompt.ForDeciding(typed), 2, "the kind decides nothing")
}

// A request that stays open after its deadline does not expire.
func TestAKeptDeadlineIsNoRow(t *testing.T) {
	t.Parallel()
	due := int64(2000)
	for action, want := range map[api.DeadlineAction]int64{"": due, api.DeadlineDeny: due, api.DeadlineKeep: 0} {
		escalation := &api.Escalation{AtDeadline: action}
		require.Equal(t, want, prompt.DeadlineMs(&due, escalation), action)
		for _, rows := range [][]prompt.Row{
			prompt.OfApproval(&api.ApprovalRequest{ExpiresAtMs: &due, Escalation: escalation}), prompt.OfQuestion(&api.UserQuestionRequest{ExpiresAtMs: &due, Escalation: escalation}),
		} {
			require.Equal(t, want != 0, slices.ContainsFunc(rows, func(row prompt.Row) bool { return row.Label == "expires" }), action)
		}
	}
	require.Equal(t, due, prompt.DeadlineMs(&due, nil))
	require.Zero(t, prompt.DeadlineMs(nil, nil))
}

func TestWhatADecisionSays(t *testing.T) {
	t.Parallel()
	require.Nil(t, prompt.OfResolution(nil))
	require.Equal(t, []prompt.Row{
		{Label: "edited to", Value: `{"a":1}`},
		{Label: "said", Kind: prompt.Said, Value: "no"},
		{Label: "justification", Kind: prompt.Said, Value: "late"},
		{Label: "rule", Value: "r1: Allow ls"},
	}, prompt.OfResolution(&api.Resolution{UpdatedInput: api.JSON(`{ "a": 1 }`), Reason: "no", Justification: "late", Rule: &api.AppliedRule{RuleID: "r1", Text: "Allow ls"}}))
	require.Equal(t, "denied by user:mara, 2m ago, in the inbox", prompt.Decided(api.OutcomeDenied, "user:mara", "api:inbox", "2m ago"))
	require.Equal(t, "allowed by user:mara, by the API", prompt.Decided(api.OutcomeAllowed, "user:mara", "api", ""))
}

// Members that no row shows, each with its reason. A new member of an approval needs a row or a line here.
var notShown = map[string]string{
	"ID": "names the request", "Handle": "names the request", "ToolCallID": "the agent's own id", "InputTruncated": "of summaries", "InputBytes": "of summaries",
	"InputMembers": "of summaries", "SensitivePaths": "the values are masked", "Callback": "never returned", "Traceparent": "of traces",
	"ExpiresAfterMs": "becomes ExpiresAtMs", "Escalation": "who is told, and when",
}

func TestEveryMemberOfAnApprovalHasARow(t *testing.T) {
	t.Parallel()
	members := reflect.TypeFor[api.ApprovalRequest]()
	for i := range members.NumField() {
		member := members.Field(i)
		if !member.IsExported() || notShown[member.Name] != "" {
			continue
		}
		var request api.ApprovalRequest
		before := len(prompt.OfApproval(&request))
		fill(t, reflect.ValueOf(&request).Elem().Field(i))
		require.Greater(t, len(prompt.OfApproval(&request)), before, "no row shows the member %s", member.Name)
	}
}

// fill sets a member to some value.
func fill(t *testing.T, member reflect.Value) {
	t.Helper()
	switch {
	case member.Type() == reflect.TypeFor[api.JSON]():
		member.Set(reflect.ValueOf(api.JSON(`{"a":1}`)))
	case member.Kind() == reflect.String:
		member.SetString("x")
	case member.Kind() == reflect.Bool:
		member.SetBool(true)
	case member.Kind() == reflect.Int64:
		member.SetInt(1)
	case member.Kind() == reflect.Pointer:
		member.Set(reflect.New(member.Type().Elem()))
		fill(t, member.Elem())
	case member.Kind() == reflect.Slice:
		member.Set(reflect.MakeSlice(member.Type(), 1, 1))
		fill(t, member.Index(0))
	case member.Kind() == reflect.Struct:
		fill(t, member.Field(member.NumField()-1))
	default:
		require.Fail(t, "a kind of member that this test cannot fill", "%s", member.Type())
	}
}
