package operate

import (
	"context"
	"strings"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
)

// acknowledging holds what the commands acknowledge share.
type acknowledging struct {
	console.Connection
	console.Format
	requestRef
	For      time.Duration `xor:"for" placeholder:"DURATION" help:"How long, at most 4h (default 30m)."`
	Snooze   time.Duration `xor:"for" placeholder:"DURATION" help:"Hold back messages to you about it for that long, at most 168h."`
	TakeBack bool          `name:"take-back" xor:"for" help:"You are no longer looking at it, or end the snooze."`
}

type approvalsAcknowledge struct{ acknowledging }

// Run acknowledges an approval.
func (c *approvalsAcknowledge) Run(ctx context.Context, terminal *console.Console) error {
	return c.Call(func(opened *client.Client) error {
		item, _, err := c.approval(ctx, opened, c.RequestID)
		if err != nil {
			return err
		}
		return c.acknowledge(ctx, terminal, opened, item.Request.Handle)
	})
}

type questionsAcknowledge struct{ acknowledging }

// Run acknowledges a question.
func (c *questionsAcknowledge) Run(ctx context.Context, terminal *console.Console) error {
	return c.Call(func(opened *client.Client) error {
		item, _, err := c.question(ctx, opened, c.RequestID)
		if err != nil {
			return err
		}
		return c.acknowledge(ctx, terminal, opened, item.Request.Handle)
	})
}

func (c *acknowledging) acknowledge(ctx context.Context, terminal *console.Console, opened *client.Client, handle string) error {
	body := api.AcknowledgementBody{State: api.Acknowledged}
	switch {
	case c.TakeBack:
		body.State = api.NotAcknowledged
	case c.For != 0 || c.Snooze != 0:
		// The service counts by its own clock.
		why, err := opened.ExplainRequest(ctx, handle)
		if err != nil {
			return err
		}
		untilMs := why.NowMs + (c.For + c.Snooze).Milliseconds()
		body.UntilMs = &untilMs
		if c.Snooze != 0 {
			body.State = api.Snoozed
		}
	}
	view, err := opened.AcknowledgeRequest(ctx, handle, body)
	if err != nil {
		return err
	}
	return printRecord(terminal, c.JSON, view, acknowledgedFields)
}

func acknowledgedFields(view *api.RequestView, now time.Time) []console.Field {
	return []console.Field{
		{"kind", string(view.Kind)},
		{"session", view.SessionID},
		{"run", view.RunID},
		{"looking", lookers(view.Acknowledgement, now)},
		{"you snooze it", snoozeText(view.SnoozedUntilMs, now)},
	}
}

// snoozeText says until when the caller snoozes a request, "" for not now.
func snoozeText(untilMs int64, now time.Time) string {
	if untilMs <= now.UnixMilli() {
		return ""
	}
	return "until " + console.Moment(untilMs, now)
}

// lookers lists who is looking at a request, a line each.
func lookers(list []api.Acknowledgement, now time.Time) string {
	var lines []string
	for _, a := range list {
		if a.UntilMs > now.UnixMilli() {
			lines = append(lines, a.By+", until "+console.Moment(a.UntilMs, now))
		}
	}
	return strings.Join(lines, "\n")
}
