package cli

import (
	"context"
	"strconv"
	"strings"

	"github.com/holdpoint/holdpoint/client"
)

type approvalCommands struct {
	List     approvalsList     `cmd:"" help:"List what waits for approval."`
	Show     approvalsShow     `cmd:"" help:"Show one request whole."`
	Allow    approvalsAllow    `cmd:"" help:"Allow one request, as it is or edited."`
	Deny     approvalsDeny     `cmd:"" help:"Deny one request."`
	AllowAll approvalsAllowAll `cmd:"" name:"allow-all" aliases:"approve-all" help:"Allow everything that waits."`
	DenyAll  approvalsDenyAll  `cmd:"" name:"deny-all" help:"Deny everything that waits."`
}

type approvalsList struct {
	connection
	format
	SessionID string `name:"session-id" placeholder:"ID" help:"Only those of this session."`
}

// Run prints the open approvals in the order of session, run and request.
func (c *approvalsList) Run(ctx context.Context, console *console) error {
	opened, err := c.open()
	if err != nil {
		return err
	}
	defer opened.Close()
	items, err := collect(opened.AllApprovals(ctx, client.PendingListParams{SessionID: c.SessionID}), 0)
	if err != nil {
		return c.reached(err)
	}
	if c.JSON {
		return printJSON(console.stdout, items)
	}
	now := console.now()
	rows := make([][]string, len(items))
	for i, item := range items {
		request := item.Request
		rows[i] = []string{
			request.ID, item.SessionID, cell(request.ToolName, 20), cell(commandOf(request.Input), 60),
			cell(request.Reason, 40), ago(request.CreatedAtMs, now), expiry(request.ExpiresAtMs, console),
		}
	}
	return table(console.stdout, []string{"REQUEST", "SESSION", "TOOL", "INPUT", "REASON", "RAISED", "EXPIRES"}, rows)
}

func expiry(atMs *int64, console *console) string {
	if atMs == nil {
		return ""
	}
	return ago(*atMs, console.now())
}

type approvalsShow struct {
	connection
	format
	pendingRef
	RequestID string `arg:"" name:"request-id" help:"The request's id or handle."`
}

// Run prints one open approval.
func (c *approvalsShow) Run(ctx context.Context, console *console) error {
	opened, err := c.open()
	if err != nil {
		return err
	}
	defer opened.Close()
	item, err := c.approval(ctx, opened, c.RequestID)
	if err != nil {
		return c.reached(err)
	}
	if c.JSON {
		return printJSON(console.stdout, item)
	}
	request, now := item.Request, console.now()
	fields := []field{
		{"request", request.ID},
		{"handle", request.Handle},
		{"session", item.SessionID},
		{"run", item.RunID},
		{"agent", item.AgentID},
		{"tool", request.ToolName},
		{"scope", request.Scope},
		{"reason", request.Reason},
		{"description", request.Description},
		{"input", indented(request.Input)},
		{"pattern keys", strings.Join(request.PatternKeys, "\n")},
		{"raised", moment(request.CreatedAtMs, now)},
	}
	if request.ExpiresAtMs != nil {
		fields = append(fields, field{"expires", moment(*request.ExpiresAtMs, now)})
	}
	if request.InputSchema != nil {
		fields = append(fields, field{"may be edited to", compact(request.InputSchema)})
	}
	if request.Metadata != nil {
		fields = append(fields, field{"metadata", compact(request.Metadata)})
	}
	return describe(console.stdout, fields)
}

// decided prints the run after a decision.
func decided(console *console, asJSON bool, requestID, what string, run *client.RunResult) error {
	if asJSON {
		return printJSON(console.stdout, run.RunView)
	}
	fields := []field{
		{"request", requestID + " " + what},
		{"rule", writtenRule(&run.RunView, requestID)},
		{"run", run.RunID},
		{"status", string(run.Status)},
	}
	if open := len(run.PendingApprovals) + len(run.PendingQuestions); open > 0 {
		fields = append(fields, field{"still open", strconv.Itoa(open)})
	}
	if run.Replayed {
		fields = append(fields, field{"note", "this key was used for the same call before; nothing changed"})
	}
	return describe(console.stdout, fields)
}
