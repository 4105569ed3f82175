package runs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/runs"
)

// A batch may load a run of another session, whose id somebody chose for a new run
// in this one. What that run waits for is nobody's business here.
func TestRequestsOfAnotherSessionAreNotFound(t *testing.T) {
	t.Parallel()
	state := runs.NewState("s")
	state.Session = &runs.Session{SessionID: "s", AgentID: runs.DefaultAgentID, CreatedAtMs: 1, UpdatedAtMs: 1}
	state.Runs["theirs"] = &runs.Run{RunID: "theirs", SessionID: "other", Status: runs.StatusWaitingForUserQuestion, FirstEventID: 1, LastEventID: 1}
	for id, kind := range map[string]runs.RequestKind{"q": runs.KindQuestion, "a": runs.KindApproval} {
		state.Requests[runs.RequestKey{RunID: "theirs", RequestID: id}] = &runs.Request{
			SessionID: "other", RunID: "theirs", RequestID: id, Kind: kind, Number: 1,
			Outcome: runs.OutcomeExpired, Resolution: runs.JSON(`{"request_id":"` + id + `","outcome":"expired"}`),
		}
	}
	for name, command := range map[string]runs.Command{
		"an answer":   &runs.AnswerQuestion{SessionID: "s", Resolution: runs.QuestionAnswer{RequestID: "q", Declined: true}},
		"an approval": &runs.ResolveApprovals{SessionID: "s", Resolutions: []runs.ApprovalDecision{{RequestID: "a", Behavior: runs.BehaviorAllow}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.NoError(t, runs.Prepare(command, runs.NewID))
			change, _, err := runs.Decide(state, command, 2)
			require.True(t, change.Empty())
			require.Equal(t, runs.CodeRunStateConflict, runs.ErrorCode(err))
			var refused *runs.Error
			require.ErrorAs(t, err, &refused)
			require.Nil(t, refused.Recorded)
		})
	}
}
