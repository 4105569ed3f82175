package postgres

import "github.com/holdpoint/holdpoint/store/retain"

// The statements of redaction. No others, with those in package retain, change or delete logged content. A
// child's question is the input of a run in its parent's session, and its preview is a copy.
const (
	sqlRedactLock   = `SELECT s.last_event_id FROM sessions AS s WHERE s.session_id = $1 FOR UPDATE`
	sqlRedactEvents = `SELECT e.* FROM events AS e WHERE e.session_id = $1 AND e.event_id = ANY ($2::text[]::bigint[]) ORDER BY e.event_id`
	sqlRedactNeeded = `
SELECT coalesce(min(e.event_id), 0) FROM events AS e
JOIN runs AS r ON r.session_id = e.session_id AND r.run_id = e.run_id
WHERE e.session_id = $1 AND e.event_id = ANY ($2::text[]::bigint[]) AND (
	r.finished_at_ms IS NULL
	OR EXISTS (SELECT FROM effects AS f WHERE f.session_id = $1 AND f.run_id = r.run_id AND f.webhook_id = ''
		AND (f.state = 'pending' OR f.state = 'failed' AND f.target_session_id <> $1))
	OR EXISTS (SELECT FROM messages AS m WHERE m.session_id = $1 AND m.run_id = r.run_id AND m.acknowledged_at_ms IS NULL))`
	sqlRedactAsked = `
UPDATE runs SET text_preview = NULL, input = '{"redacted":true}'
WHERE session_id = $1 AND run_id = $2 AND kind = 'parent_clarification'`
	sqlRedactSession = `UPDATE sessions SET version = version + 1 WHERE session_id = $1`
)

var redaction = retain.RedactStatements{
	Lock: sqlRedactLock, Changed: sqlRedactSession, Events: sqlRedactEvents, Needed: sqlRedactNeeded, Asked: []string{sqlRedactAsked},
}
