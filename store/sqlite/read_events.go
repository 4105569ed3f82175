package sqlite

import (
	"context"

	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// SessionEvents implements [runs.Reader].
func (s *Store) SessionEvents(ctx context.Context, sessionID string, after int64, limit int) ([]model.Event, error) {
	var events []model.Event
	err := s.snapshot(ctx, func(c *connection) error {
		_, there, err := one(ctx, c, scanOne[int64], `SELECT last_event_id FROM sessions WHERE session_id = ?`, sessionID)
		if err != nil {
			return err
		}
		if !there {
			return refusal.UnknownSession(sessionID)
		}
		events, err = list(ctx, c, scanEvent,
			`SELECT `+eventColumns+` FROM events WHERE session_id = ? AND event_id > ? ORDER BY event_id LIMIT ?`, sessionID, after, max(limit, 0))
		return err
	})
	return events, err
}

// RunEvents implements [runs.Reader].
func (s *Store) RunEvents(ctx context.Context, runID string, after int64, limit int) ([]model.Event, error) {
	var events []model.Event
	err := s.snapshot(ctx, func(c *connection) error {
		_, there, err := one(ctx, c, scanOne[string], `SELECT session_id FROM runs WHERE run_id = ?`, runID)
		if err != nil {
			return err
		}
		if !there {
			return refusal.UnknownRun(runID)
		}
		events, err = list(ctx, c, scanEvent,
			`SELECT `+eventColumns+` FROM events WHERE run_id = ? AND event_id > ? ORDER BY event_id LIMIT ?`, runID, after, max(limit, 0))
		return err
	})
	return events, err
}
