package runs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// parallelHouse is newHouse for a test that runs next to others.
func parallelHouse(t *testing.T) *house {
	t.Helper()
	t.Parallel()
	return newHouse(t)
}

// inHouse runs a case next to the others, with a house of its own.
func inHouse(t *testing.T, name string, test func(t *testing.T, h *house)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { test(t, parallelHouse(t)) })
}

// The requests that most tests here raise.
func approval(id string) api.ApprovalRequest {
	return api.ApprovalRequest{ID: id, ToolCallID: "call-" + id, ToolName: "bash", Input: api.JSON(`{"command":"ls"}`)}
}

func question(id string) api.UserQuestionRequest {
	return api.UserQuestionRequest{ID: id, ToolCallID: "call-" + id, Questions: []api.UserQuestion{{
		ID: "route", Header: "Route", Question: "Which route?",
		AllowFreeform: new(true), Options: []api.QuestionOption{{ID: "north", Label: "North"}, {ID: "south", Label: "South"}},
	}}}
}

// create creates a run in session "s".
func (h *house) create(runID string) *house {
	h.t.Helper()
	h.must(&runs.CreateRun{SessionID: "s", SessionGiven: true, RunID: runID, Input: api.JSON(`"go"`)})
	return h
}

// claim claims a run and returns the fence.
func (h *house) claim(runID string) int64 {
	h.t.Helper()
	reply := h.must(&runs.ClaimRun{RunID: runID, WorkerID: "worker"})
	require.NotNil(h.t, reply.Claim)
	return reply.Run.Run.Fence
}

// start creates a run and claims it; its fence is 1.
func (h *house) start(runID string) *house {
	h.t.Helper()
	h.create(runID)
	require.Equal(h.t, int64(1), h.claim(runID))
	return h
}

// wait creates a run, claims it and suspends it for the given approval and question
// requests.
func (h *house) wait(runID string, requests ...any) *house {
	h.t.Helper()
	h.start(runID)
	h.must(suspend(runID, 1, requests...))
	return h
}

// suspend raises approvals, questions or both.
func suspend(runID string, fence int64, requests ...any) *runs.Suspend {
	command := &runs.Suspend{RunID: runID, Fence: fence}
	for _, request := range requests {
		switch request := request.(type) {
		case api.ApprovalRequest:
			command.Approvals = append(command.Approvals, request)
		case api.UserQuestionRequest:
			command.Questions = append(command.Questions, request)
		default:
			panic("neither an approval nor a question")
		}
	}
	return command
}

// hold is suspend for a worker that stays.
func hold(runID string, fence int64, requests ...any) *runs.Suspend {
	command := suspend(runID, fence, requests...)
	command.Hold = true
	return command
}

// allow and deny decide approvals of a run.
func allow(runID string, ids ...string) *runs.ResolveApprovals {
	return decisions(runID, api.BehaviorAllow, ids)
}

func deny(runID string, ids ...string) *runs.ResolveApprovals {
	return decisions(runID, api.BehaviorDeny, ids)
}

func decisions(runID string, behavior api.Behavior, ids []string) *runs.ResolveApprovals {
	command := &runs.ResolveApprovals{RunID: runID, Resolutions: []runs.ApprovalDecision{}}
	for _, id := range ids {
		command.Resolutions = append(command.Resolutions, runs.ApprovalDecision{RequestID: id, Behavior: behavior})
	}
	return command
}

// answer chooses options of the question that question returns.
func answer(runID, id string, options ...string) *runs.AnswerQuestion {
	return &runs.AnswerQuestion{RunID: runID, Resolution: runs.QuestionAnswer{
		RequestID: id, Answers: []api.UserQuestionAnswer{{QuestionID: "route", SelectedOptionIDs: options}},
	}}
}

func decline(runID, id string) *runs.AnswerQuestion {
	return &runs.AnswerQuestion{RunID: runID, Resolution: runs.QuestionAnswer{RequestID: id, Declined: true}}
}

// approveInSession and answerInSession move a command from a run's route to its session's.
func approveInSession(command *runs.ResolveApprovals) *runs.ResolveApprovals {
	command.SessionID, command.RunID = "s", ""
	return command
}

func answerInSession(command *runs.AnswerQuestion) *runs.AnswerQuestion {
	command.SessionID, command.RunID = "s", ""
	return command
}

func expiringApproval(id string, atMs int64) api.ApprovalRequest {
	request := approval(id)
	request.ExpiresAtMs = &atMs
	return request
}

func expiringQuestion(id string, atMs int64) api.UserQuestionRequest {
	request := question(id)
	request.ExpiresAtMs = &atMs
	return request
}

// requireRecorded checks the recorded decision in a late caller's error.
func requireRecorded(t require.TestingT, refusal *refusal.Error, requestID string, outcome api.Outcome, via string) {
	require.NotNil(t, refusal.Recorded, refusal.Detail)
	require.Equal(t, requestID, refusal.Recorded.RequestID)
	require.Equal(t, outcome, refusal.Recorded.Outcome)
	require.Equal(t, via, refusal.Recorded.Via)
	require.NotZero(t, refusal.Recorded.ResolvedAtMs)
	require.NotEmpty(t, refusal.Recorded.ResolvedBy)
}
