package sqlite

import (
	"context"
	"database/sql"
	"slices"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// filter gathers the conditions of a list and their arguments, in one order.
type filter struct {
	conditions []string
	args       []any
}

func (f *filter) and(condition string, args ...any) {
	f.conditions = append(f.conditions, condition)
	f.args = append(f.args, args...)
}

func (f *filter) where() string {
	if len(f.conditions) == 0 {
		return ""
	}
	return ` WHERE ` + strings.Join(f.conditions, ` AND `)
}

func (s *Store) count(ctx context.Context, query string, args ...any) (int64, error) {
	var count int64
	err := s.read(ctx, func(c *connection) error {
		var err error
		count, _, err = one(ctx, c, scanOne[int64], query, args...)
		return err
	})
	return count, err
}

func runFilter(q runs.RunQuery) filter {
	var f filter
	if q.SessionID != "" {
		f.and(`session_id = ?`, q.SessionID)
	}
	if q.AgentID != "" {
		f.and(`agent_id = ?`, q.AgentID)
	}
	if q.Status != "" {
		f.and(`status = ?`, string(q.Status))
	}
	if q.Kind != "" {
		f.and(`kind = ?`, string(q.Kind))
	}
	return f
}

// Runs implements [runs.Reader].
func (s *Store) Runs(ctx context.Context, q runs.RunQuery) ([]model.RunRecord, error) {
	var records []model.RunRecord
	err := s.snapshot(ctx, func(c *connection) error {
		found, err := runsInOrder(ctx, c, q)
		if err != nil {
			return err
		}
		records, err = recordsOf(ctx, c, found)
		return err
	})
	if err != nil {
		return nil, err
	}
	return records, nil
}

// runsInOrder reads the list part by part: with PriorityActive the runs that are
// not over are a part of their own before the others.
func runsInOrder(ctx context.Context, c *connection, q runs.RunQuery) ([]*model.Run, error) {
	parts := []string{""}
	if q.PriorityActive {
		parts = []string{`finished_at_ms IS NULL`, `finished_at_ms IS NOT NULL`}
		if q.After != nil && q.After.Over {
			parts = parts[1:]
		}
	}
	after := q.After
	if q.Last {
		slices.Reverse(parts)
	}
	var found []*model.Run
	for _, part := range parts {
		if len(found) >= q.Limit {
			break
		}
		f := runFilter(q)
		if part != "" {
			f.and(part)
		}
		// The cursor lies in the first part that is left, in the list's own order.
		if after != nil && (!q.PriorityActive || after.Over == (part == `finished_at_ms IS NOT NULL`)) {
			f.and(`(submitted_at_ms, run_id) > (?, ?)`, after.SubmittedAtMs, after.RunID)
		}
		order := ` ORDER BY submitted_at_ms, run_id LIMIT ?`
		if q.Last {
			order = ` ORDER BY submitted_at_ms DESC, run_id DESC LIMIT ?`
		}
		more, err := list(ctx, c, scanShownRun, `SELECT `+shownRunColumns+` FROM runs`+f.where()+order, append(f.args, q.Limit-len(found))...)
		if err != nil {
			return nil, err
		}
		found = append(found, more...)
	}
	if q.Last {
		slices.Reverse(found)
	}
	return found, nil
}

// CountRuns implements [runs.Reader].
func (s *Store) CountRuns(ctx context.Context, q runs.RunQuery) (int64, error) {
	f := runFilter(q)
	return s.count(ctx, `SELECT count(*) FROM runs`+f.where(), f.args...)
}

func requestFilter(q runs.RequestQuery) filter {
	var f filter
	f.and(`requests.outcome IS NULL`)
	f.and(`requests.kind = ?`, string(q.Kind))
	if q.SessionID != "" {
		f.and(`requests.session_id = ?`, q.SessionID)
	}
	return f
}

// PendingRequests implements [runs.Reader].
func (s *Store) PendingRequests(ctx context.Context, q runs.RequestQuery) ([]model.PendingRequest, error) {
	f := requestFilter(q)
	if q.After != nil {
		f.and(`(requests.session_id, requests.run_id, requests.request_id) > (?, ?, ?)`, q.After.SessionID, q.After.RunID, q.After.RequestID)
	}
	query := `SELECT ` + pendingColumns + `
		FROM requests CROSS JOIN runs ON runs.run_id = requests.run_id` + f.where() + `
		ORDER BY requests.session_id, requests.run_id, requests.request_id LIMIT ?`
	var pending []model.PendingRequest
	err := s.read(ctx, func(c *connection) error {
		var err error
		pending, err = list(ctx, c, scanPending, query, append(f.args, max(q.Limit, 0))...)
		return err
	})
	return pending, err
}

const pendingColumns = requestColumns + `, runs.agent_id, runs.kind, runs.requester`

func scanPending(rows *sql.Rows) (model.PendingRequest, error) {
	var pending model.PendingRequest
	err := rows.Scan(append(requestTargets(&pending.Request), &pending.AgentID, &pending.RunKind, (*jsonText)(&pending.Requester))...)
	return pending, err
}

// RequestByHandle implements [runs.Reader].
func (s *Store) RequestByHandle(ctx context.Context, handle string) (*model.PendingRequest, error) {
	var found model.PendingRequest
	err := s.read(ctx, func(c *connection) error {
		var there bool
		var err error
		found, there, err = one(ctx, c, scanPending, `SELECT `+pendingColumns+`
			FROM requests CROSS JOIN runs ON runs.run_id = requests.run_id WHERE requests.handle = ?`, handle)
		if err == nil && !there {
			err = refusal.New(api.CodeRequestNotFound, "unknown request %s", handle)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return &found, nil
}

// CountPendingRequests implements [runs.Reader].
func (s *Store) CountPendingRequests(ctx context.Context, q runs.RequestQuery) (int64, error) {
	f := requestFilter(q)
	return s.count(ctx, `SELECT count(*) FROM requests`+f.where(), f.args...)
}
