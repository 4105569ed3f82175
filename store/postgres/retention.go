package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdpoint/holdpoint/runs/upkeep"
	"github.com/holdpoint/holdpoint/store/columns"
	"github.com/holdpoint/holdpoint/store/retain"
)

// retentionTimeout bounds one transaction of the retention.
const retentionTimeout = 15 * time.Second

// The statements of retention. No others delete decided rows.
const (
	sqlTrimLock = `
SELECT coalesce(s.first_kept_event_id, 1) FROM sessions AS s WHERE s.session_id = $1 FOR UPDATE SKIP LOCKED`

	// A run must stay until it has been finished long enough, and while something needs it: a
	// pending or failed effect, an unacknowledged message, a rule in force with it as the
	// source, or a child run.
	sqlTrimEnd = `
WITH head AS MATERIALIZED (
	SELECT e.event_id, e.run_id FROM events AS e
	WHERE e.session_id = $1 AND e.event_id >= $2::bigint
	ORDER BY e.event_id LIMIT $5
), stays AS MATERIALIZED (
	SELECT r.run_id FROM runs AS r
	WHERE r.session_id = $1 AND r.run_id IN (SELECT h.run_id FROM head AS h) AND (
		r.finished_at_ms IS NULL OR r.finished_at_ms >= $3::bigint
		OR EXISTS (SELECT FROM effects AS f WHERE f.session_id = $1 AND f.run_id = r.run_id AND (f.state = 'pending' OR f.state = 'failed' AND f.webhook_id = ''))
		OR EXISTS (SELECT FROM messages AS m WHERE m.session_id = $1 AND m.run_id = r.run_id AND m.acknowledged_at_ms IS NULL)
		OR EXISTS (SELECT FROM rules AS l WHERE l.source_run_id = r.run_id AND l.source_run_id <> ''
			AND l.revoked_at_ms IS NULL AND (l.expires_at_ms IS NULL OR l.expires_at_ms > $4::bigint))
		OR EXISTS (SELECT FROM runs AS child WHERE child.parent_run_id = r.run_id AND child.parent_run_id <> '' AND child.finished_at_ms IS NULL))
)
SELECT coalesce(
	(SELECT min(h.event_id) FROM head AS h WHERE h.run_id IN (SELECT t.run_id FROM stays AS t)),
	(SELECT max(h.event_id) + 1 FROM head AS h),
	$2)`

	sqlTrimFirstKept = `UPDATE sessions SET first_kept_event_id = $2, output_count = output_count - $3, version = version + 1 WHERE session_id = $1`
	sqlTrimWhole     = `SELECT r.run_id FROM runs AS r WHERE r.session_id = $1 AND r.run_id = ANY ($2::text[]) AND r.last_event_id < $3`

	sqlTrimRequests = `DELETE FROM requests WHERE session_id = $1 AND run_id = ANY ($2::text[])`
	sqlTrimEffects  = `DELETE FROM effects WHERE session_id = $1 AND run_id = ANY ($2::text[])`
	sqlTrimMessages = `DELETE FROM messages WHERE session_id = $1 AND run_id = ANY ($2::text[])`
	sqlTrimNames    = `DELETE FROM idempotency_records WHERE session_id = $1 AND run_id = ANY ($2::text[]) AND operation = 'name'`
	sqlTrimRuns     = `DELETE FROM runs WHERE session_id = $1 AND run_id = ANY ($2::text[])`

	sqlTrimEmpty = `
SELECT 1 FROM sessions AS s
WHERE s.session_id = $1 AND s.updated_at_ms < $2
	AND NOT EXISTS (SELECT FROM runs AS r WHERE r.session_id = s.session_id)
	AND NOT EXISTS (SELECT FROM effects AS f WHERE f.session_id = s.session_id)
	AND NOT EXISTS (SELECT FROM messages AS m WHERE m.session_id = s.session_id)
	AND NOT EXISTS (SELECT FROM rules AS l WHERE l.session_id = s.session_id
		AND l.revoked_at_ms IS NULL AND (l.expires_at_ms IS NULL OR l.expires_at_ms > $3::bigint)
		AND (l.max_uses IS NULL OR l.uses < l.max_uses))
	AND NOT EXISTS (SELECT FROM sessions AS child WHERE child.parent_session_id = s.session_id AND child.parent_session_id <> '')`
	sqlTrimSession = `
DELETE FROM sessions AS s
WHERE s.session_id = $1 AND s.updated_at_ms < $2
	AND NOT EXISTS (SELECT FROM runs AS r WHERE r.session_id = s.session_id)
	AND NOT EXISTS (SELECT FROM effects AS f WHERE f.session_id = s.session_id)
	AND NOT EXISTS (SELECT FROM messages AS m WHERE m.session_id = s.session_id)
	AND NOT EXISTS (SELECT FROM rules AS l WHERE l.session_id = s.session_id
		AND l.revoked_at_ms IS NULL AND (l.expires_at_ms IS NULL OR l.expires_at_ms > $3::bigint)
		AND (l.max_uses IS NULL OR l.uses < l.max_uses))
	AND NOT EXISTS (SELECT FROM sessions AS child WHERE child.parent_session_id = s.session_id AND child.parent_session_id <> '')
RETURNING CASE WHEN EXISTS (SELECT 1 FROM audit_checkpoints) THEN coalesce(s.life, '') ELSE '' END`

	// A rule that settled something stays as long as that, so a used-up rule, whose end has no time,
	// outlives the requests that name it.
	sqlSweepRules = `
DELETE FROM rules
WHERE rule_id IN (
	SELECT l.rule_id FROM rules AS l
	WHERE l.created_at_ms < $1 AND (l.revoked_at_ms < $1 OR l.expires_at_ms < $1 OR l.uses >= l.max_uses)
		AND NOT EXISTS (SELECT FROM requests AS q WHERE q.rule_id = l.rule_id)
	LIMIT $2)`
)

var retention = retain.Statements{
	TrimLock: sqlTrimLock, TrimEnd: sqlTrimEnd, TrimFirstKept: sqlTrimFirstKept, TrimWhole: sqlTrimWhole,
	TrimRuns: []string{sqlTrimRequests, sqlTrimEffects, sqlTrimMessages, sqlTrimNames, sqlTrimRuns}, TrimEmpty: sqlTrimEmpty, TrimSession: sqlTrimSession,
}

// alone implements [retain.Alone].
func (s *Store) alone(ctx context.Context, _ string, do func(context.Context, retain.Transaction) error) error {
	ctx, cancel := context.WithTimeout(ctx, retentionTimeout)
	defer cancel()
	return readFailure(ctx, pgx.BeginTxFunc(ctx, s.reads, changing, func(tx pgx.Tx) error { return do(ctx, trimming{tx}) }))
}

// TrimSession implements upkeep.Keeper. It skips a locked session.
func (s *Store) TrimSession(ctx context.Context, sessionID string, beforeMs int64, limit int) (upkeep.Trimmed, error) {
	nowMs, err := s.NowMs(ctx)
	if err != nil {
		return upkeep.Trimmed{}, err
	}
	s.door.Retains(time.Duration(nowMs-beforeMs) * time.Millisecond)
	return s.Retention.TrimSession(ctx, sessionID, beforeMs, limit)
}

// SweepRules implements upkeep.Keeper. Replicas may sweep concurrently.
func (s *Store) SweepRules(ctx context.Context, beforeMs int64, limit int) (int, error) {
	return s.sweep(ctx, sqlSweepRules, beforeMs, limit)
}

// SweepIdempotency implements upkeep.Keeper. Replicas may sweep concurrently.
func (s *Store) SweepIdempotency(ctx context.Context, beforeMs int64, limit int) (int, error) {
	return s.sweep(ctx, sqlSweepRecords, beforeMs, limit)
}

func (s *Store) sweep(ctx context.Context, sql string, beforeMs int64, limit int) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, retentionTimeout)
	defer cancel()
	var swept int64
	err := pgx.BeginTxFunc(ctx, s.reads, changing, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, sql, beforeMs, max(limit, 0))
		swept = tag.RowsAffected()
		return err
	})
	return int(swept), readFailure(ctx, err)
}

// trimming implements retain.Transaction.
type trimming struct{ tx pgx.Tx }

func (t trimming) Ask(ctx context.Context, sql string, read func(columns.Rows) error, args ...any) error {
	rows, err := t.tx.Query(ctx, sql, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	return read(rows)
}

func (t trimming) Write(ctx context.Context, sql string, args ...any) (int64, error) {
	tag, err := t.tx.Exec(ctx, sql, args...)
	return tag.RowsAffected(), err
}

func (trimming) List(texts []string) any { return texts }
