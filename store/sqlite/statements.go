package sqlite

const (
	sqlBegin    = `BEGIN IMMEDIATE`
	sqlCommit   = `COMMIT`
	sqlRollback = `ROLLBACK`

	sqlCheckpoint = `PRAGMA wal_checkpoint(PASSIVE)`

	// sqlBeginSnapshot gives all statements of a read the same snapshot.
	sqlBeginSnapshot = `BEGIN`

	sqlSchemaVersion = `SELECT coalesce(max(version_id), 0) FROM holdpoint_schema`

	// The condition of a decision from cached rows.
	sqlDataVersion    = `PRAGMA data_version`
	sqlSessionVersion = `SELECT s.version FROM sessions AS s WHERE s.session_id = $1`
	sqlRuleVersion    = `SELECT v.version FROM rule_versions AS v WHERE v.session_id = $1`
	sqlExactRule      = `
SELECT 1 FROM rules AS l
WHERE l.session_id = $1 AND l.input_digest = $2 AND l.revoked_at_ms IS NULL
	AND (l.expires_at_ms IS NULL OR l.expires_at_ms > $3) AND (l.max_uses IS NULL OR l.uses < l.max_uses) LIMIT 1`
	sqlSameToken = `
SELECT 1 FROM tokens AS t
WHERE t.token_id = $1 AND t.secret_hash = $2 AND coalesce(t.previous_hash, '') = $3 AND coalesce(t.previous_until_ms, 0) = $4
	AND coalesce(t.expires_at_ms, 0) = $5 AND t.revoked_at_ms IS NULL`
	sqlSignedIn = `SELECT 1 FROM sign_ins AS i WHERE i.cookie_hash = $1 AND i.token_id = $2`

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
	WHERE old.created_at_ms < $1 AND old.operation <> 'name' ORDER BY old.created_at_ms LIMIT CAST($2 AS bigint))`
)
