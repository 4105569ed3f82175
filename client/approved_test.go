package client_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
)

type deploy struct {
	Version string `json:"version"`
	Force   bool   `json:"force"`
}

// resumeOf returns decisions about two approvals, the later one first.
func resumeOf(t *testing.T, first string) *api.Resume {
	t.Helper()
	var resume api.Resume
	require.NoError(t, json.Unmarshal([]byte(`{"approvals":[
		{"request":{"id":"second","tool_name":"rm","input":"build"},"resolution":{"request_id":"second","outcome":"expired","behavior":"deny","resolved_by":"system"}},
		{"request":{"id":"first","tool_name":"deploy","input":{"version":"1.4","force":true}},"resolution":`+first+`}],
		"questions":[{"request":{"id":"when"},"resolution":{"request_id":"when","outcome":"declined"}}]}`), &resume))
	return &resume
}

func TestDecisionsByRequestID(t *testing.T) {
	t.Parallel()
	resume := resumeOf(t, `{"request_id":"first","outcome":"allowed","behavior":"allow"}`)
	require.Equal(t, "rm", resume.Approval("second").Request.ToolName)
	require.Nil(t, resume.Approval("when"), "it is a question")
	require.Equal(t, api.OutcomeDeclined, resume.Question("when").Resolution.Outcome)
	require.Nil(t, resume.Question("first"))
	var input deploy
	require.NoError(t, resume.Approved("first", &input))
	require.Equal(t, deploy{"1.4", true}, input)
}

func TestAnEditReplacesTheWholeInput(t *testing.T) {
	t.Parallel()
	for edit, want := range map[string]deploy{
		`{"version":"1.5"}`: {Version: "1.5"}, // the approver removed "force"
		`{}`:                {},
		`null`:              {},
	} {
		resume := resumeOf(t, `{"request_id":"first","outcome":"allowed","behavior":"allow","updated_input":`+edit+`}`)
		input := deploy{"1.4", true}
		require.NoError(t, resume.Approved("first", &input), edit)
		require.Equal(t, want, input, edit)
		text := api.JSON(`"before"`)
		require.NoError(t, resume.Approved("first", &text))
		require.Equal(t, edit, string(text))
	}
}

func TestOnlyARecordedAllowIsApproved(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ resolution, says string }{
		{`{"outcome":"denied","behavior":"deny","resolved_by":"ann","reason":"not on a Friday"}`, "deploy was not allowed: denied by ann: not on a Friday"},
		{`{"outcome":"expired","behavior":"deny","resolved_by":"system"}`, "deploy was not allowed: expired"},
		{`{"outcome":"cancelled","behavior":"deny"}`, "deploy was not allowed: cancelled"},
		{`{"outcome":"denied","behavior":"deny","updated_input":{"version":"1.5"}}`, "deploy was not allowed: denied"},
		{`{"outcome":"allowed","behavior":"deny"}`, "deploy was not allowed: allowed"},
		{`{"outcome":"denied","behavior":"allow"}`, "deploy was not allowed: denied"},
		{`{}`, "deploy was not allowed: "},
	} {
		resume := resumeOf(t, test.resolution)
		input := deploy{Version: "unchanged"}
		err := resume.Approved("first", &input)
		var notAllowed *api.NotAllowedError
		require.ErrorAs(t, err, &notAllowed)
		require.EqualError(t, err, test.says)
		require.Equal(t, deploy{Version: "unchanged"}, input)
		require.Nil(t, resume.Approval("first").AllowedInput())
	}
}

func TestWhatCannotBeDecodedIsNotAllowedEither(t *testing.T) {
	t.Parallel()
	resume := resumeOf(t, `{"request_id":"first","outcome":"allowed","behavior":"allow","updated_input":{"version":7}}`)
	input := deploy{Version: "unchanged"}
	for _, err := range []error{
		resume.Approved("first", &input), resume.Approved("first", input), resume.Approved("first", nil),
		resume.Approved("first", (*deploy)(nil)), resume.Approved("nobody", &input), new(api.Resume).Approved("first", &input),
	} {
		require.Error(t, err)
		require.NotErrorAs(t, err, new(*api.NotAllowedError))
	}
	require.Equal(t, deploy{Version: "unchanged"}, input)
}
