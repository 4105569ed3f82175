package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"slices"

	"github.com/holdpoint/holdpoint/runs"
)

const claimableColumns = `run_id, session_id, agent_id, claimable_at_ms`

func scanClaimable(rows *sql.Rows) (runs.Claimable, error) {
	var claimable runs.Claimable
	err := rows.Scan(&claimable.RunID, &claimable.SessionID, &claimable.AgentID, &claimable.ClaimableAtMs)
	return claimable, err
}

// Claimable implements [runs.Reader]. Runs that became claimable at the same
// moment go by their ids.
func (s *Store) Claimable(ctx context.Context, agentIDs []string, limit int) ([]runs.Claimable, error) {
	limit = max(limit, 0)
	nowMs := s.nowMs()
	var found []runs.Claimable
	err := s.read(ctx, func(c *connection) error {
		var err error
		if len(agentIDs) == 0 {
			found, err = list(ctx, c, scanClaimable, `SELECT `+claimableColumns+` FROM runs
				WHERE claimable_at_ms <= ? ORDER BY claimable_at_ms, run_id LIMIT ?`, nowMs, limit)
			return err
		}
		// One short walk along the index for each agent: a single statement for all
		// of them would sort every claimable run they have.
		for _, agentID := range slices.Compact(slices.Sorted(slices.Values(agentIDs))) {
			ofAgent, err := list(ctx, c, scanClaimable, `SELECT `+claimableColumns+` FROM runs
				WHERE agent_id = ? AND claimable_at_ms <= ? ORDER BY claimable_at_ms, run_id LIMIT ?`, agentID, nowMs, limit)
			if err != nil {
				return err
			}
			found = append(found, ofAgent...)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(found, func(a, b runs.Claimable) int {
		return cmp.Or(cmp.Compare(a.ClaimableAtMs, b.ClaimableAtMs), cmp.Compare(a.RunID, b.RunID))
	})
	return found[:min(limit, len(found))], nil
}

func scanDue(rows *sql.Rows) (runs.DueRun, error) {
	var due runs.DueRun
	err := rows.Scan(&due.RunID, &due.SessionID)
	return due, err
}

// Due implements [runs.Reader].
func (s *Store) Due(ctx context.Context, limit int) ([]runs.DueRun, error) {
	var due []runs.DueRun
	err := s.read(ctx, func(c *connection) error {
		var err error
		due, err = list(ctx, c, scanDue, `SELECT run_id, session_id FROM requests WHERE due_at_ms <= ?
			GROUP BY session_id, run_id ORDER BY min(due_at_ms), session_id, run_id LIMIT ?`, s.nowMs(), max(limit, 0))
		return err
	})
	return due, err
}

// NextDueAtMs implements [runs.Reader].
func (s *Store) NextDueAtMs(ctx context.Context) (dueAtMs, nowMs int64, err error) {
	nowMs = s.nowMs()
	dueAtMs, err = s.count(ctx, `SELECT coalesce(min(due_at_ms), 0) FROM requests WHERE due_at_ms IS NOT NULL`)
	return dueAtMs, nowMs, err
}
