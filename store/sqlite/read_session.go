package sqlite

import (
	"context"
	"database/sql"
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Session implements [runs.Reader].
func (s *Store) Session(ctx context.Context, sessionID string) (*model.SessionRecord, error) {
	record := &model.SessionRecord{}
	err := s.snapshot(ctx, func(c *connection) error {
		session, there, err := one(ctx, c, scanSession, `SELECT `+sessionColumns+` FROM sessions WHERE session_id = ?`, sessionID)
		if err != nil {
			return err
		}
		if !there {
			return refusal.UnknownSession(sessionID)
		}
		record.Session = *session
		if session.ActiveRunID != "" {
			run, err := runOf(ctx, c, session.ActiveRunID)
			if err != nil {
				return err
			}
			records, err := recordsOf(ctx, c, []*model.Run{run})
			if err != nil {
				return err
			}
			record.Active = &records[0]
		}
		if session.QueuedCount > 0 {
			record.QueuedRunIDs, err = list(ctx, c, scanOne[string],
				`SELECT run_id FROM runs WHERE session_id = ? AND finished_at_ms IS NULL AND status = 'queued' ORDER BY first_event_id`, sessionID)
			if err != nil {
				return err
			}
		}
		record.Clarifications, err = list(ctx, c, scanPending, `SELECT `+pendingColumns+`
			FROM runs CROSS JOIN requests ON requests.run_id = runs.run_id AND requests.outcome IS NULL AND requests.kind = 'question'
			WHERE runs.session_id = ? AND runs.finished_at_ms IS NULL AND runs.kind = 'parent_clarification'
			ORDER BY runs.run_id, requests.request_id LIMIT ?`, sessionID, api.MaxClarificationsShown)
		if err != nil {
			return err
		}
		record.Outputs, err = list(ctx, c, scanOutput,
			`SELECT body FROM events WHERE session_id = ? AND type = 'output' ORDER BY event_id DESC LIMIT ?`, sessionID, api.MaxOutputsShown)
		slices.Reverse(record.Outputs)
		return err
	})
	if err != nil {
		return nil, err
	}
	return record, nil
}

// SessionHead implements [runs.Reader].
func (s *Store) SessionHead(ctx context.Context, sessionID string) (*model.Session, error) {
	var session *model.Session
	err := s.read(ctx, func(c *connection) error {
		var there bool
		var err error
		session, there, err = one(ctx, c, scanSession, `SELECT `+sessionColumns+` FROM sessions WHERE session_id = ?`, sessionID)
		if err == nil && !there {
			err = refusal.UnknownSession(sessionID)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return session, nil
}

func scanOutput(rows *sql.Rows) (api.OutputRecord, error) {
	var body jsonText
	if err := rows.Scan(&body); err != nil {
		return api.OutputRecord{}, err
	}
	return outputOf(body)
}

// sessionStatus is the status that a session is shown with.
const sessionStatus = `CASE
	WHEN sessions.ended_at_ms IS NOT NULL THEN 'ended'
	WHEN sessions.active_run_id IS NULL THEN 'idle'
	ELSE (SELECT runs.status FROM runs WHERE runs.run_id = sessions.active_run_id)
	END`

func pendingCount(kind model.RequestKind) string {
	return `(SELECT count(*) FROM requests
		WHERE requests.kind = '` + string(kind) + `' AND requests.session_id = sessions.session_id AND requests.outcome IS NULL)`
}

func sessionFilter(q runs.SessionQuery) filter {
	var f filter
	if q.AgentID != "" {
		f.and(`agent_id = ?`, q.AgentID)
	}
	if q.Status != "" {
		f.and(sessionStatus+` = ?`, string(q.Status))
	}
	return f
}

// Sessions implements [runs.Reader].
func (s *Store) Sessions(ctx context.Context, q runs.SessionQuery) ([]model.SessionSummary, error) {
	f := sessionFilter(q)
	if q.After != "" {
		f.and(`session_id > ?`, q.After)
	}
	query := `SELECT ` + sessionColumns + `, ` + sessionStatus + `, ` + pendingCount(model.KindApproval) + `, ` + pendingCount(model.KindQuestion) +
		` FROM sessions` + f.where() + ` ORDER BY session_id LIMIT ?`
	var summaries []model.SessionSummary
	err := s.read(ctx, func(c *connection) error {
		var err error
		summaries, err = list(ctx, c, scanSummary, query, append(f.args, max(q.Limit, 0))...)
		return err
	})
	return summaries, err
}

func scanSummary(rows *sql.Rows) (model.SessionSummary, error) {
	var summary model.SessionSummary
	err := rows.Scan(append(sessionTargets(&summary.Session), &summary.Status, &summary.PendingApprovals, &summary.PendingQuestions)...)
	return summary, err
}

// CountSessions implements [runs.Reader].
func (s *Store) CountSessions(ctx context.Context, q runs.SessionQuery) (int64, error) {
	f := sessionFilter(q)
	return s.count(ctx, `SELECT count(*) FROM sessions`+f.where(), f.args...)
}
