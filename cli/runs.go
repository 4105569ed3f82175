package cli

import (
	"context"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/runs/model"
)

type runCommands struct {
	List   runsList   `cmd:"" help:"List runs, those that are not over first."`
	Show   runsShow   `cmd:"" help:"Show one run."`
	Cancel runsCancel `cmd:"" help:"Cancel a run, whatever it waits for."`
}

type runsList struct {
	connection
	format
	SessionID string `name:"session-id" placeholder:"ID" help:"Only those of this session."`
	AgentID   string `name:"agent-id" placeholder:"ID" help:"Only those of this agent."`
	Status    string `placeholder:"STATUS" help:"Only those in this status."`
	Limit     int    `default:"100" placeholder:"N" help:"At most this many (default ${default}); 0 for all."`
}

// Run prints runs.
func (c *runsList) Run(ctx context.Context, console *console) error {
	if c.Status != "" && !model.KnownStatus(api.Status(c.Status)) {
		return usage("%q is no status; there are %v", c.Status, api.Statuses)
	}
	if c.Limit < 0 {
		return usage("--limit must not be negative")
	}
	opened, err := c.open()
	if err != nil {
		return err
	}
	defer opened.Close()
	items, err := collect(opened.AllRuns(ctx, client.RunListParams{
		SessionID: c.SessionID, AgentID: c.AgentID, Status: api.Status(c.Status), PriorityActive: true,
	}), c.Limit)
	if err != nil {
		return c.reached(err)
	}
	if c.JSON {
		return printJSON(console.stdout, items)
	}
	rows := make([][]string, len(items))
	for i, run := range items {
		rows[i] = []string{
			run.RunID, run.SessionID, run.AgentID, string(run.Status),
			cell(run.Request.TextPreview, 50), ago(run.SubmittedAtMs, console.now()), ago(run.UpdatedAtMs, console.now()),
		}
	}
	return table(console.stdout, []string{"RUN", "SESSION", "AGENT", "STATUS", "INPUT", "SUBMITTED", "UPDATED"}, rows)
}

type runsShow struct {
	connection
	format
	RunID string `arg:"" name:"run-id" help:"The run's id."`
}

// Run prints one run.
func (c *runsShow) Run(ctx context.Context, console *console) error {
	opened, err := c.open()
	if err != nil {
		return err
	}
	defer opened.Close()
	run, err := opened.GetRun(ctx, c.RunID)
	if err != nil {
		return c.reached(err)
	}
	return showRun(console, c.JSON, run)
}

func showRun(console *console, asJSON bool, run *api.RunView) error {
	if asJSON {
		return printJSON(console.stdout, run)
	}
	now := console.now()
	fields := []field{
		{"run", run.RunID},
		{"session", run.SessionID},
		{"agent", run.AgentID},
		{"kind", string(run.Kind)},
		{"status", string(run.Status)},
		{"input", run.Request.TextPreview},
		{"submitted", moment(run.SubmittedAtMs, now)},
		{"started", moment(run.StartedAtMs, now)},
		{"finished", moment(run.FinishedAtMs, now)},
	}
	for _, request := range run.PendingApprovals {
		fields = append(fields, field{"approval", request.ID + "  " + commandOf(request.Input)})
	}
	for _, request := range run.PendingQuestions {
		fields = append(fields, field{"question", request.ID + "  " + textOf(&request)})
	}
	if on := run.WaitingOn; on != nil {
		fields = append(fields, field{"waits for", "an answer to " + on.RequestID + " by session " + on.SessionID + ", run " + on.RunID})
	}
	if run.Lease != nil {
		fields = append(fields, field{"in the hands of", run.Lease.WorkerID + ", " + ago(run.Lease.ExpiresAtMs, now)})
	}
	for _, output := range run.Outputs {
		fields = append(fields, field{"said", output.Content})
	}
	if run.Output != nil {
		fields = append(fields, field{"output", indented(run.Output)})
	}
	return describe(console.stdout, append(fields, field{"error", run.Error}))
}

type runsCancel struct {
	connection
	format
	RunID  string `arg:"" name:"run-id" help:"The run's id."`
	Reason string `placeholder:"TEXT" help:"Why, for the record."`
}

// Run cancels one run; one that is over stays as it is.
func (c *runsCancel) Run(ctx context.Context, console *console) error {
	opened, err := c.open()
	if err != nil {
		return err
	}
	defer opened.Close()
	run, err := opened.CancelRun(ctx, c.RunID, c.Reason)
	if err != nil {
		return c.reached(err)
	}
	return showRun(console, c.JSON, run)
}
