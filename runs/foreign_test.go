package runs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// A batch may load a run of another session, because a caller chose its id for a new run in this
// one. Its requests are invisible here.
func TestRequestsOfAnotherSessionAreNotFound(t *testing.T) {
	t.Parallel()
	state := runs.NewState("s")
	state.Session = &model.Session{SessionID: "s", AgentID: model.DefaultAgentID, CreatedAtMs: 1, UpdatedAtMs: 1}
	state.Runs["theirs"] = &model.Run{RunID: "theirs", SessionID: "other", Status: api.StatusWaitingForUserQuestion, FirstEventID: 1, LastEventID: 1}
	for id, kind := range map[string]model.RequestKind{"q": model.KindQuestion, "a": model.KindApproval} {
		state.Requests[runs.RequestKey{RunID: "theirs", RequestID: id}] = &model.Request{
			SessionID: "other", RunID: "theirs", RequestID: id, Kind: kind, Number: 1,
			Outcome: api.OutcomeExpired, Resolution: api.JSON(`{"request_id":"` + id + `","outcome":"expired"}`),
		}
	}
	for name, command := range map[string]runs.Command{
		"an answer":   &runs.AnswerQuestion{SessionID: "s", Resolution: runs.QuestionAnswer{RequestID: "q", Declined: true}},
		"an approval": &runs.ResolveApprovals{SessionID: "s", Resolutions: []runs.ApprovalDecision{{RequestID: "a", Behavior: api.BehaviorAllow}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.NoError(t, runs.Prepare(command, runs.NewID))
			change, _, err := runs.Decide(state, command, 2)
			require.True(t, change.Empty())
			require.Equal(t, api.CodeRunStateConflict, refusal.CodeOf(err))
			var refused *refusal.Error
			require.ErrorAs(t, err, &refused)
			require.Nil(t, refused.Recorded)
		})
	}
}
