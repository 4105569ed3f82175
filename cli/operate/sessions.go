package operate

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/prompt"
	"github.com/holdpoint/holdpoint/runs/model"
)

// Sessions is the command holdpoint sessions.
type Sessions struct {
	List  list[api.SessionSummaryView, sessionFilter] `cmd:"" help:"List sessions."`
	Show  show[api.SessionView, sessionRef]           `cmd:"" help:"Show a session and its pending requests."`
	Label show[api.SessionView, sessionLabel]         `cmd:"" help:"Name a session for people; an empty text removes the name."`
}

// sessionFilter lists sessions, ordered by id.
type sessionFilter struct {
	Status  string `placeholder:"STATUS" help:"Only sessions with this status."`
	AgentID string `name:"agent-id" aliases:"agent" placeholder:"ID" help:"Only sessions of this agent."`
	limited
}

func (f sessionFilter) read(ctx context.Context, c *client.Client) ([]api.SessionSummaryView, error) {
	if f.Status != "" && !model.KnownSessionStatus(api.Status(f.Status)) {
		return nil, console.Usage("unknown session status %q; use idle, running, waiting_for_approval, waiting_for_user_question and ended", f.Status)
	}
	return collect(c.AllSessions(ctx, client.SessionListParams{Status: api.Status(f.Status), AgentID: f.AgentID}), f.Limit)
}

func (sessionFilter) table() table[api.SessionSummaryView] {
	return table[api.SessionSummaryView]{
		header: []string{"SESSION", "AGENT", "STATUS", "APPROVALS", "QUESTIONS", "UPDATED"},
		row: func(session *api.SessionSummaryView, now time.Time) []string {
			return []string{
				session.SessionID, session.AgentID, string(session.Status), strconv.Itoa(session.PendingApprovals),
				strconv.Itoa(session.PendingQuestions), console.Ago(session.UpdatedAtMs, now),
			}
		},
	}
}

type sessionRef struct {
	SessionID string `arg:"" name:"session-id" help:"Session id."`
}

func (r sessionRef) find(ctx context.Context, c *client.Client) (*api.SessionView, error) {
	return c.GetSession(ctx, r.SessionID)
}

// sessionLabel is a session and its new label, which find writes.
type sessionLabel struct {
	sessionRef
	Label string `arg:"" name:"text" help:"The label, at most 80 characters."`
}

func (l sessionLabel) find(ctx context.Context, c *client.Client) (*api.SessionView, error) {
	return c.AmendSession(ctx, l.SessionID, api.AmendSessionBody{Label: &l.Label})
}

func (sessionRef) fields(session *api.SessionView, now time.Time) []console.Field {
	fields := []console.Field{
		{"session", session.SessionID},
		{"agent", session.AgentID},
		{"label", session.Label},
		{"where", whereOf(session.Origin)},
		{"parent session", session.ParentSessionID},
		{"status", string(session.Status)},
		{"queued runs", strings.Join(session.QueuedRunIDs, ", ")},
		{"created", console.Moment(session.CreatedAtMs, now)},
		{"updated", console.Moment(session.UpdatedAtMs, now)},
	}
	if session.ActiveRun != nil {
		fields = append(fields, console.Field{"active run", session.ActiveRun.RunID})
	}
	for _, request := range session.PendingApprovals {
		fields = append(fields, console.Field{"approval", request.ID + "  " + prompt.CommandOf(request.Input)})
	}
	for _, item := range session.PendingQuestions {
		fields = append(fields, console.Field{"question", item.Request.ID + "  " + prompt.QuestionText(&item.Request)})
	}
	return fields
}
