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

// The statements of webhooks.
const (
	sqlAddWebhook = `
INSERT INTO webhooks (webhook_id, settings, data_key, secret, previous_secret, previous_until_ms, disabled_at_ms, disabled_reason,
	created_at_ms, created_by, updated_at_ms)
SELECT CAST($1 AS text), CAST($2 AS text), CAST($3 AS text), CAST($4 AS text), CAST($5 AS text), CAST($6 AS bigint), CAST($7 AS bigint), CAST($8 AS text),
	CAST($9 AS bigint), CAST($10 AS text), CAST($11 AS bigint)
WHERE (SELECT count(*) FROM webhooks) < CAST($12 AS bigint)`
	sqlChangeWebhook = `
UPDATE webhooks SET settings = $2, data_key = $3, secret = $4, previous_secret = $5, previous_until_ms = $6, disabled_at_ms = $7,
	disabled_reason = $8, updated_at_ms = $9
WHERE webhook_id = $1 AND updated_at_ms = $10`
	sqlRemoveWebhook = `DELETE FROM webhooks WHERE webhook_id = $1`
)

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
	sqlAddAddress = `
INSERT INTO addresses (address_id, principal, channel, address, verified_at_ms, code_hash, code_until_ms, code_tries, created_at_ms)
SELECT CAST($1 AS text), CAST($2 AS text), CAST($3 AS text), CAST($4 AS text), 0, CAST($5 AS text), CAST($6 AS bigint), 0, CAST($7 AS bigint)
WHERE (SELECT count(*) FROM addresses AS o WHERE o.principal = CAST($2 AS text) AND o.address_id <> CAST($1 AS text)) < CAST($8 AS bigint)
	AND (SELECT count(*) FROM code_counts AS c WHERE c.subject IN ($9, $10) AND c.mark = $11) = 2
ON CONFLICT (principal, channel, address) DO UPDATE SET
	code_hash = excluded.code_hash, code_until_ms = excluded.code_until_ms, code_tries = 0
WHERE addresses.verified_at_ms = 0 AND addresses.address_id = excluded.address_id`
	// The destination comes first, so that two transactions never wait for each other.
	sqlCountCode = `
INSERT INTO code_counts (subject, since_ms, sent, last_ms, mark) VALUES
	(CAST($1 AS text), CAST($2 AS bigint), CAST($3 AS bigint), CAST($4 AS bigint), CAST($11 AS text)),
	(CAST($6 AS text), CAST($7 AS bigint), CAST($8 AS bigint), CAST($9 AS bigint), CAST($11 AS text))
ON CONFLICT (subject) DO UPDATE SET since_ms = excluded.since_ms, sent = excluded.sent, last_ms = excluded.last_ms, mark = excluded.mark
WHERE code_counts.mark = CASE WHEN code_counts.subject = CAST($1 AS text) THEN CAST($5 AS text) ELSE CAST($10 AS text) END`
	sqlDropCodeCounts = `
DELETE FROM code_counts WHERE subject IN (
	SELECT old.subject FROM code_counts AS old WHERE old.since_ms <= CAST($1 AS bigint) ORDER BY old.since_ms LIMIT 1000)`
	sqlTryCode = `
UPDATE addresses SET code_tries = code_tries + 1
WHERE address_id = $1 AND principal = $2 AND verified_at_ms = 0 AND code_until_ms > $3 AND code_tries < $4`
	sqlVerifyAddress = `
UPDATE addresses SET verified_at_ms = $4, code_hash = ''
WHERE address_id = $1 AND principal = $2 AND verified_at_ms = 0 AND code_hash = $3 AND code_hash <> '' AND code_until_ms > $4`
	// It locks the person's row, which AddAddress changes as well, so that nobody has too many addresses.
	sqlLockPerson = `
INSERT INTO code_counts (subject, since_ms, sent, last_ms, mark) VALUES (CAST($1 AS text), CAST($2 AS bigint), 0, 0, '')
ON CONFLICT (subject) DO UPDATE SET mark = code_counts.mark`
	sqlAddSubscription = `
INSERT INTO addresses (address_id, principal, channel, address, verified_at_ms, code_hash, code_until_ms, code_tries, created_at_ms)
SELECT CAST($1 AS text), CAST($2 AS text), CAST($3 AS text), CAST($4 AS text), CAST($5 AS bigint), '', 0, 0, CAST($5 AS bigint)
WHERE (SELECT count(*) FROM addresses AS o WHERE o.principal = CAST($2 AS text) AND o.address_id <> CAST($1 AS text)) < CAST($6 AS bigint)
ON CONFLICT (address_id) DO UPDATE SET
	principal = excluded.principal, address = excluded.address, verified_at_ms = excluded.verified_at_ms, created_at_ms = excluded.created_at_ms`
	sqlSetQuietHours = `
INSERT INTO quiet_hours (principal, zone, from_minutes, to_minutes)
VALUES (CAST($1 AS text), CAST($2 AS text), CAST($3 AS bigint), CAST($4 AS bigint))
ON CONFLICT (principal) DO UPDATE SET zone = excluded.zone, from_minutes = excluded.from_minutes, to_minutes = excluded.to_minutes`

	sqlClearQuietHours = `DELETE FROM quiet_hours WHERE principal = $1`

	sqlRemoveAddress = `DELETE FROM addresses WHERE address_id = $1 AND principal = $2`
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

// The statements about links. A wrong code and a right one both need a try that is left, so that many
// guesses at once are no more guesses than one after the other. The tries of all links of a person count, too.
const (
	sqlAddLink = `
INSERT INTO links (token_hash, principal, address_id, channel, session_id, request_handle, code_hash, tries, locked_at_ms, created_at_ms, expires_at_ms)
VALUES ($1, $2, $3, $4, $5, $6, $7, 0, 0, $8, $9)`
	sqlDropLinks = `
DELETE FROM links WHERE token_hash IN (
	SELECT old.token_hash FROM links AS old WHERE old.expires_at_ms <= CAST($1 AS bigint) ORDER BY old.expires_at_ms LIMIT 1000)`
	sqlTryLink = `
UPDATE links SET tries = tries + CAST($2 AS bigint)
WHERE token_hash = $1 AND tries < CAST($3 AS bigint) AND expires_at_ms > CAST($4 AS bigint)
	AND (SELECT sum(o.tries) FROM links AS o WHERE o.principal = links.principal) < CAST($5 AS bigint)`
	sqlLockLink = `
UPDATE links SET locked_at_ms = CAST($2 AS bigint) WHERE token_hash = $1 AND locked_at_ms = 0 AND tries >= CAST($3 AS bigint)`
)
