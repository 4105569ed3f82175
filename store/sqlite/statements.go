package sqlite

const (
	sqlBegin    = `BEGIN IMMEDIATE`
	sqlCommit   = `COMMIT`
	sqlRollback = `ROLLBACK`

	// sqlBeginSnapshot makes all statements of a read see the same moment.
	sqlBeginSnapshot = `BEGIN`

	sqlSessionOf = `SELECT r.session_id FROM runs AS r WHERE r.run_id = $1`

	sqlSchemaVersion = `SELECT coalesce(max(version_id), 0) FROM goose_db_version`

	// sqlAmendSession writes metadata, which the update of sessions leaves alone.
	sqlAmendSession = `UPDATE sessions SET metadata = $2 WHERE session_id = $1`

	// What may be large of a run is in rows of its own: SQLite writes a whole row again
	// when one column changes.
	sqlPutPayload = `
INSERT INTO run_payloads (run_id, member, value) VALUES ($1, $2, $3)
ON CONFLICT (run_id, member) DO UPDATE SET value = excluded.value`
	sqlDeletePayload = `DELETE FROM run_payloads WHERE run_id = $1 AND member = $2`

	sqlSweepRecords = `
DELETE FROM idempotency_records
WHERE (operation, scope, idempotency_key) IN (
	SELECT old.operation, old.scope, old.idempotency_key FROM idempotency_records AS old
	WHERE old.created_at_ms < $1 ORDER BY old.created_at_ms LIMIT $2)`
)
