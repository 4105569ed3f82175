package cli

import (
	"context"
	"strconv"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

type sessionCommands struct {
	List sessionsList `cmd:"" help:"List sessions."`
	Show sessionsShow `cmd:"" help:"Show one session and what waits in it."`
}

type sessionsList struct {
	connection
	format
	Status  string `placeholder:"STATUS" help:"Only those in this status."`
	AgentID string `name:"agent-id" placeholder:"ID" help:"Only those of this agent."`
	Limit   int    `default:"100" placeholder:"N" help:"At most this many (default ${default}); 0 for all."`
}

// Run prints sessions in the order of their ids.
func (c *sessionsList) Run(ctx context.Context, console *console) error {
	if c.Limit < 0 {
		return usage("--limit must not be negative")
	}
	opened, err := c.open()
	if err != nil {
		return err
	}
	defer opened.Close()
	items, err := collect(opened.AllSessions(ctx, client.SessionListParams{
		Status: api.Status(c.Status), AgentID: c.AgentID,
	}), c.Limit)
	if err != nil {
		return c.reached(err)
	}
	if c.JSON {
		return printJSON(console.stdout, items)
	}
	rows := make([][]string, len(items))
	for i, session := range items {
		rows[i] = []string{
			session.SessionID, session.AgentID, string(session.Status), strconv.Itoa(session.PendingApprovals),
			strconv.Itoa(session.PendingQuestions), ago(session.UpdatedAtMs, console.now()),
		}
	}
	return table(console.stdout, []string{"SESSION", "AGENT", "STATUS", "APPROVALS", "QUESTIONS", "UPDATED"}, rows)
}

type sessionsShow struct {
	connection
	format
	SessionID string `arg:"" name:"session-id" help:"The session's id."`
}

// Run prints one session.
func (c *sessionsShow) Run(ctx context.Context, console *console) error {
	opened, err := c.open()
	if err != nil {
		return err
	}
	defer opened.Close()
	session, err := opened.GetSession(ctx, c.SessionID)
	if err != nil {
		return c.reached(err)
	}
	if c.JSON {
		return printJSON(console.stdout, session)
	}
	now := console.now()
	fields := []field{
		{"session", session.SessionID},
		{"agent", session.AgentID},
		{"parent session", session.ParentSessionID},
		{"status", string(session.Status)},
		{"queued runs", strings.Join(session.QueuedRunIDs, ", ")},
		{"created", moment(session.CreatedAtMs, now)},
		{"updated", moment(session.UpdatedAtMs, now)},
	}
	if session.ActiveRun != nil {
		fields = append(fields, field{"active run", session.ActiveRun.RunID})
	}
	for _, request := range session.PendingApprovals {
		fields = append(fields, field{"approval", request.ID + "  " + commandOf(request.Input)})
	}
	for _, item := range session.PendingQuestions {
		fields = append(fields, field{"question", item.Request.ID + "  " + textOf(&item.Request)})
	}
	return describe(console.stdout, fields)
}
