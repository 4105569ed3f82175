package operate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
)

// Why is the command holdpoint why.
type Why struct {
	console.Reporting
	Name string `arg:"" name:"run-or-handle" help:"Run id, or request handle as printed by list."`
}

// Run explains a run or a request.
func (c *Why) Run(ctx context.Context, terminal *console.Console) error {
	return c.Call(func(opened *client.Client) error {
		run, err := opened.ExplainRun(ctx, c.Name)
		switch {
		case err == nil:
			return printRecord(terminal, c.JSON, run, runExplained)
		case !errors.Is(err, client.ErrNotFound):
			return err
		}
		handle, err := c.handle(ctx, opened)
		if err != nil {
			return err
		}
		request, err := opened.ExplainRequest(ctx, handle)
		if errors.Is(err, client.ErrNotFound) {
			return fmt.Errorf("no run or request %q", c.Name)
		}
		if err != nil {
			return err
		}
		return printRecord(terminal, c.JSON, request, requestExplained)
	})
}

// handle returns the handle that the name is, or is the end of. A short handle is searched
// among the open requests.
func (c *Why) handle(ctx context.Context, opened *client.Client) (string, error) {
	approval, _, err := pendingRef{}.approval(ctx, opened, c.Name)
	if err == nil {
		return approval.Request.Handle, nil
	}
	if !errors.Is(err, errNotOpen) {
		return "", err
	}
	question, _, err := pendingRef{}.question(ctx, opened, c.Name)
	if err == nil {
		return question.Request.Handle, nil
	}
	if !errors.Is(err, errNotOpen) {
		return "", err
	}
	return c.Name, nil
}

func runExplained(e *api.RunExplanation, now time.Time) []console.Field {
	fields := []console.Field{
		{"why", e.Text},
		{"state", string(e.State)},
		{"since", console.Moment(e.SinceMs, now)},
		{"run", e.RunID},
		{"session", e.SessionID},
		{"agent", e.AgentID},
		{"status", string(e.Status)},
	}
	for i := range e.Requests {
		request := &e.Requests[i]
		fields = append(fields, console.Field{string(request.Kind), console.ShortHandle(request.Handle) + "  " + request.Text})
	}
	for behind := e.QueuedBehind; behind != nil; {
		fields = append(fields, console.Field{"behind", behind.RunID + ", " + string(behind.Status)})
		if behind.Explain == nil {
			break
		}
		behind = behind.Explain.QueuedBehind
	}
	if e.WaitingOn != nil {
		label := "asks"
		if e.WaitingOn.Relation == api.RelationChild {
			label = "child"
		}
		fields = append(fields, console.Field{label, "session " + e.WaitingOn.SessionID + ", run " + e.WaitingOn.RunID})
	}
	for i := range e.Owed {
		effect := &e.Owed[i]
		fields = append(fields, console.Field{"effect", strings.TrimRight(effect.EffectID+", "+string(effect.State)+", "+effect.LastError, ", ")})
	}
	return append(fields, console.Field{"finding", e.Finding})
}

func requestExplained(e *api.RequestExplanation, now time.Time) []console.Field {
	fields := []console.Field{
		{"why", e.Text},
		{"state", string(e.State)},
		{"since", console.Moment(e.SinceMs, now)},
		{string(e.Kind), e.RequestID},
		{"handle", e.Handle},
		{"run", e.RunID},
		{"session", e.SessionID},
		{"can decide", strings.Join(e.MayDecide, "\n")},
	}
	if e.You != nil && !e.You.MayDecide && e.You.Code != "" {
		fields = append(fields, console.Field{"you cannot", string(e.You.Code)})
	}
	if e.EscalatedBy != nil {
		fields = append(fields, console.Field{"escalation", "by rule " + e.EscalatedBy.RuleID})
	}
	if e.Deadline != nil {
		fields = append(fields, console.Field{"deadline", console.Moment(e.Deadline.AtMs, now)})
	}
	for i := range e.Rules {
		rule, why := &e.Rules[i], "applies"
		if !rule.Applies {
			why = "does not apply: " + rule.WhyNot
		}
		fields = append(fields, console.Field{"rule", rule.RuleID + ", " + string(rule.Effect) + ", " + why})
	}
	if e.RulesMore > 0 {
		fields = append(fields, console.Field{"rules", console.Count(int(e.RulesMore), "more rule")})
	}
	for i := range e.Notified {
		n := &e.Notified[i]
		state := string(n.State)
		if n.State == api.NoticeMoved {
			state += " to " + n.NextChannel
		}
		line := fmt.Sprintf("%s by %s: %s %s", n.Who, n.Channel, state, console.Moment(n.AtMs, now))
		if n.Error != "" {
			line += ", " + n.Error
		}
		if n.NextAtMs != 0 {
			line += ", next attempt " + console.Moment(n.NextAtMs, now)
		}
		fields = append(fields, console.Field{"notified", line})
	}
	for _, missed := range e.NotReached {
		fields = append(fields, console.Field{"not reached", missed.Who + ", " + missed.WhyNot})
	}
	return fields
}
