package tokens

// The statements that are the same in both engines. Those that differ are in Statements. The engines'
// tests check the plans of both.

// AddEntry adds a line to the audit's own log, with the arguments [EntryArgs].
const AddEntry = sqlAddEntry

// The statements of tokens. sqlAddToken takes every column in the order of [Columns], and is a no-op if created_by and
// idempotency_key exist. sqlRotateToken takes $1 token_id, $2 secret_hash, $3 hint, $4 previous_until_ms and $5 the
// current time, and only changes an active token. sqlTouchToken takes $1 token_id and $2 last_used_at_ms.
// sqlRevokeToken takes $1 token_id, $2 the current time and $3 whether to keep the last active admin. sqlLockToken locks
// $1 token_id, so that a sign-in sees a concurrent rotation, or the rotation deletes the sign-in. sqlHoldCaller locks
// $1 token_id if it works at the time $3 with the secret with the hash $2, any secret if that is empty.
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
WHERE token_id = $1 AND revoked_at_ms IS NULL AND (NOT CAST($3 AS boolean) OR role <> 'admin'
	OR NOT (expires_at_ms IS NULL OR expires_at_ms > $2)
	OR EXISTS (SELECT 1 FROM tokens AS other WHERE other.role = 'admin' AND other.created_by <> 'oidc' AND other.token_id <> $1 AND other.revoked_at_ms IS NULL
		AND (other.expires_at_ms IS NULL OR other.expires_at_ms > $2)))`
	sqlLockToken  = `UPDATE tokens SET hint = hint WHERE token_id = $1`
	sqlHoldCaller = `
UPDATE tokens SET hint = hint
WHERE token_id = $1 AND revoked_at_ms IS NULL AND (expires_at_ms IS NULL OR expires_at_ms > CAST($3 AS bigint))
	AND (CAST($2 AS text) = '' OR secret_hash = $2 OR previous_hash = $2 AND previous_until_ms > CAST($3 AS bigint))`
	sqlTouchToken = `
UPDATE tokens SET last_used_at_ms = $2 WHERE token_id = $1 AND (last_used_at_ms IS NULL OR last_used_at_ms < $2)`
)

// The statements of sign-ins. sqlAddSignIn takes $1 cookie_hash, $2 token_id, $3 created_at_ms, $4 expires_at_ms and $5
// the hash of the presented secret, empty without one. It adds nothing if the token is revoked or the secret no longer works,
// and a sign-in with a rotated secret ends with the secret's grace at the latest.
// sqlRenewSignIn takes $1 cookie_hash and $2 expires_at_ms, sqlEndSignIn $1 cookie_hash, sqlDropExpiredSignIns $1 the
// current time, sqlDropOldestSignIns $1 token_id and $2 the number to keep. sqlHoldSignIn locks $1 cookie_hash of the
// token $2, which is locked already, if the sign-in has not expired at the time $3.
const (
	sqlAddSignIn = `
INSERT INTO sign_ins (cookie_hash, token_id, created_at_ms, expires_at_ms)
SELECT CAST($1 AS text), token_id, CAST($3 AS bigint),
	CASE WHEN CAST($5 AS text) = '' OR secret_hash = $5 OR previous_until_ms > CAST($4 AS bigint) THEN CAST($4 AS bigint) ELSE previous_until_ms END
FROM tokens
WHERE token_id = $2 AND revoked_at_ms IS NULL
	AND (CAST($5 AS text) = '' OR secret_hash = $5 OR previous_hash = $5 AND previous_until_ms > CAST($3 AS bigint))`
	sqlRenewSignIn = `UPDATE sign_ins SET expires_at_ms = $2 WHERE cookie_hash = $1 AND expires_at_ms < $2`
	sqlHoldSignIn  = `
UPDATE sign_ins SET expires_at_ms = expires_at_ms WHERE cookie_hash = $1 AND token_id = $2 AND expires_at_ms > CAST($3 AS bigint)`
	sqlEndSignIn          = `DELETE FROM sign_ins WHERE cookie_hash = $1`
	sqlDropExpiredSignIns = `
DELETE FROM sign_ins WHERE cookie_hash IN (
	SELECT old.cookie_hash FROM sign_ins AS old WHERE old.expires_at_ms <= CAST($1 AS bigint) ORDER BY old.expires_at_ms LIMIT 1000)`
	sqlDropOldestSignIns = `
DELETE FROM sign_ins WHERE token_id = $1 AND cookie_hash IN (
	SELECT old.cookie_hash FROM sign_ins AS old WHERE old.token_id = $1 ORDER BY old.expires_at_ms DESC LIMIT 1000 OFFSET CAST($2 AS bigint))`
	sqlDropSignInsOfToken = `DELETE FROM sign_ins WHERE token_id = $1`
)

// The statements of tickets, with arguments like those above.
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

// The statements of signing keys and checkpoints. Both keep an existing row.
const (
	sqlAddSigningKey = `
INSERT INTO signing_keys (key_id, public_key, created_at_ms) VALUES ($1, $2, $3) ON CONFLICT (key_id) DO NOTHING`
	sqlAddCheckpoint = `
INSERT INTO audit_checkpoints (number, complete_ms, signed) VALUES ($1, $2, $3) ON CONFLICT (number) DO NOTHING`
)

// The statements of the audit's own log. sqlSealEntry takes $1 arrival_id, $2 entry_id, $3 prev and $4 hash. It leaves a
// line that is sealed, and does nothing unless the line before it, whose hash prev is, is the newest.
const (
	sqlAddEntry = `
INSERT INTO audit_entries (timestamp_ms, type, actor, body, body_digest) VALUES ($1, $2, $3, $4, $5)`
	sqlSealEntry = `
UPDATE audit_entries SET entry_id = CAST($2 AS bigint), prev = $3, hash = $4
WHERE arrival_id = $1 AND entry_id IS NULL
	AND NOT EXISTS (SELECT 1 FROM audit_entries AS newer WHERE newer.entry_id >= CAST($2 AS bigint))
	AND (CAST($2 AS bigint) = 1 OR EXISTS (SELECT 1 FROM audit_entries AS before WHERE before.entry_id = CAST($2 AS bigint) - 1 AND before.hash = $3))`
)
