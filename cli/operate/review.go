package operate

import (
	"context"
	"errors"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
)

// approvalsReview asks about pending approvals one by one.
type approvalsReview struct {
	console.Connection
	ofSession
}

// Run asks until none is left or the person quits.
func (c *approvalsReview) Run(ctx context.Context, terminal *console.Console) error {
	return c.Call(func(opened *client.Client) error {
		items, err := collect(opened.AllApprovals(ctx, client.PendingListParams{SessionID: c.SessionID, Below: true}), 0)
		if err != nil {
			return err
		}
		prompter := console.NewPrompter(terminal)
		defer prompter.Close()
		decided := 0
		for i := range items {
			done, quit, err := c.review(ctx, terminal, opened, prompter, &items[i], len(items)-i)
			if err != nil {
				return err
			}
			if done {
				decided++
			}
			if quit {
				break
			}
		}
		terminal.Say("%d of %d decided", decided, len(items))
		return nil
	})
}

// review shows a request and carries out the person's choice. It reports and skips a
// request that was decided by somebody else meanwhile.
func (c *approvalsReview) review(ctx context.Context, terminal *console.Console, opened *client.Client, prompter *console.Prompter, item *api.PendingApprovalView, left int) (decided, quit bool, err error) {
	view, err := opened.GetRequest(ctx, item.Request.Handle)
	if err != nil {
		return false, false, err
	}
	now := terminal.Now()
	if view.RecordedDecision != nil {
		terminal.Say("%s was %s meanwhile", console.Printable(item.Request.ID, false), console.Printable(decidedText(view.RecordedDecision, now), false))
		return false, false, nil
	}
	if err := terminal.Describe(approvalRef{}.fields(view, now)); err != nil {
		return false, false, err
	}
	choices := "allow, deny, skip or quit? "
	if view.RequesterExcluded != nil {
		choices = "deny, skip or quit? "
	}
	for {
		word, err := prompter.Line("[" + console.Count(left, "request") + "] " + choices)
		if err != nil {
			return false, false, console.Usage("%w", err)
		}
		resolution := api.ApprovalResolution{}
		switch strings.ToLower(word) {
		case "a", "allow", "y", "yes":
			if view.RequesterExcluded != nil {
				terminal.Say("%s", console.Printable(view.RequesterExcluded.Detail, false))
				continue
			}
			resolution.Behavior = api.BehaviorAllow
		case "d", "deny", "n", "no":
			resolution.Behavior = api.BehaviorDeny
			if resolution.Reason, err = prompter.Line("why (empty for no reason): "); err != nil {
				return false, false, console.Usage("%w", err)
			}
		case "s", "skip":
			return false, false, nil
		case "q", "quit":
			return false, true, nil
		default:
			continue
		}
		_, err = opened.ResolveRunApprovals(ctx, item.RunID, client.ResolveApprovalsParams{
			Resolutions: []api.ApprovalResolution{boundTo(resolution, &item.Request)},
		})
		var refused *client.Error
		if errors.As(err, &refused) && !console.Transient(err) {
			terminal.Say("%s", console.Explain(err, terminal.Now()))
			return false, false, nil
		}
		return err == nil, false, err
	}
}
