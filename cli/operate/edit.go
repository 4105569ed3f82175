package operate

import (
	"cmp"
	"context"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
)

// allowEdited allows a request with an input that the person edits first. It shows the
// changes and asks; the service validates the input against the request's schema.
func (c *approvalsAllow) allowEdited(ctx context.Context, terminal *console.Console) error {
	return c.Call(func(opened *client.Client) error {
		if err := c.splitIDs(ctx, opened); err != nil {
			return err
		}
		if len(c.IDs) != 1 {
			return console.Usage("--edit is for one request")
		}
		item, _, err := c.approval(ctx, opened, c.IDs[0])
		if err != nil {
			return err
		}
		c.SessionID, c.RunID, c.IDs = item.SessionID, item.RunID, []string{item.Request.ID}
		c.InputDigest = cmp.Or(c.InputDigest, item.Request.InputDigest) // of the input that the person edits
		prompter := console.NewPrompter(terminal)
		edited, changes, err := terminal.EditInput(ctx, prompter, item.Request.Input)
		prompter.Close()
		if err != nil {
			return err
		}
		if err := confirm(terminal, c.Yes, "The input is changed:\n"+changes, "Allow the edited input? [y/N] ", "nothing was decided"); err != nil {
			return err
		}
		return c.decideOne(ctx, terminal, opened, item.Request.ID, "allowed", api.ApprovalResolution{
			Behavior: api.BehaviorAllow, UpdatedInput: edited, Justification: c.Justification,
		})
	})
}
