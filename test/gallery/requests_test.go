package gallery

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/test/rig"
)

// The bug: parallel waits shared an id, and an approval went to the wrong tool. Here two identical
// calls in one suspension are two requests that are decided separately, and so are requests with
// the same id in two runs.
func TestGallery06IdenticalParallelCalls(t *testing.T) {
	onServices(t, func(t *testing.T, s *service) {
		twin := func(id string) api.ApprovalRequest {
			call := rig.Approval(id)
			call.ToolCallID = "call"
			return call
		}
		for _, runID := range []string{"one", "other"} {
			waitingRun(t, s.at(0), runID, asking(twin("left"), twin("right")))
		}
		handles := map[string]bool{}
		for view, err := range s.at(1).AllApprovals(rig.Soon(t), client.PendingListParams{}) {
			require.NoError(t, err)
			handles[view.Request.Handle] = true
		}
		require.Len(t, handles, 4, "each request has its own handle")

		_, err := s.at(1).ResolveRunApprovals(rig.Soon(t), "one", decide("right", api.BehaviorDeny))
		require.NoError(t, err)
		run, err := s.at(0).GetRun(rig.Soon(t), "one")
		require.NoError(t, err)
		require.Equal(t, api.StatusWaitingForApproval, run.Status)
		require.Equal(t, []string{"left"}, run.PendingApprovalIDs, "the twin is decided for itself")
		s.requireNotClaimable(t, "one")
		_, err = s.at(0).ResolveRunApprovals(rig.Soon(t), "one", decide("left", api.BehaviorAllow))
		require.NoError(t, err)

		held := mustClaim(t, s.at(1), "one")
		require.Equal(t, map[string]api.Outcome{
			"left": api.OutcomeAllowed, "right": api.OutcomeDenied,
		}, outcomes(held.Resume))
		run, err = s.at(1).GetRun(rig.Soon(t), "other")
		require.NoError(t, err)
		require.Equal(t, []string{"left", "right"}, run.PendingApprovalIDs, "the other run was not meant")

		// An id can be used once in a run: in one suspension, and ever after.
		_, err = s.at(0).Suspend(rig.Soon(t), "one", held.Lease.Fence, *asking(twin("same"), twin("same")))
		require.Equal(t, "/approvals/1/id", requireRefused(t, err, api.CodeInvalidRequest).Faults[0].Pointer)
		_, err = s.at(0).Suspend(rig.Soon(t), "one", held.Lease.Fence, *asking(twin("left")))
		requireRefused(t, err, api.CodeIDConflict)
		complete(t, s.at(0), held)
	})
}

func outcomes(resume *api.Resume) map[string]api.Outcome {
	found := map[string]api.Outcome{}
	for _, settled := range resume.Approvals {
		found[settled.Request.ID] = settled.Resolution.Outcome
	}
	for _, settled := range resume.Questions {
		found[settled.Request.ID] = settled.Resolution.Outcome
	}
	return found
}

// The bug: a reply to an unknown id got "200 true". Here every such call is refused with a code and
// changes nothing.
func TestGallery09UnknownIDs(t *testing.T) {
	onServices(t, func(t *testing.T, s *service) {
		waitingRun(t, s.at(0), "run", &api.Suspension{
			Approvals: []api.ApprovalRequest{rig.Approval("deploy")}, Questions: []api.UserQuestionRequest{rig.Question("ask")},
		})
		held := startedRun(t, s.at(0), "held")
		_, err := s.at(0).Suspend(rig.Soon(t), "held", held.Lease.Fence, api.Suspension{
			Approvals: []api.ApprovalRequest{rig.Approval("deploy")}, Hold: true,
		})
		require.NoError(t, err)
		before := s.lastEvents(t, "run", "held")
		allow := func(id string) client.ResolveApprovalsParams { return decide(id, api.BehaviorAllow) }
		both := allow("deploy")
		both.Resolutions = append(both.Resolutions, allow("nothing").Resolutions...)
		for _, r := range s.replicas {
			ctx, c := rig.Soon(t), r.client
			for name, unknown := range map[string]struct {
				code api.Code
				err  error
			}{
				"approval of no run":              {api.CodeRunNotFound, failure(c.ResolveRunApprovals(ctx, "nobody", allow("deploy")))},
				"approval of no session":          {api.CodeSessionNotFound, failure(c.ResolveSessionApprovals(ctx, "nobody", allow("deploy")))},
				"active approval of no session":   {api.CodeSessionNotFound, failure(c.ResolveActiveRunApprovals(ctx, "nobody", allow("deploy")))},
				"no approval of the run":          {api.CodeApprovalNotPending, failure(c.ResolveRunApprovals(ctx, "run", allow("nothing")))},
				"no approval of the session":      {api.CodeApprovalNotPending, failure(c.ResolveSessionApprovals(ctx, "session-of-run", allow("nothing")))},
				"an approval of the run and none": {api.CodeApprovalNotPending, failure(c.ResolveRunApprovals(ctx, "run", both))},
				"a question is not an approval":   {api.CodeApprovalNotPending, failure(c.ResolveRunApprovals(ctx, "run", allow("ask")))},
				"answer of no run":                {api.CodeRunNotFound, failure(c.AnswerRunQuestion(ctx, "nobody", rig.Choose("ask", "left")))},
				"answer of no session":            {api.CodeSessionNotFound, failure(c.AnswerSessionQuestion(ctx, "nobody", rig.Choose("ask", "left")))},
				"no question of the run":          {api.CodeQuestionRequestMismatch, failure(c.AnswerRunQuestion(ctx, "run", rig.Choose("nothing", "left")))},
				"no question of the session":      {api.CodeQuestionRequestMismatch, failure(c.AnswerSessionQuestion(ctx, "session-of-run", rig.Choose("nothing", "left")))},
				"no option of the question":       {api.CodeQuestionOptionNotFound, failure(c.AnswerRunQuestion(ctx, "run", rig.Choose("ask", "nowhere")))},
				"no question to cancel":           {api.CodeQuestionRequestMismatch, failure(c.CancelQuestion(ctx, "run", "nothing", client.CancelQuestionParams{}))},
				"nothing to withdraw":             {api.CodeRequestNotFound, failure(c.Withdraw(ctx, "held", "nothing", held.Lease.Fence, ""))},
				"no run to show":                  {api.CodeRunNotFound, failure(c.GetRun(ctx, "nobody"))},
				"no run to cancel":                {api.CodeRunNotFound, failure(c.CancelRun(ctx, "nobody", ""))},
				"no run to claim":                 {api.CodeRunNotFound, failure(c.ClaimRun(ctx, "nobody", api.ClaimOptions{WorkerID: "worker"}))},
				"no run to keep alive":            {api.CodeRunNotFound, failure(c.Heartbeat(ctx, "nobody", client.HeartbeatParams{Fence: "1"}))},
				"no run to suspend":               {api.CodeRunNotFound, failure(c.Suspend(ctx, "nobody", "1", *rig.Approvals("deploy")))},
				"no run to complete":              {api.CodeRunNotFound, failure(c.CompleteRun(ctx, "nobody", "1", nil))},
				"no session to interrupt":         {api.CodeSessionNotFound, failure(c.InterruptSession(ctx, "nobody", ""))},
				"no session to end":               {api.CodeSessionNotFound, failure(c.EndSession(ctx, "nobody", ""))},
				"no events of a run":              {api.CodeRunNotFound, failure(c.ListRunEvents(ctx, "nobody", client.EventListParams{}))},
				"no events of a session":          {api.CodeSessionNotFound, failure(c.ListSessionEvents(ctx, "nobody", client.EventListParams{}))},
				"a fence that was never given":    {api.CodeLeaseLost, failure(c.CompleteRun(ctx, "held", "999", nil))},
			} {
				require.Error(t, unknown.err, name)
				require.Equal(t, unknown.code, refusal(t, unknown.err).Code, name)
			}
		}
		require.Equal(t, before, s.lastEvents(t, "run", "held"), "a refused call must change nothing")
	})
}

// failure returns only the error of a call that must fail.
func failure[Result any](_ Result, err error) error { return err }

// lastEvents returns the newest event of each run's session.
func (s *service) lastEvents(t *testing.T, runIDs ...string) map[string]string {
	t.Helper()
	last := map[string]string{}
	for _, runID := range runIDs {
		session, err := s.at(0).GetSession(rig.Soon(t), "session-of-"+runID)
		require.NoError(t, err)
		last[runID] = session.LastEventID
	}
	return last
}

// The bug: approval for one set of arguments was used for another. Here the worker receives exactly
// the input that was decided, and a call raised again with other arguments is a new request.
func TestGallery20ApprovalOfOtherArguments(t *testing.T) {
	onServices(t, func(t *testing.T, s *service) {
		call := func(id, input string) api.ApprovalRequest {
			request := rig.Approval(id)
			request.ToolCallID, request.Input = "call", api.JSON(input)
			return request
		}
		const small, large = `{"amount":10,"to":"ada"}`, `{"amount":10000,"to":"ada"}`
		waitingRun(t, s.at(0), "run", asking(call("pay", small)))

		params := decide("pay", api.BehaviorAllow)
		params.IdempotencyKey = "click"
		_, err := s.at(1).ResolveRunApprovals(rig.Soon(t), "run", params)
		require.NoError(t, err)
		edited := params
		edited.Resolutions = []api.ApprovalResolution{{RequestID: "pay", Behavior: api.BehaviorAllow, UpdatedInput: api.JSON(large)}}
		_, err = s.at(0).ResolveRunApprovals(rig.Soon(t), "run", edited)
		requireRefused(t, err, api.CodeIdempotencyConflict)

		held := mustClaim(t, s.at(0), "run")
		require.Len(t, held.Resume.Approvals, 1)
		require.Equal(t, small, string(held.Resume.Approvals[0].Request.Input))
		require.Nil(t, held.Resume.Approvals[0].Resolution.UpdatedInput)

		// Other arguments under the same id are refused; under another id they wait.
		_, err = s.at(1).Suspend(rig.Soon(t), "run", held.Lease.Fence, *asking(call("pay", large)))
		requireRefused(t, err, api.CodeIDConflict)
		again := *asking(call("pay-again", large))
		again.SuspensionID = "again"
		suspended, err := s.at(1).Suspend(rig.Soon(t), "run", held.Lease.Fence, again)
		require.NoError(t, err)
		require.Nil(t, suspended.Resume, "the earlier approval must not count")
		require.Equal(t, api.StatusWaitingForApproval, suspended.Run.Status)
		changed := *asking(call("pay-again", small))
		changed.SuspensionID = "again"
		_, err = s.at(1).Suspend(rig.Soon(t), "run", held.Lease.Fence, changed)
		requireRefused(t, err, api.CodeIDConflict)
		s.requireNotClaimable(t, "run")

		// The approver's edit is stored next to the original input, and both are handed over.
		_, err = s.at(0).ResolveRunApprovals(rig.Soon(t), "run", client.ResolveApprovalsParams{Resolutions: []api.ApprovalResolution{
			{RequestID: "pay-again", Behavior: api.BehaviorAllow, UpdatedInput: api.JSON(small)},
		}})
		require.NoError(t, err)
		held = mustClaim(t, s.at(1), "run")
		require.Len(t, held.Resume.Approvals, 1, "the first decision belongs to the first suspension")
		require.Equal(t, large, string(held.Resume.Approvals[0].Request.Input))
		require.Equal(t, small, string(held.Resume.Approvals[0].Resolution.UpdatedInput))
		complete(t, s.at(1), held)
	})
}
