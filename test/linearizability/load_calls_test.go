//go:build unix && faults

package linearizability

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// caller makes calls and translates the replies for the model.
type caller struct {
	number  int
	name    string
	history *history
}

// callTimeout is when a caller gives up, in addition to the wait that it requested.
const callTimeout = 1200 * time.Millisecond

// make records a call on a run. do fills in the parts of the reply that the model knows.
func (c *caller) make(runID string, in input, do func(out *output) error) output {
	return c.history.call(runID, c.number, in, func() (out output) {
		if err := do(&out); err != nil {
			out = judge(err)
		}
		out.Nothing = out.Nothing || out.Unknown && in.Kind == callRead
		return out
	})
}

// judge returns the output of a call that returned an error.
func judge(err error) (out output) {
	if refused, ok := errors.AsType[*client.Error](err); ok && refused.Code != "" && refused.Status < 500 {
		out.Code = refused.Code
		if refused.Recorded != nil {
			out.RecordedSlot = slotOf(refused.Recorded.RequestID)
			out.Recorded = settled{Outcome: refused.Recorded.Outcome, Mark: refused.Recorded.ResolvedBy + "#"}
		}
		return out
	}
	var network *net.OpError
	out.Unknown = true
	out.Nothing = errors.As(err, &network) && network.Op == "dial"
	return out
}

func (c *caller) create(ctx context.Context, service *client.Client, b *board) output {
	in := input{Kind: callCreate, Mark: c.name, Key: 1}
	return c.make(b.runID, in, func(out *output) error {
		created, err := service.CreateRun(ctx, client.CreateRunParams{
			SessionID: b.sessionID, RunID: b.runID, AgentID: b.agentID, Input: b.runID,
			IdempotencyKey: keyText(b, in.Key),
		})
		if err == nil {
			out.Repeated, out.Status = created.Replayed || created.Existing, created.Status
		}
		return err
	})
}

func (c *caller) read(ctx context.Context, service *client.Client, b *board) output {
	return c.make(b.runID, input{Kind: callRead, Mark: c.name}, func(out *output) error {
		run, err := service.GetRun(ctx, b.runID)
		if err == nil {
			out.take(run)
		}
		return err
	})
}

func (c *caller) claim(ctx context.Context, service *client.Client, b *board) output {
	in := input{Kind: callClaim, Mark: c.name, LeaseMs: leaseMs}
	return c.make(b.runID, in, func(out *output) error {
		claim, err := service.ClaimRun(ctx, b.runID, api.ClaimOptions{WorkerID: c.name, LeaseMs: leaseMs})
		if err != nil {
			return err
		}
		return out.takeClaim(claim)
	})
}

// await claims as workers do, by a held claim for an agent. Each run has its own agent.
func (c *caller) await(ctx context.Context, service *client.Client, b *board, waitMs int64) output {
	in := input{Kind: callClaim, Mark: c.name, LeaseMs: leaseMs}
	return c.make(b.runID, in, func(out *output) error {
		claims, err := service.ClaimRuns(ctx, client.ClaimRunsParams{
			WorkerID: c.name, AgentIDs: []string{b.agentID}, LeaseMs: leaseMs, WaitMs: waitMs,
		})
		if err != nil {
			return err
		}
		if len(claims) == 0 {
			out.Nothing = true
			return nil
		}
		return out.takeClaim(&claims[0])
	})
}

func (c *caller) heartbeat(ctx context.Context, service *client.Client, b *board, fence int64) output {
	in := input{Kind: callHeartbeat, Mark: c.name, Fence: fence, LeaseMs: leaseMs}
	return c.make(b.runID, in, func(out *output) error {
		result, err := service.Heartbeat(ctx, b.runID, client.HeartbeatParams{Fence: fenceText(fence), LeaseMs: leaseMs})
		if err == nil {
			out.LapsesAtMs, out.CancelRequested = result.ExpiresAtMs, result.CancelRequested
		}
		return err
	})
}

func (c *caller) release(ctx context.Context, service *client.Client, b *board, fence int64, variant int) output {
	in := input{Kind: callRelease, Mark: c.name, Fence: fence, Variant: variant}
	var checkpoint api.JSON
	if variant != 0 {
		checkpoint = api.JSON(strconv.Itoa(variant))
	}
	return c.make(b.runID, in, func(out *output) error {
		ctx, repeated := noticeRepeated(ctx)
		run, err := service.ReleaseRun(ctx, b.runID, fenceText(fence), checkpoint)
		if err == nil {
			out.Status, out.Repeated = run.Status, *repeated
		}
		return err
	})
}

func (c *caller) suspend(ctx context.Context, service *client.Client, b *board, in input) output {
	in.Mark = c.name
	return c.make(b.runID, in, func(out *output) error {
		ctx, repeated := noticeRepeated(ctx)
		result, err := service.Suspend(ctx, b.runID, fenceText(in.Fence), suspensionOf(in))
		if err == nil {
			out.Status, out.Repeated = result.Run.Status, *repeated
		}
		return err
	})
}

func (c *caller) complete(ctx context.Context, service *client.Client, b *board, fence int64, mark string) output {
	in := input{Kind: callComplete, Mark: mark, Fence: fence}
	return c.make(b.runID, in, func(out *output) error {
		ctx, repeated := noticeRepeated(ctx)
		run, err := service.CompleteRun(ctx, b.runID, fenceText(fence), api.JSON(strconv.Quote(mark)))
		if err == nil {
			out.Status, out.Repeated = run.Status, *repeated
		}
		return err
	})
}

func (c *caller) cancelRun(ctx context.Context, service *client.Client, b *board, mark string) output {
	return c.make(b.runID, input{Kind: callCancelRun, Mark: mark}, func(out *output) error {
		run, err := service.CancelRun(ctx, b.runID, mark)
		if err == nil {
			out.Status = run.Status
		}
		return err
	})
}

// decide makes a call that settles requests, as its input says.
func (c *caller) decide(ctx context.Context, service *client.Client, b *board, in input) output {
	return c.make(b.runID, in, func(out *output) error {
		var result *client.RunResult
		var err error
		slot, key := requestID(in.Decisions[0].Slot), keyText(b, in.Key)
		switch in.Kind {
		case callResolve:
			params := client.ResolveApprovalsParams{IdempotencyKey: key}
			for _, one := range in.Decisions {
				behavior := api.BehaviorAllow
				if one.Outcome == api.OutcomeDenied {
					behavior = api.BehaviorDeny
				}
				params.Resolutions = append(params.Resolutions, api.ApprovalResolution{
					RequestID: requestID(one.Slot), Behavior: behavior, Justification: in.Mark,
				})
			}
			result, err = service.ResolveRunApprovals(ctx, b.runID, params)
		case callAnswer:
			resolution := api.UserQuestionResolution{RequestID: slot, Justification: in.Mark}
			if in.Decisions[0].Outcome == api.OutcomeDeclined {
				resolution.Declined = true
			} else {
				resolution.Answers = []api.UserQuestionAnswer{{QuestionID: "q", SelectedOptionIDs: []string{"yes"}}}
			}
			result, err = service.AnswerRunQuestion(ctx, b.runID, client.AnswerQuestionParams{Resolution: resolution, IdempotencyKey: key})
		default:
			result, err = service.CancelQuestion(ctx, b.runID, slot, client.CancelQuestionParams{Justification: in.Mark, IdempotencyKey: key})
		}
		if err == nil {
			out.Repeated, out.Status = result.Replayed, result.Status
		}
		return err
	})
}

// suspensionOf builds the suspension that an input describes. It is the same each time.
func suspensionOf(in input) api.Suspension {
	suspension := api.Suspension{SuspensionID: fmt.Sprintf("s%d-%d", in.Round, in.Fence)}
	for _, one := range in.Asked {
		var dueAtMs *int64
		if one.DueAtMs != 0 {
			dueAtMs = &one.DueAtMs
		}
		if !one.Question {
			suspension.Approvals = append(suspension.Approvals, api.ApprovalRequest{
				ID: requestID(one.Slot), ToolCallID: requestID(one.Slot), ToolName: "pay",
				Input: api.JSON(`{"cents":100}`), ExpiresAtMs: dueAtMs,
			})
			continue
		}
		suspension.Questions = append(suspension.Questions, api.UserQuestionRequest{
			ID: requestID(one.Slot), ToolCallID: requestID(one.Slot), ExpiresAtMs: dueAtMs,
			Questions: []api.UserQuestion{{
				ID: "q", Header: "Pay", Question: "Pay it?",
				Options: []api.QuestionOption{{ID: "yes", Label: "Yes"}, {ID: "no", Label: "No"}},
			}},
		})
	}
	return suspension
}

// take reads a view of a run.
func (out *output) take(run *api.RunView) {
	out.Status = run.Status
	for _, id := range append(run.PendingApprovalIDs, run.PendingQuestionIDs...) {
		out.Open[slotOf(id)] = true
	}
	out.takeResume(run.Resume)
	out.Result, _ = strconv.Unquote(string(run.Output))
}

func (out *output) takeClaim(claim *api.Claim) error {
	fence, err := strconv.ParseInt(claim.Lease.Fence, 10, 64)
	if err != nil {
		return err
	}
	out.Fence, out.LapsesAtMs, out.Status = fence, claim.Lease.ExpiresAtMs, claim.Run.Status
	out.takeResume(claim.Resume)
	return nil
}

func (out *output) takeResume(resume *api.Resume) {
	if resume == nil {
		return
	}
	for _, one := range resume.Approvals {
		out.Settled[slotOf(one.Request.ID)] = settled{one.Resolution.Outcome, markOf(&one.Resolution.Justification, one.Resolution.ResolvedBy)}
	}
	for _, one := range resume.Questions {
		out.Settled[slotOf(one.Request.ID)] = settled{one.Resolution.Outcome, markOf(one.Resolution.Justification, one.Resolution.ResolvedBy)}
	}
}

// markOf returns the mark of a decision, where it was recorded with one.
func markOf(justification *string, resolvedBy string) string {
	if justification == nil || *justification == "" {
		return resolvedBy + "#"
	}
	return *justification
}

func requestID(slot int) string { return "r" + strconv.Itoa(slot) }

func slotOf(requestID string) int {
	slot, err := strconv.Atoi(strings.TrimPrefix(requestID, "r"))
	if err != nil {
		panic("no request of this test: " + requestID)
	}
	return slot
}

func fenceText(fence int64) string { return strconv.FormatInt(fence, 10) }

func keyText(b *board, key int) string { return fmt.Sprintf("%s-key-%d", b.runID, key) }
