package sqlite

import (
	"context"
	"database/sql"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

func scanDueEffect(rows *sql.Rows) (runs.DueEffect, error) {
	var due runs.DueEffect
	err := rows.Scan(&due.SessionID, &due.EffectID)
	return due, err
}

// DueEffects implements [runs.Reader].
func (s *Store) DueEffects(ctx context.Context, limit int) ([]runs.DueEffect, error) {
	var due []runs.DueEffect
	err := s.read(ctx, func(c *connection) error {
		var err error
		due, err = list(ctx, c, scanDueEffect, `SELECT session_id, effect_id FROM effects WHERE due_at_ms <= ?
			ORDER BY due_at_ms, session_id, effect_id LIMIT ?`, s.nowMs(), max(limit, 0))
		return err
	})
	return due, err
}

// effectsWhere returns where a query's effects are found. Most effects are done: what
// is asked for more often has an index of its own, which SQLite does not choose by
// itself or finds by the text of the condition. known is false for a state that no
// effect has.
func effectsWhere(q runs.EffectQuery) (from string, f filter, known bool) {
	from = ` FROM effects`
	switch q.State {
	case "":
	case api.EffectPending:
		from += ` INDEXED BY effects_due`
		f.and(`due_at_ms IS NOT NULL`)
	case api.EffectFailed:
		f.and(`state = 'failed'`)
	case api.EffectDone:
		f.and(`state = 'done'`)
	default:
		return "", f, false
	}
	if q.SessionID != "" {
		f.and(`session_id = ?`, q.SessionID)
	}
	return from, f, true
}

// Effects implements [runs.Reader].
func (s *Store) Effects(ctx context.Context, q runs.EffectQuery) ([]model.Effect, error) {
	from, f, known := effectsWhere(q)
	if !known {
		return nil, nil
	}
	if q.After != nil {
		f.and(`(created_at_ms, effect_id) > (?, ?)`, q.After.CreatedAtMs, q.After.EffectID)
	}
	query := `SELECT ` + effectColumns + from + f.where() + ` ORDER BY created_at_ms, effect_id LIMIT ?`
	var effects []model.Effect
	err := s.read(ctx, func(c *connection) error {
		var err error
		effects, err = list(ctx, c, scanEffect, query, append(f.args, max(q.Limit, 0))...)
		return err
	})
	return effects, err
}

// CountEffects implements [runs.Reader].
func (s *Store) CountEffects(ctx context.Context, q runs.EffectQuery) (int64, error) {
	from, f, known := effectsWhere(q)
	if !known {
		return 0, nil
	}
	return s.count(ctx, `SELECT count(*)`+from+f.where(), f.args...)
}
