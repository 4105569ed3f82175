package sqlite

const (
	sqlBegin    = `BEGIN IMMEDIATE`
	sqlCommit   = `COMMIT`
	sqlRollback = `ROLLBACK`

	sqlCheckpoint = `PRAGMA wal_checkpoint(PASSIVE)`

	// sqlBeginSnapshot gives all statements of a read the same snapshot.
	sqlBeginSnapshot = `BEGIN`

	sqlSessionOf = `SELECT r.session_id FROM runs AS r WHERE r.run_id = $1`

	sqlSchemaVersion = `SELECT coalesce(max(version_id), 0) FROM holdpoint_schema`

	// The condition of a decision from cached rows.
	sqlDataVersion    = `PRAGMA data_version`
	sqlSessionVersion = `SELECT s.version FROM sessions AS s WHERE s.session_id = $1`
	sqlRuleVersion    = `SELECT v.version FROM rule_versions AS v WHERE v.session_id = $1`
	sqlExactRule      = `
SELECT 1 FROM rules AS l WHERE l.session_id = $1 AND l.input_digest = $2 AND l.revoked_at_ms IS NULL LIMIT 1`
	sqlSameToken = `
SELECT 1 FROM tokens AS t
WHERE t.token_id = $1 AND t.secret_hash = $2 AND coalesce(t.previous_hash, '') = $3 AND coalesce(t.previous_until_ms, 0) = $4
	AND coalesce(t.expires_at_ms, 0) = $5 AND t.revoked_at_ms IS NULL`

	// sqlAmendSession writes metadata, about and the life, which the update of sessions leaves alone.
	sqlAmendSession = `UPDATE sessions SET metadata = $2, about = nullif($3, ''), life = nullif($4, '') WHERE session_id = $1`

	// sqlRedeemRequest writes the redemption, which the update of requests leaves alone.
	sqlRedeemRequest = `
UPDATE requests SET redemption = $4
WHERE session_id = $1 AND run_id = $2 AND request_id = $3 AND outcome = 'allowed' AND redemption IS NULL`

	// Large values of a run are in separate rows, because SQLite rewrites a whole row if one
	// column changes.
	sqlPutPayload = `
INSERT INTO run_payloads (run_id, member, value) VALUES ($1, $2, $3)
ON CONFLICT (run_id, member) DO UPDATE SET value = excluded.value`
	sqlDeletePayload = `DELETE FROM run_payloads WHERE run_id = $1 AND member = $2`

	sqlSweepRecords = `
DELETE FROM idempotency_records
WHERE (operation, scope, idempotency_key) IN (
	SELECT old.operation, old.scope, old.idempotency_key FROM idempotency_records AS old
	WHERE old.created_at_ms < $1 AND old.operation <> 'name' ORDER BY old.created_at_ms LIMIT $2)`
)

// The statements of tokens, which belong to no session and to no decision.
const (
	sqlAddToken = `
INSERT INTO tokens (token_id, name, role, principal, groups, session_prefixes, agent_ids, may_act_for, may_always, hint,
	secret_hash, previous_hash, previous_until_ms, created_at_ms, created_by, expires_at_ms, revoked_at_ms, last_used_at_ms,
	idempotency_key, fingerprint, on_behalf_of)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)
ON CONFLICT (created_by, idempotency_key) DO NOTHING`
	sqlRotateToken = `
UPDATE tokens SET previous_hash = secret_hash, previous_until_ms = $4, secret_hash = $2, hint = $3
WHERE token_id = $1 AND revoked_at_ms IS NULL AND (expires_at_ms IS NULL OR expires_at_ms > $5)`
	sqlRevokeToken = `
UPDATE tokens SET revoked_at_ms = $2
WHERE token_id = $1 AND revoked_at_ms IS NULL AND (NOT $3 OR role <> 'admin'
	OR NOT (expires_at_ms IS NULL OR expires_at_ms > $2)
	OR EXISTS (SELECT 1 FROM tokens AS other WHERE other.role = 'admin' AND other.created_by <> 'oidc' AND other.token_id <> $1 AND other.revoked_at_ms IS NULL
		AND (other.expires_at_ms IS NULL OR other.expires_at_ms > $2)))`
	sqlTouchToken = `
UPDATE tokens SET last_used_at_ms = $2 WHERE token_id = $1 AND (last_used_at_ms IS NULL OR last_used_at_ms < $2)`
)

// The statements of sign-ins.
const (
	sqlAddSignIn = `
INSERT INTO sign_ins (cookie_hash, token_id, created_at_ms, expires_at_ms) VALUES ($1, $2, $3, $4)`
	sqlDropExpiredSignIns = `
DELETE FROM sign_ins WHERE cookie_hash IN (
	SELECT old.cookie_hash FROM sign_ins AS old WHERE old.expires_at_ms <= CAST($1 AS bigint) ORDER BY old.expires_at_ms LIMIT 1000)`
	sqlDropOldestSignIns = `
DELETE FROM sign_ins WHERE token_id = $1 AND cookie_hash IN (
	SELECT old.cookie_hash FROM sign_ins AS old WHERE old.token_id = $1 ORDER BY old.expires_at_ms DESC LIMIT 1000 OFFSET CAST($2 AS bigint))`
	sqlDropSignInsOfToken = `DELETE FROM sign_ins WHERE token_id = $1`
	sqlRenewSignIn        = `UPDATE sign_ins SET expires_at_ms = $2 WHERE cookie_hash = $1 AND expires_at_ms < $2`
	sqlEndSignIn          = `DELETE FROM sign_ins WHERE cookie_hash = $1`
)

// The statements of tickets.
const (
	sqlAddTicket = `
INSERT INTO stream_tickets (ticket_hash, token_id, credential, path, created_at_ms, expires_at_ms) VALUES ($1, $2, $3, $4, $5, $6)`
	sqlSpendTicket        = `DELETE FROM stream_tickets WHERE ticket_hash = $1`
	sqlDropExpiredTickets = `
DELETE FROM stream_tickets WHERE ticket_hash IN (
	SELECT old.ticket_hash FROM stream_tickets AS old WHERE old.expires_at_ms <= CAST($1 AS bigint) ORDER BY old.expires_at_ms LIMIT 1000)`
	sqlDropOldestTickets = `
DELETE FROM stream_tickets WHERE token_id = $1 AND ticket_hash IN (
	SELECT old.ticket_hash FROM stream_tickets AS old WHERE old.token_id = $1 ORDER BY old.expires_at_ms DESC LIMIT 1000 OFFSET CAST($2 AS bigint))`
)

// sqlAddCheckpoint keeps an existing checkpoint.
const sqlAddCheckpoint = `
INSERT INTO audit_checkpoints (number, complete_ms, signed) VALUES ($1, $2, $3) ON CONFLICT (number) DO NOTHING`

// sqlAddSigningKey keeps an existing key.
const sqlAddSigningKey = `
INSERT INTO signing_keys (key_id, public_key, created_at_ms) VALUES ($1, $2, $3) ON CONFLICT (key_id) DO NOTHING`

// The statements of the audit's own log.
const (
	sqlAddEntry = `
INSERT INTO audit_entries (timestamp_ms, type, actor, body, body_digest) VALUES ($1, $2, $3, $4, $5)`
	sqlSealEntry = `
UPDATE audit_entries SET entry_id = CAST($2 AS bigint), prev = $3, hash = $4
WHERE arrival_id = $1 AND entry_id IS NULL
	AND NOT EXISTS (SELECT 1 FROM audit_entries AS newer WHERE newer.entry_id >= CAST($2 AS bigint))
	AND (CAST($2 AS bigint) = 1 OR EXISTS (SELECT 1 FROM audit_entries AS before WHERE before.entry_id = CAST($2 AS bigint) - 1 AND before.hash = $3))`
)

// The statements about addresses and messages.
const (
	// An expired count restarts. It stops at one above the limit, and counts a message once.
	sqlCountNotice = `
INSERT INTO notice_counts (principal, since_ms, sent, message_ids) VALUES (CAST($1 AS text), CAST($2 AS bigint), 1, CAST($5 AS text))
ON CONFLICT (principal) DO UPDATE SET
	sent = CASE WHEN notice_counts.since_ms <= CAST($3 AS bigint) THEN 1 ELSE notice_counts.sent + 1 END,
	message_ids = CASE WHEN notice_counts.since_ms <= CAST($3 AS bigint) THEN excluded.message_ids ELSE notice_counts.message_ids || ' ' || excluded.message_ids END,
	since_ms = CASE WHEN notice_counts.since_ms <= CAST($3 AS bigint) THEN excluded.since_ms ELSE notice_counts.since_ms END
WHERE notice_counts.since_ms <= CAST($3 AS bigint)
	OR notice_counts.sent <= CAST($4 AS bigint) AND instr(' ' || notice_counts.message_ids || ' ', ' ' || CAST($5 AS text) || ' ') = 0`
)
