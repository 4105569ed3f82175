package postgres

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

const (
	sqlSessionThere = `SELECT s.last_event_id FROM sessions AS s WHERE s.session_id = $1`
	sqlRunThere     = `SELECT r.last_event_id FROM runs AS r WHERE r.run_id = $1`

	sqlSessionEvents = `
SELECT` + eventColumns + `
FROM events AS e
WHERE e.session_id = $1 AND e.event_id > $2::bigint
ORDER BY e.event_id
LIMIT $3::bigint`
	// sqlRunEvents walks the session's log between the run's first and last event.
	sqlRunEvents = `
SELECT` + eventColumns + `
FROM runs AS r
JOIN events AS e ON e.session_id = r.session_id AND e.run_id = r.run_id
	AND e.event_id >= r.first_event_id AND e.event_id <= r.last_event_id AND e.event_id > $2::bigint
WHERE r.run_id = $1
ORDER BY e.event_id
LIMIT $3::bigint`
)

// SessionEvents implements runs.Reader.
func (s *Store) SessionEvents(ctx context.Context, sessionID string, after int64, limit int) ([]model.Event, error) {
	if !refusal.ValidID(sessionID) {
		return nil, refusal.UnknownSession(sessionID)
	}
	events, err := s.events(ctx, sqlSessionThere, sqlSessionEvents, sessionID, after, limit)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, refusal.UnknownSession(sessionID)
	}
	return events, readFailure(ctx, err)
}

// RunEvents implements runs.Reader.
func (s *Store) RunEvents(ctx context.Context, runID string, after int64, limit int) ([]model.Event, error) {
	if !refusal.ValidID(runID) {
		return nil, refusal.UnknownRun(runID)
	}
	events, err := s.events(ctx, sqlRunThere, sqlRunEvents, runID, after, limit)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, refusal.UnknownRun(runID)
	}
	return events, readFailure(ctx, err)
}

// events returns pgx.ErrNoRows when there is no such owner of a log.
func (s *Store) events(ctx context.Context, there, list, id string, after int64, limit int) ([]model.Event, error) {
	var events []model.Event
	missing := false
	batch := &pgx.Batch{}
	batch.Queue(there, id).QueryRow(func(row pgx.Row) error {
		var last int64
		err := row.Scan(&last)
		missing = errors.Is(err, pgx.ErrNoRows)
		if missing {
			return nil
		}
		return err
	})
	batch.Queue(list, id, after, max(limit, 0)).Query(func(rows pgx.Rows) error {
		return each(rows, eventTargets, func(e *model.Event) { events = append(events, *e) })
	})
	err := s.reads.SendBatch(ctx, batch).Close()
	if err == nil && missing {
		err = pgx.ErrNoRows
	}
	return events, err
}

const (
	sqlClaimable = `
SELECT r.run_id, r.session_id, r.agent_id, r.claimable_at_ms
FROM runs AS r
WHERE r.claimable_at_ms <= ` + nowMs + `
ORDER BY r.claimable_at_ms, r.run_id
LIMIT $1::bigint`
	sqlClaimableOfAgents = `
SELECT r.run_id, r.session_id, r.agent_id, r.claimable_at_ms
FROM unnest($1::text[]) AS a (agent_id)
CROSS JOIN LATERAL (
	SELECT c.run_id, c.session_id, c.agent_id, c.claimable_at_ms
	FROM runs AS c
	WHERE c.agent_id = a.agent_id AND c.claimable_at_ms <= ` + nowMs + `
	ORDER BY c.claimable_at_ms, c.run_id
	LIMIT $2::bigint
) AS r
ORDER BY r.claimable_at_ms, r.run_id
LIMIT $2::bigint`
)

// Claimable implements runs.Reader. Runs of the same moment are in the order of
// their ids.
func (s *Store) Claimable(ctx context.Context, agentIDs []string, limit int) ([]runs.Claimable, error) {
	var rows pgx.Rows
	var err error
	if len(agentIDs) == 0 {
		rows, err = s.reads.Query(ctx, sqlClaimable, max(limit, 0))
	} else {
		known := slices.DeleteFunc(slices.Clone(agentIDs), func(id string) bool { return !storable(id) })
		slices.Sort(known)
		rows, err = s.reads.Query(ctx, sqlClaimableOfAgents, slices.Compact(known), max(limit, 0))
	}
	if err != nil {
		return nil, readFailure(ctx, err)
	}
	defer rows.Close()
	var list []runs.Claimable
	targets := func(c *runs.Claimable) []any {
		return []any{&c.RunID, &c.SessionID, &c.AgentID, &c.ClaimableAtMs}
	}
	err = each(rows, targets, func(c *runs.Claimable) { list = append(list, *c) })
	return list, readFailure(ctx, err)
}

const (
	// sqlDue takes the earliest requests; a run that has several is named once.
	sqlDue = `
SELECT q.session_id, q.run_id
FROM requests AS q
WHERE q.due_at_ms <= ` + nowMs + `
ORDER BY q.due_at_ms, q.session_id, q.run_id
LIMIT $1::bigint`
	sqlNextDue = `
SELECT coalesce((
	SELECT q.due_at_ms FROM requests AS q WHERE q.due_at_ms IS NOT NULL
	ORDER BY q.due_at_ms, q.session_id, q.run_id LIMIT 1
), 0), ` + nowMs
	sqlNow        = `SELECT ` + nowMs
	sqlDueEffects = `
SELECT f.session_id, f.effect_id
FROM effects AS f
WHERE f.due_at_ms <= ` + nowMs + `
ORDER BY f.due_at_ms, f.session_id, f.effect_id
LIMIT $1::bigint`
)

// Due implements runs.Reader. It looks at the limit's number of requests, and so
// returns fewer runs when one of them has several that are due.
func (s *Store) Due(ctx context.Context, limit int) ([]runs.DueRun, error) {
	rows, err := s.reads.Query(ctx, sqlDue, max(limit, 0))
	if err != nil {
		return nil, readFailure(ctx, err)
	}
	defer rows.Close()
	var list []runs.DueRun
	seen := map[string]bool{}
	targets := func(d *runs.DueRun) []any { return []any{&d.SessionID, &d.RunID} }
	err = each(rows, targets, func(d *runs.DueRun) {
		if !seen[d.RunID] {
			seen[d.RunID] = true
			list = append(list, *d)
		}
	})
	return list, readFailure(ctx, err)
}

// DueEffects implements runs.Reader.
func (s *Store) DueEffects(ctx context.Context, limit int) ([]runs.DueEffect, error) {
	rows, err := s.reads.Query(ctx, sqlDueEffects, max(limit, 0))
	if err != nil {
		return nil, readFailure(ctx, err)
	}
	defer rows.Close()
	var list []runs.DueEffect
	targets := func(d *runs.DueEffect) []any { return []any{&d.SessionID, &d.EffectID} }
	err = each(rows, targets, func(d *runs.DueEffect) { list = append(list, *d) })
	return list, readFailure(ctx, err)
}

// NextDueAtMs implements runs.Reader.
func (s *Store) NextDueAtMs(ctx context.Context) (dueAtMs, now int64, err error) {
	err = s.reads.QueryRow(ctx, sqlNextDue).Scan(&dueAtMs, &now)
	return dueAtMs, now, readFailure(ctx, err)
}

// NowMs implements runs.Keeper.
func (s *Store) NowMs(ctx context.Context) (now int64, err error) {
	err = s.reads.QueryRow(ctx, sqlNow).Scan(&now)
	return now, readFailure(ctx, err)
}

const sqlSweepRecords = `
WITH old AS MATERIALIZED (
	SELECT o.scope, o.operation, o.idempotency_key
	FROM idempotency_records AS o
	WHERE o.created_at_ms < $1::bigint
	ORDER BY o.created_at_ms
	LIMIT $2::bigint
	FOR UPDATE SKIP LOCKED
)
DELETE FROM idempotency_records AS i USING old
WHERE i.scope = old.scope AND i.operation = old.operation AND i.idempotency_key = old.idempotency_key`

// SweepIdempotency implements runs.Keeper. Several replicas may sweep at once.
func (s *Store) SweepIdempotency(ctx context.Context, beforeMs int64, limit int) (int, error) {
	tag, err := s.reads.Exec(ctx, sqlSweepRecords, beforeMs, max(limit, 0))
	return int(tag.RowsAffected()), readFailure(ctx, err)
}
