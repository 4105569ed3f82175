package operate

import (
	"context"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/prompt"
	"github.com/holdpoint/holdpoint/runs/model"
)

// Runs is the command holdpoint runs.
type Runs struct {
	List   list[api.RunView, runFilter]       `cmd:"" help:"List runs, active ones first."`
	Show   runsShow                           `cmd:"" help:"Show a run and its decisions."`
	Events list[api.RunEventEntry, runEvents] `cmd:"" help:"List the events of a run."`
	Cancel show[api.RunView, runCancel]       `cmd:"" help:"Cancel a run."`
	Retry  show[api.RunView, runRetry]        `cmd:"" help:"Retry a failed run with its last decisions."`
}

type runFilter struct {
	SessionID string `name:"session-id" aliases:"session" placeholder:"ID" help:"Only runs of this session."`
	AgentID   string `name:"agent-id" aliases:"agent" placeholder:"ID" help:"Only runs of this agent."`
	Status    string `placeholder:"STATUS" help:"Only runs with this status."`
	limited
}

func (f runFilter) read(ctx context.Context, c *client.Client) ([]api.RunView, error) {
	if f.Status != "" && !model.KnownStatus(api.Status(f.Status)) {
		return nil, console.Usage("unknown run status %q; use queued, running, waiting_for_approval, waiting_for_user_question, completed, failed, interrupted and cancelled", f.Status)
	}
	return collect(c.AllRuns(ctx, client.RunListParams{
		SessionID: f.SessionID, AgentID: f.AgentID, Status: api.Status(f.Status), PriorityActive: true,
	}), f.Limit)
}

func (runFilter) table() table[api.RunView] {
	return table[api.RunView]{
		header: []string{"RUN", "SESSION", "AGENT", "STATUS", "INPUT", "SUBMITTED", "UPDATED"},
		row: func(run *api.RunView, now time.Time) []string {
			status := string(run.Status)
			if without, _ := withoutWorker(run, now); without != "" {
				status += " (" + without + ")"
			}
			return []string{
				run.RunID, run.SessionID, run.AgentID, status, console.Cut(run.Request.TextPreview, 50),
				console.Ago(run.SubmittedAtMs, now), console.Ago(run.UpdatedAtMs, now),
			}
		},
		note: func(run *api.RunView, now time.Time) string {
			_, lost := withoutWorker(run, now)
			return lost
		},
	}
}

type runRef struct {
	RunID string `arg:"" name:"run-id" help:"Run id."`
}

func (runRef) fields(run *api.RunView, now time.Time) []console.Field {
	fields := []console.Field{
		{"run", run.RunID},
		{"session", run.SessionID},
		{"agent", run.AgentID},
		{"kind", string(run.Kind)},
		{"status", standing(run, now)},
		{"input", run.Request.TextPreview},
		{"submitted", console.Moment(run.SubmittedAtMs, now)},
		{"started", console.Moment(run.StartedAtMs, now)},
		{"finished", console.Moment(run.FinishedAtMs, now)},
	}
	for _, request := range run.PendingApprovals {
		fields = append(fields, console.Field{"approval", request.ID + "  " + prompt.CommandOf(request.Input)})
	}
	for _, request := range run.PendingQuestions {
		fields = append(fields, console.Field{"question", request.ID + "  " + prompt.QuestionText(&request)})
	}
	if on := run.WaitingOn; on != nil {
		fields = append(fields, console.Field{"waits for", "an answer to " + on.RequestID + " by session " + on.SessionID + ", run " + on.RunID})
	}
	if run.Lease != nil {
		expires := "expires "
		if lapsed(run.Lease, now) {
			expires = "expired "
		}
		fields = append(fields, console.Field{"worker", run.Lease.WorkerID + ", whose lease " + expires + console.Moment(run.Lease.ExpiresAtMs, now)})
	}
	for _, output := range run.Outputs {
		fields = append(fields, console.Field{"said", output.Content})
	}
	if run.LastError != "" {
		fields = append(fields, console.Field{"last error", run.LastError})
	}
	return append(fields, console.Field{"output", prompt.Indented(run.Output)}, console.Field{"error", run.Error})
}

// standing is the status of a run, and what is true of one that is running and that no worker has.
func standing(run *api.RunView, now time.Time) string {
	switch without, lost := withoutWorker(run, now); {
	case without == "":
		return string(run.Status)
	case lost == "":
		return string(run.Status) + " (" + without + ")"
	default:
		return string(run.Status) + " (" + lost + ")"
	}
}

// withoutWorker says shortly that no worker has a running run, and since when its worker is lost; "" if one has it.
// words.js of the page says the same.
func withoutWorker(run *api.RunView, now time.Time) (shortly, lost string) {
	switch {
	case run.Status != api.StatusRunning || run.Lease != nil && !lapsed(run.Lease, now):
		return "", ""
	case run.Lease == nil:
		return "waiting for a worker", ""
	}
	// What changed later, such as a decision, was not the worker.
	heard := min(run.UpdatedAtMs, run.Lease.ExpiresAtMs)
	return "without a worker", "its worker has not been heard from since " + console.Moment(heard, now) + "; another worker can claim the run"
}

func lapsed(lease *api.LeaseView, now time.Time) bool { return lease.ExpiresAtMs <= now.UnixMilli() }

type runCancel struct {
	runRef
	Reason string `placeholder:"TEXT" help:"Reason to record."`
}

// find cancels the run. An ended run stays unchanged.
func (r runCancel) find(ctx context.Context, c *client.Client) (*api.RunView, error) {
	return c.CancelRun(ctx, r.RunID, r.Reason)
}

type runRetry struct{ runRef }

// find makes a failed run claimable again.
func (r runRetry) find(ctx context.Context, c *client.Client) (*api.RunView, error) {
	return c.RetryRun(ctx, r.RunID)
}
