package operate

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
)

// acknowledging holds what the commands acknowledge share.
type acknowledging struct {
	requestRef
	For      *time.Duration `xor:"for" placeholder:"DURATION" help:"How long, at most 4h (default 30m)."`
	Snooze   *time.Duration `xor:"for" placeholder:"DURATION" help:"Hold back messages to you about it for that long, at most 168h."`
	TakeBack bool           `name:"take-back" xor:"for" help:"You are no longer looking at it, or end the snooze."`
}

type ackApproval struct{ acknowledging }

func (a ackApproval) find(ctx context.Context, c *client.Client) (*api.RequestView, error) {
	item, _, err := a.approval(ctx, c, a.RequestID)
	if err != nil {
		return nil, err
	}
	return a.acknowledge(ctx, c, item.Request.Handle)
}

type ackQuestion struct{ acknowledging }

func (a ackQuestion) find(ctx context.Context, c *client.Client) (*api.RequestView, error) {
	item, _, err := a.question(ctx, c, a.RequestID)
	if err != nil {
		return nil, err
	}
	return a.acknowledge(ctx, c, item.Request.Handle)
}

func (a acknowledging) acknowledge(ctx context.Context, c *client.Client, handle string) (*api.RequestView, error) {
	body := api.AcknowledgementBody{State: api.Acknowledged}
	switch {
	case a.TakeBack:
		body.State = api.NotAcknowledged
	case a.For != nil || a.Snooze != nil:
		// The service counts by its own clock.
		why, err := c.ExplainRequest(ctx, handle)
		if err != nil {
			return nil, err
		}
		body.UntilMs = new(why.NowMs + cmp.Or(a.For, a.Snooze).Milliseconds())
		if a.Snooze != nil {
			body.State = api.Snoozed
		}
	}
	return c.AcknowledgeRequest(ctx, handle, body)
}

func (acknowledging) fields(view *api.RequestView, now time.Time) []console.Field {
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
