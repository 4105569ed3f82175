package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// decision holds what allow and deny have in common.
type decision struct {
	connection
	format
	pendingRef
	following
	Justification  string `placeholder:"TEXT" help:"Why, for the record."`
	IdempotencyKey string `name:"idempotency-key" placeholder:"KEY" help:"Makes the call one that may be repeated, also after it succeeded."`
	remembering
	IDs []string `arg:"" name:"request-id" help:"The request's id or handle; its session's id may stand before it."`
}

type approvalsAllow struct {
	decision
	UpdatedInputJSON string `name:"updated-input-json" xor:"updated" placeholder:"JSON" help:"The input to use instead of the one that was asked for."`
	UpdatedInputFile string `name:"updated-input-file" xor:"updated" placeholder:"PATH" help:"The same, from a file; - for stdin."`
}

// Run allows one request.
func (c *approvalsAllow) Run(ctx context.Context, console *console) error {
	updated, err := jsonArgument(console, "--updated-input", c.UpdatedInputJSON, c.UpdatedInputFile)
	if err != nil {
		return err
	}
	return c.decide(ctx, console, "allowed", api.ApprovalResolution{
		Behavior: api.BehaviorAllow, UpdatedInput: updated, Justification: c.Justification,
	})
}

type approvalsDeny struct {
	decision
	Reason string `placeholder:"TEXT" help:"Why, for the one who asked."`
}

// Run denies one request.
func (c *approvalsDeny) Run(ctx context.Context, console *console) error {
	return c.decide(ctx, console, "denied", api.ApprovalResolution{
		Behavior: api.BehaviorDeny, Reason: c.Reason, Justification: c.Justification,
	})
}

func (c *decision) decide(ctx context.Context, console *console, what string, resolution api.ApprovalResolution) error {
	if err := c.split(); err != nil {
		return err
	}
	opened, err := c.open()
	if err != nil {
		return err
	}
	defer opened.Close()
	resolution.RequestID = c.IDs[0]
	if err := c.remember(ctx, console, opened, &resolution); err != nil {
		return err
	}
	params := client.ResolveApprovalsParams{IdempotencyKey: c.IdempotencyKey}
	run, err := c.send(ctx, opened, resolution, params)
	if err != nil {
		return c.reached(err)
	}
	followed, err := c.follow(ctx, opened, &run.RunView)
	if err != nil {
		return c.reached(err)
	}
	run.RunView = *followed
	if err := decided(console, c.JSON, c.IDs[0], what, run); err != nil {
		return err
	}
	return c.ended(followed)
}

// split takes the session's id from before the request's.
func (c *decision) split() error {
	switch len(c.IDs) {
	case 1:
		return nil
	case 2:
		if c.SessionID != "" && c.SessionID != c.IDs[0] {
			return usage("two sessions are named: %s and %s", c.SessionID, c.IDs[0])
		}
		c.SessionID, c.IDs = c.IDs[0], c.IDs[1:]
		return nil
	default:
		return usage("give one request id, with its session's id before it if need be")
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

// jsonArgument reads a JSON value from an argument or from the file that another
// one names; nil when neither was given.
func jsonArgument(console *console, name, text, path string) (api.JSON, error) {
	value := api.JSON(text)
	switch {
	case path == "-":
		if err := readAll(console.stdin, &value); err != nil {
			return nil, err
		}
	case path != "":
		read, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		value = read
	case text == "":
		return nil, nil
	}
	if !jsontext.Value(value).IsValid(jsontext.AllowDuplicateNames(false)) {
		return nil, usage("%s is not valid JSON", name)
	}
	return value, nil
}
