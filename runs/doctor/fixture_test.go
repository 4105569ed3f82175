package doctor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
)

// fill creates, through the door, runs in every state that the corruptions start from. The
// comments number the events of each session.
func fill(t *testing.T, door runs.Door) {
	t.Helper()
	do := func(command runs.Command) {
		t.Helper()
		_, err := door.Do(t.Context(), command)
		require.NoError(t, err, "%T", command)
	}
	create := func(sessionID, runID string) {
		t.Helper()
		do(&runs.CreateRun{SessionID: sessionID, SessionGiven: true, RunID: runID, Input: api.JSON(`1`), Key: "key-" + runID})
	}
	claim := func(runID string) {
		t.Helper()
		do(&runs.ClaimRun{RunID: runID, WorkerID: "w", LeaseMs: api.MaxLeaseMs})
	}
	decide := func(runID, requestID string, behavior api.Behavior) {
		t.Helper()
		do(&runs.ResolveApprovals{RunID: runID, Resolutions: []runs.ApprovalDecision{{RequestID: requestID, Behavior: behavior}}})
	}
	note := api.JSON(`{"type":"note"}`)

	create("work", "done")                                                                                                      // 1 accepted, 2 queued
	claim("done")                                                                                                               // 3 started
	do(&runs.AppendEvents{RunID: "done", Fence: 1, Events: []api.JSON{note, api.JSON(`{"type":"output","content":"so far"}`)}}) // 4, 5
	do(&runs.Suspend{RunID: "done", Fence: 1, Suspension: approvals("a-1", "a-2")})                                             // 6 waiting_for_approval
	decide("done", "a-1", api.BehaviorAllow)                                                                                    // 7 approval_resolved
	decide("done", "a-2", api.BehaviorDeny)                                                                                     // 8 approval_resolved, 9 started
	claim("done")
	do(&runs.AppendEvents{RunID: "done", Fence: 2, Events: []api.JSON{note}})  // 10
	do(&runs.Complete{RunID: "done", Fence: 2, Output: api.JSON(`"the end"`)}) // 11 completed

	create("work", "waits")                                                          // 12, 13
	claim("waits")                                                                   // 14 started
	do(&runs.Suspend{RunID: "waits", Fence: 1, Suspension: approvals("w-1", "w-2")}) // 15 waiting_for_approval
	decide("waits", "w-1", api.BehaviorAllow)                                        // 16 approval_resolved
	create("work", "next")                                                           // 17, 18
	create("work", "later")                                                          // 19, 20

	create("asks", "asked") // 1, 2
	claim("asked")          // 3 started
	held := questions("q-1")
	held.Hold = true
	do(&runs.Suspend{RunID: "asked", Fence: 1, Suspension: held}) // 4 waiting_for_user_question

	create("free", "ready") // 1, 2

	create("held", "runs")                                                    // 1, 2
	claim("runs")                                                             // 3 started
	do(&runs.AppendEvents{RunID: "runs", Fence: 1, Events: []api.JSON{note}}) // 4

	create("answered", "told")                                                      // 1, 2
	claim("told")                                                                   // 3 started
	do(&runs.Suspend{RunID: "told", Fence: 1, Suspension: questions("q-1", "q-2")}) // 4 waiting_for_user_question
	do(&runs.AnswerQuestion{RunID: "told", Resolution: runs.QuestionAnswer{
		RequestID: "q-1", Answers: []api.UserQuestionAnswer{{QuestionID: "which", SelectedOptionIDs: []string{"x"}}},
	}}) // 5 user_question_resolved
	do(&runs.AnswerQuestion{RunID: "told", Resolution: runs.QuestionAnswer{RequestID: "q-2", Declined: true}}) // 6, 7 started
	claim("told")
	do(&runs.Fail{RunID: "told", Fence: 2, Error: "broken"}) // 8 failed

	create("over", "ended")
	do(&runs.EndSession{SessionID: "over"})
	do(&runs.CreateSession{SessionID: "idle"})
}

func approvals(ids ...string) api.Suspension {
	var s api.Suspension
	for _, id := range ids {
		s.Approvals = append(s.Approvals, api.ApprovalRequest{ID: id, ToolCallID: "call", ToolName: "bash", Input: api.JSON(`{"command":"make"}`)})
	}
	return s
}

func questions(ids ...string) api.Suspension {
	var s api.Suspension
	for _, id := range ids {
		s.Questions = append(s.Questions, api.UserQuestionRequest{ID: id, ToolCallID: "call", Questions: []api.UserQuestion{
			{ID: "which", Question: "Which?", AllowFreeform: new(true), Options: []api.QuestionOption{{ID: "x"}, {ID: "y"}}},
		}})
	}
	return s
}
