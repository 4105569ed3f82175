package client_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// Only the types that the service alone writes say something about requests.
func TestChangeIn(t *testing.T) {
	t.Parallel()
	const resolution = `{"request_id":"a","outcome":"allowed"}`
	settled := api.Change{Resolutions: []api.Resolution{{RequestID: "a", Outcome: api.OutcomeAllowed}}}
	for event, want := range map[string]api.Change{
		`{"type":"waiting_for_approval","requests":[{"id":"a","tool_name":"bash"}]}`:                                 {Approvals: []api.ApprovalRequest{{ID: "a", ToolName: "bash"}}},
		`{"type":"waiting_for_user_question","requests":[{"id":"q"}]}`:                                               {Questions: []api.UserQuestionRequest{{ID: "q"}}},
		`{"type":"user_question_answered","request_id":"q","question_ids":["1"],"via":"api"}`:                        {RequestID: "q", QuestionIDs: []string{"1"}, Via: "api"},
		`{"type":"approval_resolved","resolutions":[` + resolution + `]}`:                                            settled,
		`{"type":"user_question_resolved","resolution":` + resolution + `}`:                                          settled,
		`{"type":"parent_clarification_resolved","resolution":` + resolution + `}`:                                   settled,
		`{"type":"approval_resolved","redacted":true}`:                                                               {},
		`{"type":"note","requests":[{"id":"a"}],"resolutions":[` + resolution + `],"resolution":` + resolution + `}`: {},
		`{"type":"note","resolutions":5,"request_id":7}`:                                                             {},
	} {
		change, err := client.ChangeIn(&api.RunEventEntry{Event: api.JSON(event)})
		require.NoError(t, err, event)
		require.Equal(t, want, change, event)
		require.Equal(t, want.Resolutions != nil || want.RequestID != "", change.Decided(), event)
	}
	for _, event := range []string{`{"type":5}`, `[]`, `{"type":"approval_resolved","resolutions":5}`} {
		_, err := client.ChangeIn(&api.RunEventEntry{Event: api.JSON(event)})
		require.Error(t, err, event)
	}
}
