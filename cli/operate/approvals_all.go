package operate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/prompt"
)

// decisionForAll holds what allow-all and deny-all share.
type decisionForAll struct {
	console.Reporting
	following
	ofSession
	Justification  string `placeholder:"TEXT" help:"Reason to record."`
	DryRun         bool   `name:"dry-run" help:"Show what would be decided, without deciding."`
	IdempotencyKey string `name:"idempotency-key" placeholder:"KEY" help:"Makes retries safe: the same key never acts twice. Each run gets its own key, KEY:RUN."`
	Yes            bool   `short:"y" help:"Do not ask for confirmation."`
}

type approvalsAllowAll struct{ decisionForAll }

// Run allows everything that it lists, and nothing raised later. The person sees the list
// and confirms it first.
func (c *approvalsAllowAll) Run(ctx context.Context, terminal *console.Console) error {
	return c.decide(ctx, terminal, api.ApprovalResolution{Behavior: api.BehaviorAllow, Justification: c.Justification}, "Allow", !c.Yes)
}

// confirmed asks whether to decide the listed requests.
func confirmed(terminal *console.Console, verb string, items []api.PendingApprovalView) error {
	sessions := map[string]bool{}
	for i := range items {
		sessions[items[i].SessionID] = true
	}
	question := fmt.Sprintf("%s %s in %s? [y/N] ", verb, console.Count(len(items), "request"), console.Count(len(sessions), "session"))
	return agreed(terminal, listed(items), question, "nothing was decided", (*console.Prompter).Aimed)
}

// listed formats the requests completely, one below the other.
func listed(items []api.PendingApprovalView) string {
	var out strings.Builder
	for i := range items {
		request := &items[i].Request
		fmt.Fprintf(&out, "%d. %s (request %s, session %s)\n", i+1, console.Printable(request.ToolName, false), request.ID,
			console.SessionName(items[i].SessionID, items[i].ParentSessionID))
		for _, text := range prompt.Lines(prompt.OfApproval(request), console.Printable) {
			out.WriteString("   " + strings.ReplaceAll(text, "\n", "\n   ") + "\n")
		}
	}
	return strings.TrimSuffix(out.String(), "\n")
}

type approvalsDenyAll struct {
	decisionForAll
	Reason string `placeholder:"TEXT" help:"Message to the agents that asked."`
}

// Run denies everything that it lists. It asks at a terminal only: a script that denies does no harm without an answer.
func (c *approvalsDenyAll) Run(ctx context.Context, terminal *console.Console) error {
	asks := !c.Yes && console.IsTerminal(terminal.Stdin)
	return c.decide(ctx, terminal, api.ApprovalResolution{
		Behavior: api.BehaviorDeny, Reason: c.Reason, Justification: c.Justification,
	}, "Deny", asks)
}

// allResult is the JSON that allow-all and deny-all print.
type allResult struct {
	ResolvedRequests int `json:"resolved_requests"`
	// Requests are the decided requests, as listed.
	Requests         []api.PendingApprovalView `json:"requests"`
	AffectedSessions int                       `json:"affected_sessions"`
	Runs             []api.RunView             `json:"runs"`
	// SkippedRuns were decided under the same key before. They now wait for something new,
	// which that call did not cover.
	SkippedRuns []string `json:"skipped_runs,omitempty"`
	// FailedRuns were not decided, or the reply to the decision was lost; the call may be repeated for them.
	FailedRuns []failedRun `json:"failed_runs,omitempty"`
}

type failedRun struct {
	RunID string `json:"run_id"`
	Error string `json:"error"`
}

// decide sends one batch per run, with the requests that the person has confirmed. Each
// batch is atomic, and a failed batch does not affect the others.
func (c *decisionForAll) decide(ctx context.Context, terminal *console.Console, resolution api.ApprovalResolution, verb string, asks bool) error {
	return c.Call(func(opened *client.Client) error {
		open := approvalFilter{c.ofSession}
		items, err := open.read(ctx, opened)
		if err != nil {
			return err
		}
		if c.SessionID != "" {
			// The list includes requests of sub-agents.
			items = slices.DeleteFunc(items, func(item api.PendingApprovalView) bool { return item.SessionID != c.SessionID })
		}
		if c.DryRun {
			terminal.Say("nothing was decided; without --dry-run it would be %s", console.Count(len(items), "request"))
			return open.table().print(terminal, c.JSON, items)
		}
		if asks && len(items) > 0 {
			if err := confirmed(terminal, verb, items); err != nil {
				return err
			}
		}
		result, lost := c.decideRuns(ctx, opened, items, resolution)
		if result == nil {
			return lost
		}
		err = c.report(ctx, terminal, opened, result, resolution.Behavior)
		if lost != nil {
			return lost
		}
		return err
	})
}

// decideRuns sends the decision to each run. It stops only if the service does not answer
// or ctx ends. Then it returns an error, and also the result if it has decided some.
func (c *decisionForAll) decideRuns(ctx context.Context, opened *client.Client, items []api.PendingApprovalView, resolution api.ApprovalResolution) (*allResult, error) {
	var order []string
	requests := map[string][]api.PendingApprovalView{}
	for _, item := range items {
		if requests[item.RunID] == nil {
			order = append(order, item.RunID)
		}
		requests[item.RunID] = append(requests[item.RunID], item)
	}
	result := &allResult{Requests: []api.PendingApprovalView{}, Runs: []api.RunView{}}
	sessions := map[string]bool{}
	var lost error
	for i, runID := range order {
		run, decided, err := c.send(ctx, opened, runID, requests[runID], resolution)
		switch {
		case console.Unanswered(err), err != nil && ctx.Err() != nil:
			if i == 0 {
				return nil, err
			}
			lost = err
			for _, runID := range order[i:] {
				result.FailedRuns = append(result.FailedRuns, failedRun{runID, err.Error()})
			}
		case errors.Is(err, client.ErrIdempotencyConflict):
			result.SkippedRuns = append(result.SkippedRuns, runID)
		case err != nil:
			result.FailedRuns = append(result.FailedRuns, failedRun{runID, err.Error()})
		case run != nil:
			result.ResolvedRequests += len(decided)
			result.Requests = append(result.Requests, decided...)
			sessions[run.SessionID] = true
			result.Runs = append(result.Runs, *run)
		}
		if lost != nil {
			break
		}
	}
	result.AffectedSessions = len(sessions)
	return result, lost
}

// send decides the listed requests of one run, bound to their listed content. If some were
// decided by others meanwhile, it retries once with the rest; if all were, it returns nil.
// It returns the requests that it decided.
func (c *decisionForAll) send(ctx context.Context, opened *client.Client, runID string, items []api.PendingApprovalView, resolution api.ApprovalResolution) (*api.RunView, []api.PendingApprovalView, error) {
	params := client.ResolveApprovalsParams{}
	if c.IdempotencyKey != "" {
		params.IdempotencyKey = c.IdempotencyKey + ":" + runID
	}
	for again := false; ; again = true {
		params.Resolutions = nil
		for i := range items {
			params.Resolutions = append(params.Resolutions, boundTo(resolution, &items[i].Request))
		}
		run, err := opened.ResolveRunApprovals(ctx, runID, params)
		if err == nil {
			return &run.RunView, items, nil
		}
		if again || !errors.Is(err, client.ErrNotWaiting) && !errors.Is(err, client.ErrRunState) {
			return nil, nil, err
		}
		now, err := opened.GetRun(ctx, runID)
		if err != nil {
			return nil, nil, err
		}
		items = slices.DeleteFunc(items, func(item api.PendingApprovalView) bool {
			return !slices.Contains(now.PendingApprovalIDs, item.Request.ID)
		})
		if len(items) == 0 {
			return nil, nil, nil
		}
	}
}

func (c *decisionForAll) report(ctx context.Context, terminal *console.Console, opened *client.Client, result *allResult, behavior api.Behavior) error {
	var ended error
	for i := range result.Runs {
		followed, err := c.follow(ctx, opened, &result.Runs[i])
		if err != nil {
			ended = err // the decisions are made all the same
			break
		}
		result.Runs[i] = *followed
		ended = cmp.Or(ended, c.exitCode(followed))
	}
	if len(result.FailedRuns) > 0 {
		ended = cmp.Or(ended, console.ExitWith(console.ExitError))
	}
	if c.JSON {
		if err := console.PrintJSON(terminal.Stdout, result); err != nil {
			return err
		}
		return ended
	}
	word := "allowed"
	if behavior == api.BehaviorDeny {
		word = "denied"
	}
	for i := range result.Requests {
		item := &result.Requests[i]
		fmt.Fprintf(terminal.Stdout, "%s %s of run %s: %s %s\n", word, item.Request.ID, item.RunID,
			console.Printable(item.Request.ToolName, false), console.Printable(prompt.CommandOf(item.Request.Input), false))
	}
	fmt.Fprintf(terminal.Stdout, "%s %s in %s\n", word, console.Count(result.ResolvedRequests, "approval"), console.Count(result.AffectedSessions, "session"))
	for _, runID := range result.SkippedRuns {
		terminal.Say("run %s was already decided with this key and now waits for something new; skipped", runID)
	}
	for _, failed := range result.FailedRuns {
		terminal.Say("run %s may not have been decided: %s", failed.RunID, failed.Error)
	}
	return ended
}
