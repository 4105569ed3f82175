package operate

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
)

// decision holds what allow and deny have in common.
type decision struct {
	console.Connection
	console.Format
	pendingRef
	following
	onRecord
	remembering
	IDs []string `arg:"" name:"request-id" help:"The request's id or handle; its session's id may stand before it."`
}

type approvalsAllow struct {
	decision
	UpdatedInputJSON string `name:"updated-input-json" xor:"updated" placeholder:"JSON" help:"The input to use instead of the one that was asked for."`
	UpdatedInputFile string `name:"updated-input-file" xor:"updated" placeholder:"PATH" help:"The same, from a file; - for stdin."`
}

// Run allows one request.
func (c *approvalsAllow) Run(ctx context.Context, terminal *console.Console) error {
	updated, err := jsonArgument(terminal, "--updated-input", c.UpdatedInputJSON, c.UpdatedInputFile)
	if err != nil {
		return err
	}
	return c.decide(ctx, terminal, "allowed", api.ApprovalResolution{
		Behavior: api.BehaviorAllow, UpdatedInput: updated, Justification: c.Justification,
	})
}

type approvalsDeny struct {
	decision
	Reason string `placeholder:"TEXT" help:"Why, for the one who asked."`
}

// Run denies one request.
func (c *approvalsDeny) Run(ctx context.Context, terminal *console.Console) error {
	return c.decide(ctx, terminal, "denied", api.ApprovalResolution{
		Behavior: api.BehaviorDeny, Reason: c.Reason, Justification: c.Justification,
	})
}

func (c *decision) decide(ctx context.Context, terminal *console.Console, what string, resolution api.ApprovalResolution) error {
	if err := c.splitIDs(); err != nil {
		return err
	}
	resolution.RequestID = c.IDs[0]
	return c.Call(func(opened *client.Client) error {
		if err := c.remember(ctx, terminal, opened, &resolution); err != nil {
			return err
		}
		run, err := c.send(ctx, opened, resolution, client.ResolveApprovalsParams{IdempotencyKey: c.IdempotencyKey})
		if err != nil {
			return err
		}
		return c.finish(ctx, terminal, c.JSON, opened, c.IDs[0], what, run)
	})
}

// splitIDs moves a session's id that stands before the request's to its flag.
func (c *decision) splitIDs() error {
	switch len(c.IDs) {
	case 1:
		return nil
	case 2:
		if c.SessionID != "" && c.SessionID != c.IDs[0] {
			return console.Usage("two sessions are named: %s and %s", c.SessionID, c.IDs[0])
		}
		c.SessionID, c.IDs = c.IDs[0], c.IDs[1:]
		return nil
	default:
		return console.Usage("give one request id, with its session's id before it if need be")
	}
}

// send gives the decision to the run that the request is open on. A keyed call
// whose run or session is named goes there without looking, so that a repeat of one
// that succeeded is recognized.
func (c *decision) send(ctx context.Context, opened *client.Client, resolution api.ApprovalResolution, params client.ResolveApprovalsParams) (*client.RunResult, error) {
	runID := ""
	item, err := c.approval(ctx, opened, resolution.RequestID)
	switch {
	case err == nil:
		runID, resolution.RequestID = item.RunID, item.Request.ID
	case !errors.Is(err, errNotOpen):
		return nil, err
	case c.RunID != "":
		runID = c.RunID // the service says what became of it
	case c.SessionID == "":
		return nil, fmt.Errorf("%w (with --session-id or --run-id the service can say what became of it)", err)
	}
	params.Resolutions = []api.ApprovalResolution{resolution}
	if runID == "" {
		return opened.ResolveActiveRunApprovals(ctx, c.SessionID, params)
	}
	return opened.ResolveRunApprovals(ctx, runID, params)
}
