package audit

import (
	"context"
	"fmt"
	"strconv"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
)

type redact struct {
	console.Reporting
	SessionID string   `arg:"" name:"session-id" help:"Session id."`
	EventIDs  []string `name:"event-ids" sep:"," placeholder:"N" help:"Event numbers."`
	Before    string   `placeholder:"TIME" help:"All events before the first one at or after this time: RFC 3339, or milliseconds since the epoch."`
	Reason    string   `required:"" placeholder:"TEXT" help:"Reason to record in the audit log."`
	Yes       bool     `help:"Do not ask for confirmation."`
}

// Help returns the text below the flags in --help.
func (c *redact) Help() string {
	return "The contents of the events, with their requests, answers and outputs, cannot be restored. The runs must have ended."
}

// Run asks for confirmation and redacts in as many calls as needed.
func (c *redact) Run(ctx context.Context, terminal *console.Console) error {
	beforeMs, err := momentOf("--before", c.Before)
	switch {
	case err != nil:
		return err
	case (len(c.EventIDs) == 0) == (c.Before == ""):
		return console.Usage("give either --event-ids or --before")
	case !c.Yes && c.JSON:
		return console.Usage("--json cannot ask: use --yes")
	case !c.Yes && !terminal.Confirmed("This permanently removes event contents from session %s. Continue?", console.Printable(c.SessionID, false)):
		return console.Usage("nothing was redacted: answer yes, or use --yes")
	}
	body, total := api.RedactBody{Reason: c.Reason}, api.RedactReply{}
	if c.Before != "" {
		body.BeforeMs = &beforeMs
	}
	rest := c.EventIDs
	err = c.Call(func(service *client.Client) error {
		for {
			part := rest[:min(len(rest), api.MaxRedactions)]
			if body.BeforeMs == nil {
				body.EventIDs, rest = part, rest[len(part):]
			}
			reply, err := service.Redact(ctx, c.SessionID, body)
			if err != nil {
				return err
			}
			total.Redacted += reply.Redacted
			switch {
			case reply.NextAfterEventID != nil:
				body.AfterEventID = *reply.NextAfterEventID
			case len(rest) == 0:
				return nil
			}
		}
	})
	if err != nil {
		return err
	}
	if c.JSON {
		return console.PrintJSON(terminal.Stdout, total)
	}
	fmt.Fprintln(terminal.Stdout, strconv.FormatInt(total.Redacted, 10)+" events redacted")
	return nil
}
