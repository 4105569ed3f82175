package read

import (
	"context"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/store/columns"
)

func sessionFilter(q reads.SessionQuery, scope *reads.Scope) filter {
	var f filter
	f.equals("s.agent_id", q.AgentID)
	f.sessionWithin(scope)
	switch {
	case q.Status == "":
	case q.Status == api.SessionEnded:
		f.and("s.ended_at_ms IS NOT NULL")
	case q.Status == api.SessionIdle:
		f.and("s.ended_at_ms IS NULL AND s.active_run_id IS NULL")
	default:
		f.and("r.status = ? AND "+holdsSlot, string(q.Status))
	}
	return f
}

// hasActiveRun reports whether a session's status is its active run's.
func hasActiveRun(status api.Status) bool {
	return status != "" && status != api.SessionEnded && status != api.SessionIdle
}

func summaryTargets(s *model.SessionSummary) []any {
	return append(columns.Sessions.Targets(&s.Session), (*string)(&s.Status), &s.PendingApprovals, &s.PendingQuestions)
}

func (l *Lists) sessionPage(q reads.SessionQuery, scope *reads.Scope, statement string, limit int) (string, []any) {
	f := sessionFilter(q, scope)
	id := "s.session_id"
	if q.AgentID == "" && hasActiveRun(q.Status) {
		// The index of active runs has the order of the list.
		id = "r.session_id"
	}
	if q.After != "" {
		f.and(id+" > ?", q.After)
	}
	return l.page(&f, statement, limit, id)
}

// Sessions implements reads.Reader.
func (r *Reader) Sessions(ctx context.Context, q reads.SessionQuery) ([]model.SessionSummary, error) {
	scope := ofOneAgent(&q.AgentID, r.scope)
	if !storable(string(q.Status), q.AgentID, q.After) {
		return nil, nil
	}
	return listWithin(ctx, r.lists, q.Budget, q.Limit, summaryTargets, sqlSessionSizes, sqlSessions,
		func(statement string, limit int) (string, []any) {
			return r.sql.Lists.sessionPage(q, &scope, statement, limit)
		})
}

// CountSessions implements reads.Reader.
func (r *Reader) CountSessions(ctx context.Context, q reads.SessionQuery) (int64, error) {
	scope := ofOneAgent(&q.AgentID, r.scope)
	if !storable(string(q.Status), q.AgentID) {
		return 0, nil
	}
	f := sessionFilter(q, &scope)
	statement := sqlCountSessions
	if hasActiveRun(q.Status) {
		statement = sqlCountActiveSessions
	}
	return count(ctx, r.lists, f.of(statement), f.args...)
}

const sqlSessionNames = `SELECT s.session_id, s.agent_id, s.about FROM sessions AS s`

// SessionNames implements reads.Reader.
func (r *Reader) SessionNames(ctx context.Context, sessionIDs []string) (map[string]model.SessionName, error) {
	var within filter
	within.sessionWithin(&r.scope)
	targets := func(s *model.SessionName) []any { return []any{&s.AgentID, (*[]byte)(&s.About)} }
	return keyed(ctx, r.lists, &within, sqlSessionNames, "s.session_id", distinct(sessionIDs), targets)
}
