package client_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// A run whose earlier decisions fill more than one page of the service: a handler that starts
// from the top is handed the last one, though its claim has none of them.
func TestADecisionOnALaterPageIsFound(t *testing.T) {
	t.Parallel()
	c := realClient(t)
	large := func(i int) api.ApprovalRequest { return approval(fmt.Sprint("a", i), strings.Repeat("x", 900<<10)) }
	const many = 6
	created := must(c.CreateRun(t.Context(), client.CreateRunParams{Input: "x", Claim: &api.ClaimOptions{WorkerID: "before"}}))(t)
	runID, fence := created.RunID, created.Claim.Lease.Fence
	for i := range many {
		must(c.Suspend(t.Context(), runID, fence, api.Suspension{Hold: true, Approvals: []api.ApprovalRequest{large(i)}}))(t)
		must(c.ResolveRunApprovals(t.Context(), runID, allowing(large(i).ID)))(t)
	}
	must(c.Heartbeat(t.Context(), runID, client.HeartbeatParams{Fence: fence, Checkpoint: api.JSON(`1`), SettledAfter: new(int64(many))}))(t)
	first := must(c.AwaitSettled(t.Context(), runID, fence, "0", 0))(t)
	require.Less(t, len(first.Settled), many)
	require.Positive(t, first.Open)
	must(c.ReleaseRun(t.Context(), runID, fence, nil))(t)

	work(t, c, func(ctx context.Context, task *client.Task) error {
		require.Nil(t, task.Resume())
		adopted, err := task.Approve(ctx, large(many-1))
		if err != nil {
			return err
		}
		return task.Complete(ctx, adopted.Outcome)
	})
	ended := must(c.WaitRun(t.Context(), runID, client.UntilTerminal))(t)
	require.Equal(t, `"allowed"`, string(ended.Output), ended.Error)
}

// A handler that starts from the top repeats a suspension whose decisions its claim does not have.
func TestARepeatedSuspensionHasItsOwnDecisions(t *testing.T) {
	t.Parallel()
	c := realClient(t)
	own := func(id string) api.Suspension {
		return api.Suspension{SuspensionID: "s-" + id, Approvals: []api.ApprovalRequest{approval(id, id)}}
	}
	created := must(c.CreateRun(t.Context(), client.CreateRunParams{Input: "x", Claim: &api.ClaimOptions{WorkerID: "before"}}))(t)
	runID := created.RunID
	must(c.Suspend(t.Context(), runID, created.Claim.Lease.Fence, own("first")))(t)
	must(c.ResolveRunApprovals(t.Context(), runID, client.ResolveApprovalsParams{
		Resolutions: []api.ApprovalResolution{{RequestID: "first", Behavior: api.BehaviorDeny}},
	}))(t)
	claim := must(c.ClaimRun(t.Context(), runID, api.ClaimOptions{WorkerID: "before"}))(t)
	must(c.Suspend(t.Context(), runID, claim.Lease.Fence, own("second")))(t)
	must(c.ResolveRunApprovals(t.Context(), runID, allowing("second")))(t)

	work(t, c, func(ctx context.Context, task *client.Task) error {
		outcomes := ""
		for _, id := range []string{"first", "second"} {
			resume, err := task.Suspend(ctx, own(id))
			if err != nil {
				return err
			}
			outcomes += resume.SuspensionID + " " + string(resume.Approvals[0].Resolution.Outcome) + " "
		}
		return task.Complete(ctx, outcomes)
	})
	ended := must(c.WaitRun(t.Context(), runID, client.UntilTerminal))(t)
	require.Equal(t, `"s-first denied s-second allowed "`, string(ended.Output), ended.Error)
}

// The service derives the id of a question that has only a tool call id.
func TestARepeatedSuspensionWithoutAQuestionID(t *testing.T) {
	t.Parallel()
	c := realClient(t)
	own := func(call string) api.Suspension {
		return api.Suspension{SuspensionID: "s-" + call, Questions: []api.UserQuestionRequest{{ToolCallID: call, Questions: []api.UserQuestion{{ID: "q", Question: "Which?"}}}}}
	}
	created := must(c.CreateRun(t.Context(), client.CreateRunParams{Input: "x", Claim: &api.ClaimOptions{WorkerID: "before"}}))(t)
	runID, fence := created.RunID, created.Claim.Lease.Fence
	for _, call := range []string{"first", "second"} {
		must(c.Suspend(t.Context(), runID, fence, own(call)))(t)
		must(c.AnswerRunQuestion(t.Context(), runID, client.AnswerQuestionParams{Resolution: api.UserQuestionResolution{
			RequestID: "question-request-" + call, Answers: []api.UserQuestionAnswer{{QuestionID: "q", FreeformAnswer: call}},
		}}))(t)
		if call == "first" {
			fence = must(c.ClaimRun(t.Context(), runID, api.ClaimOptions{WorkerID: "before"}))(t).Lease.Fence
		}
	}

	work(t, c, func(ctx context.Context, task *client.Task) error {
		answers := ""
		for _, call := range []string{"first", "second"} {
			resume, err := task.Suspend(ctx, own(call))
			if err != nil {
				return err
			}
			answers += resume.SuspensionID + " " + resume.Questions[0].Resolution.Answers[0].FreeformAnswer + " "
		}
		return task.Complete(ctx, answers)
	})
	ended := must(c.WaitRun(t.Context(), runID, client.UntilTerminal))(t)
	require.Equal(t, `"s-first first s-second second "`, string(ended.Output), ended.Error)
}

func TestASuspensionTakesNoOtherDecisions(t *testing.T) {
	t.Parallel()
	for name, other := range map[string]api.ApprovalRequest{
		"another suspension's": approval("other", "ls"), "about another input": approval("own", "rm -rf /"),
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *rig) {
				b.submit("run")
				b.service.setBefore(func(w http.ResponseWriter, r *http.Request) bool {
					if !strings.HasSuffix(r.URL.Path, "/suspend") {
						return false
					}
					answer(w, http.StatusOK, api.SuspendReply{Run: b.service.record("run").View(), Resume: &api.Resume{
						SuspensionID: "other", Questions: []api.SettledQuestion{},
						Approvals: []api.SettledApproval{{Request: other, Resolution: api.Resolution{Outcome: api.OutcomeAllowed, Behavior: api.BehaviorAllow}}},
					}}, nil)
					return true
				})
				b.start(client.WorkerOptions{MaxAttempts: 1}, func(ctx context.Context, task *client.Task) error {
					resume, err := task.Suspend(ctx, api.Suspension{SuspensionID: "own", Approvals: []api.ApprovalRequest{approval("own", "ls")}})
					require.Nil(b, resume)
					require.Error(b, err)
					require.NotErrorIs(b, err, client.ErrSuspended)
					return err
				})
				require.Equal(b, api.StatusFailed, b.terminal("run").Status)
				b.end()
			})
		})
	}
}

// No poll runs if rules decide every request. A checkpoint includes their decisions all the same,
// but none that reaches its goroutine after the checkpoint was made.
func TestACheckpointIncludesTheDecisionsOfRules(t *testing.T) {
	t.Parallel()
	polled, pages := make(chan struct{}), 0
	poll := sync.OnceFunc(func() { close(polled) })
	var mu sync.Mutex
	var included []int64
	c := realClient(t, client.WithHTTPClient(&http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		mu.Lock()
		defer mu.Unlock()
		resume := strings.HasSuffix(r.URL.Path, "/resume")
		switch {
		case resume && prefer(r) > 0:
			poll()
			mu.Unlock()
			<-r.Context().Done()
			mu.Lock()
			return nil, r.Context().Err()
		case resume:
			pages++
		case r.Body != nil:
			var sent struct {
				SettledAfter *int64 `json:"settled_after,string"`
			}
			text := must(io.ReadAll(r.Body))(t)
			r.Body = io.NopCloser(bytes.NewReader(text))
			require.NoError(t, json.Unmarshal(text, &sent))
			if sent.SettledAfter != nil {
				included = append(included, *sent.SettledAfter)
			}
		}
		mu.Unlock()
		defer mu.Lock()
		return http.DefaultTransport.RoundTrip(r)
	})}))
	must(c.AddRule(t.Context(), client.AddRuleParams{ToolName: "bash", Match: api.RuleMatch{Params: map[string]string{"command": "ls"}}}))(t)
	work(t, c, func(ctx context.Context, task *client.Task) error {
		if task.Checkpoint() != nil {
			return task.Complete(ctx, len(task.Resume().Approvals))
		}
		must(task.Approve(ctx, approval("first", "ls")))(t)
		require.NoError(t, task.SaveCheckpoint(ctx, 1))
		require.NoError(t, task.SaveCheckpoint(ctx, 2))
		var other sync.WaitGroup
		other.Go(func() {
			require.Equal(t, api.OutcomeAllowed, must(task.Approve(ctx, approval("open", "make")))(t).Outcome)
		})
		<-polled
		must(task.Approve(ctx, approval("second", "ls")))(t)
		must(c.ResolveRunApprovals(ctx, task.RunID(), allowing("open")))(t)
		require.NoError(t, task.SaveCheckpoint(ctx, 3))
		other.Wait()
		require.NoError(t, task.SaveCheckpoint(ctx, 4))
		must(task.Approve(ctx, approval("third", "ls")))(t)
		_, err := task.Suspend(ctx, api.Suspension{Approvals: []api.ApprovalRequest{approval("last", "make")}, Checkpoint: api.JSON(`5`)})
		return err
	})
	run := must(c.CreateRun(t.Context(), client.CreateRunParams{Input: "x"}))(t)
	untilSome(t, func(ctx context.Context) ([]string, error) {
		view, err := c.GetRun(ctx, run.RunID)
		if err != nil || len(view.PendingApprovalIDs) == 0 || view.PendingApprovalIDs[0] != "last" {
			return nil, err
		}
		return view.PendingApprovalIDs, nil
	})
	must(c.ResolveRunApprovals(t.Context(), run.RunID, allowing("last")))(t)
	ended := must(c.WaitRun(t.Context(), run.RunID, client.UntilTerminal))(t)
	require.Equal(t, `1`, string(ended.Output), ended.Error)
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, []int64{1, 1, 2, 3, 4}, included)
	require.Equal(t, 3, pages)
}
