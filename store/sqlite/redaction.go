package sqlite

import (
	"context"
	"errors"

	"github.com/holdpoint/holdpoint/internal/failpoint"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/store/retain"
	"github.com/holdpoint/holdpoint/store/tokens"
)

// The statements of redaction. No others change or delete logged content.
const (
	// The database's one write lock is the lock of every session.
	sqlRedactLock   = `SELECT s.last_event_id FROM sessions AS s WHERE s.session_id = $1`
	sqlRedactEvents = `SELECT e.* FROM events AS e WHERE e.session_id = $1 AND e.event_id IN (SELECT CAST(k.value AS INTEGER) FROM json_each($2) AS k)
ORDER BY e.event_id`
	sqlRedactNeeded = `
SELECT coalesce(min(e.event_id), 0) FROM events AS e
JOIN runs AS r ON r.session_id = e.session_id AND r.run_id = e.run_id
WHERE e.session_id = $1 AND e.event_id IN (SELECT CAST(k.value AS INTEGER) FROM json_each($2) AS k) AND (
	r.finished_at_ms IS NULL
	OR EXISTS (SELECT 1 FROM effects AS f WHERE f.session_id = $1 AND f.run_id = r.run_id AND f.webhook_id = '' AND f.state <> 'done')
	OR EXISTS (SELECT 1 FROM messages AS m WHERE m.session_id = $1 AND m.run_id = r.run_id AND m.acknowledged_at_ms IS NULL))`
	sqlRedactRequests = `SELECT q.* FROM requests AS q WHERE q.session_id = $1 AND q.run_id = $2 AND q.request_id = $3 AND q.outcome IS NOT NULL`
	sqlRedactEvent    = `UPDATE events SET body = $3 WHERE session_id = $1 AND event_id = $2`
	// A callback is kept while its delivery is pending, and after it failed, because it may be
	// replayed.
	sqlRedactRequest = `
UPDATE requests SET body = $4, resolution = $5,
	sealed = (SELECT $6 FROM effects AS f WHERE f.session_id = $1 AND f.effect_id = $7 AND f.state <> 'done')
WHERE session_id = $1 AND run_id = $2 AND request_id = $3`
	sqlRedactRun = `
UPDATE runs SET output = NULL, error = CASE WHEN error IS NULL THEN NULL ELSE 'redacted' END
WHERE session_id = $1 AND run_id = $2`
	// A child's question is the input of a run in its parent's session, and its preview is a
	// copy.
	sqlRedactAsked = `
UPDATE runs SET text_preview = NULL WHERE session_id = $1 AND run_id = $2 AND kind = 'parent_clarification'`
	sqlRedactAskedInput = `
UPDATE run_payloads SET value = '{"redacted":true}' WHERE run_id = $2 AND member = 'input'
	AND EXISTS (SELECT 1 FROM runs AS r WHERE r.session_id = $1 AND r.run_id = $2 AND r.kind = 'parent_clarification')`
	sqlRedactSession = `UPDATE sessions SET version = version + 1 + (random() & 4294967295) WHERE session_id = $1`
)

var redaction = retain.RedactStatements{
	Lock: sqlRedactLock, Events: sqlRedactEvents, Needed: sqlRedactNeeded, Requests: sqlRedactRequests,
	Event: sqlRedactEvent, Request: sqlRedactRequest, Run: sqlRedactRun, Asked: []string{sqlRedactAsked, sqlRedactAskedInput},
	Session: sqlRedactSession,
}

// RedactEvents implements [runs.Redactor]. It waits for its turn at the write connection.
func (s *Store) RedactEvents(ctx context.Context, r *runs.Redaction) (int, error) {
	write, err := s.writers.acquire(ctx)
	if err != nil {
		return 0, err
	}
	defer s.writers.release(write)
	ctx = context.WithoutCancel(ctx)
	if _, err := write.exec(ctx, sqlBegin); err != nil {
		return 0, failed("redact events", err)
	}
	count, err := retain.Redact(ctx, trimming{write, s.reads}, &redaction, r, func() error {
		_, err := write.exec(ctx, tokens.AddEntry, tokens.EntryArgs(r.Entry())...)
		return err
	})
	if err == nil {
		_, err = write.exec(ctx, sqlCommit)
	}
	if err != nil {
		// SQLite may have rolled back already.
		_, _ = write.exec(ctx, sqlRollback)
		var refused *refusal.Error
		if errors.As(err, &refused) {
			return 0, err
		}
		return 0, failed("redact events", err)
	}
	failpoint.Hit("redact.committed")
	return count, nil
}
