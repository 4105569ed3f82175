package sqlite

import (
	"context"

	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/store/columns"
	"github.com/holdpoint/holdpoint/store/read"
	"github.com/holdpoint/holdpoint/store/retain"
)

// The statements of retention. No others delete decided rows.
const (
	// The database's one write lock is the lock of every session.
	sqlTrimLock = `SELECT coalesce(s.first_kept_event_id, 1) FROM sessions AS s WHERE s.session_id = $1`

	// A run must stay until it has been finished long enough, and while something needs it: a
	// pending or failed effect, an unacknowledged message, a rule in force with it as the
	// source, or a child run.
	sqlTrimEnd = `
WITH head AS MATERIALIZED (
	SELECT e.event_id, e.run_id FROM events AS e
	WHERE e.session_id = $1 AND e.event_id >= $2
	ORDER BY e.event_id LIMIT CAST($5 AS bigint)
), most AS MATERIALIZED (
	SELECT r.run_id FROM (SELECT DISTINCT h.run_id FROM head AS h) AS k
	CROSS JOIN runs AS r ON r.run_id = k.run_id
	WHERE r.finished_at_ms IS NULL OR r.finished_at_ms >= $3
		OR EXISTS (SELECT 1 FROM effects AS f WHERE f.session_id = $1 AND f.run_id = r.run_id AND (f.state = 'pending' OR f.state = 'failed' AND f.webhook_id = ''))
		OR EXISTS (SELECT 1 FROM messages AS m WHERE m.session_id = $1 AND m.run_id = r.run_id AND m.acknowledged_at_ms IS NULL)
		OR EXISTS (SELECT 1 FROM rules AS l WHERE l.source_run_id = r.run_id AND l.revoked_at_ms IS NULL AND coalesce(l.expires_at_ms, $4 + 1) > $4)
		OR EXISTS (SELECT 1 FROM runs AS child WHERE child.parent_run_id = r.run_id AND child.finished_at_ms IS NULL)
)
SELECT coalesce(
	(SELECT min(a.event_id) FROM head AS a WHERE a.run_id IN (SELECT n.run_id FROM most AS n)),
	(SELECT max(a.event_id) + 1 FROM head AS a),
	$2)`

	sqlTrimFirstKept = `UPDATE sessions SET first_kept_event_id = $2, output_count = output_count - $3, version = version + 1 + (random() & 4294967295) WHERE session_id = $1`
	sqlTrimWhole     = `
SELECT r.run_id FROM json_each($2) AS k CROSS JOIN runs AS r ON r.run_id = k.value
WHERE r.session_id = $1 AND r.last_event_id < $3`

	sqlTrimRequests = `
DELETE FROM requests
WHERE (session_id, request_id, run_id) IN (
	SELECT q.session_id, q.request_id, q.run_id
	FROM json_each($2) AS k CROSS JOIN requests AS q ON q.run_id = k.value AND q.session_id = $1)`
	sqlTrimEffects = `
DELETE FROM effects WHERE session_id = $1 AND run_id IN (SELECT k.value FROM json_each($2) AS k)`
	sqlTrimMessages = `
DELETE FROM messages WHERE session_id = $1 AND run_id IN (SELECT k.value FROM json_each($2) AS k)`
	sqlTrimNames = `
DELETE FROM idempotency_records
WHERE (scope, operation, idempotency_key) IN (
	SELECT i.scope, i.operation, i.idempotency_key
	FROM json_each($2) AS k CROSS JOIN idempotency_records AS i INDEXED BY idempotency_records_names
	ON i.session_id = $1 AND i.run_id = k.value AND i.operation = 'name')`
	sqlTrimPayloads = `
DELETE FROM run_payloads WHERE $1 <> '' AND run_id IN (SELECT k.value FROM json_each($2) AS k)`
	sqlTrimRuns = `
DELETE FROM runs WHERE session_id = $1 AND run_id IN (SELECT k.value FROM json_each($2) AS k)`

	sqlTrimEmpty = `
SELECT 1 FROM sessions
WHERE session_id = $1 AND updated_at_ms < $2
	AND NOT EXISTS (SELECT 1 FROM runs AS r WHERE r.session_id = $1)
	AND NOT EXISTS (SELECT 1 FROM effects AS f WHERE f.session_id = $1)
	AND NOT EXISTS (SELECT 1 FROM messages AS m WHERE m.session_id = $1)
	AND NOT EXISTS (SELECT 1 FROM rules AS l WHERE l.session_id = $1
		AND l.revoked_at_ms IS NULL AND coalesce(l.expires_at_ms, $3 + 1) > $3
		AND (l.max_uses IS NULL OR l.uses < l.max_uses))
	AND NOT EXISTS (SELECT 1 FROM sessions AS child WHERE child.parent_session_id = $1)`
	sqlTrimSession = `
DELETE FROM sessions
WHERE session_id = $1 AND updated_at_ms < $2
	AND NOT EXISTS (SELECT 1 FROM runs AS r WHERE r.session_id = $1)
	AND NOT EXISTS (SELECT 1 FROM effects AS f WHERE f.session_id = $1)
	AND NOT EXISTS (SELECT 1 FROM messages AS m WHERE m.session_id = $1)
	AND NOT EXISTS (SELECT 1 FROM rules AS l WHERE l.session_id = $1
		AND l.revoked_at_ms IS NULL AND coalesce(l.expires_at_ms, $3 + 1) > $3
		AND (l.max_uses IS NULL OR l.uses < l.max_uses))
	AND NOT EXISTS (SELECT 1 FROM sessions AS child WHERE child.parent_session_id = $1)
RETURNING CASE WHEN EXISTS (SELECT 1 FROM audit_checkpoints) THEN coalesce(life, '') ELSE '' END`

	// A rule that settled something stays as long as that, so a used-up rule, whose end has no time, outlives
	// the requests that name it. sqlOldRules says of the rules that were created before $1, after the position $2, $3,
	// whether sqlSweepRules may delete them. There may be very many that it may not, so it does not look for
	// them with the write connection held.
	sqlOldRules = `
SELECT l.created_at_ms, l.rule_id,
	coalesce(l.revoked_at_ms < $1 OR l.expires_at_ms < $1 OR l.uses >= l.max_uses, 0) AND NOT EXISTS (SELECT 1 FROM requests AS q WHERE q.rule_id = l.rule_id)
FROM rules AS l INDEXED BY rules_list
WHERE (l.created_at_ms, l.rule_id) > ($2, $3) AND l.created_at_ms < $1
ORDER BY l.created_at_ms, l.rule_id LIMIT CAST($4 AS bigint)`
	sqlSweepRules = `
DELETE FROM rules
WHERE rule_id IN (SELECT k.value FROM json_each($2) AS k) AND created_at_ms < $1
	AND (revoked_at_ms < $1 OR expires_at_ms < $1 OR uses >= max_uses)
	AND NOT EXISTS (SELECT 1 FROM requests AS q WHERE q.rule_id = rules.rule_id)`
)

var retention = retain.Statements{
	TrimLock: sqlTrimLock, TrimEnd: sqlTrimEnd, TrimFirstKept: sqlTrimFirstKept, TrimWhole: sqlTrimWhole,
	TrimRuns: []string{sqlTrimRequests, sqlTrimEffects, sqlTrimMessages, sqlTrimNames, sqlTrimPayloads, sqlTrimRuns}, TrimEmpty: sqlTrimEmpty, TrimSession: sqlTrimSession,
}

// alone implements [retain.Alone]. It queues for the write connection, and delays batches at most by the
// deletion of the events of one call.
func (s *Store) alone(ctx context.Context, doing string, do func(context.Context, retain.Transaction) error) error {
	write, err := s.writers.acquire(ctx)
	if err != nil {
		return err
	}
	defer s.writers.release(write)
	ctx = context.WithoutCancel(ctx)
	if _, err := write.exec(ctx, sqlBegin); err != nil {
		return failed(doing, err)
	}
	if err = do(ctx, trimming{write, s.reads}); err == nil {
		_, err = write.exec(ctx, sqlCommit)
	}
	if err != nil {
		// SQLite may have rolled back already.
		_, _ = write.exec(ctx, sqlRollback)
		if refusal.CodeOf(err) == "" {
			err = failed(doing, err)
		}
	}
	return err
}

// oldRulesPage is how many rules one read looks at.
const oldRulesPage = 500

// oldRule is a rule's position in rules_list, and whether it may be deleted.
type oldRule struct {
	createdAtMs int64
	ruleID      string
	deletable   bool
}

// SweepRules implements [upkeep.Keeper]. It holds the write connection only for the deletion.
func (s *Store) SweepRules(ctx context.Context, beforeMs int64, limit int) (int, error) {
	var found []string
	targets := func(r *oldRule) []any { return []any{&r.createdAtMs, &r.ruleID, &r.deletable} }
	var last oldRule
	for page := oldRulesPage; page == oldRulesPage && len(found) < limit; {
		page = 0
		err := s.reads.Ask(ctx, read.Query{SQL: sqlOldRules, Args: []any{beforeMs, last.createdAtMs, last.ruleID, oldRulesPage}, Read: func(rows columns.Rows) error {
			return columns.Each(rows, targets, func(r *oldRule) {
				if last = *r; r.deletable {
					found = append(found, r.ruleID)
				}
				page++
			})
		}})
		if err != nil {
			return 0, err
		}
	}
	if len(found) == 0 {
		return 0, nil
	}
	return s.sweep(ctx, sqlSweepRules, beforeMs, s.reads.List(found[:min(len(found), limit)]))
}

// SweepIdempotency implements [upkeep.Keeper].
func (s *Store) SweepIdempotency(ctx context.Context, beforeMs int64, limit int) (int, error) {
	return s.sweep(ctx, sqlSweepRecords, beforeMs, max(limit, 0))
}

// sweep queues for the write connection, and delays batches at most by the deletions of one call.
func (s *Store) sweep(ctx context.Context, sql string, beforeMs int64, which any) (int, error) {
	write, err := s.writers.acquire(ctx)
	if err != nil {
		return 0, err
	}
	defer s.writers.release(write)
	deleted, err := write.exec(context.WithoutCancel(ctx), sql, beforeMs, which)
	if err != nil {
		return 0, failed("sweep", err)
	}
	return int(deleted), nil
}

// trimming implements retain.Transaction.
type trimming struct {
	*connection
	reads *database
}

func (t trimming) Ask(ctx context.Context, sql string, read func(columns.Rows) error, args ...any) error {
	return t.query(ctx, sql, args, read)
}

func (t trimming) Write(ctx context.Context, sql string, args ...any) (int64, error) {
	return t.exec(ctx, sql, args...)
}

func (t trimming) List(texts []string) any { return t.reads.List(texts) }
