package postgres

import (
	"strings"

	"github.com/holdpoint/holdpoint/store/columns"
)

// expand replaces the parts of a statement, and a row type's alias and star by its columns.
func expand(statement string) string { return columns.Expand(parts.Replace(statement)) }

const nowMs = `floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint`

// parts are the parts that statements share, by their names. Rows are looked up in subqueries that the
// planner cannot flatten; see loadStatements.
var parts = strings.NewReplacer(
	"{now}", nowMs,
	"{run r of k}", lookUpRun("k"),
	"{run r of q}", lookUpRun("q"),
	// The open requests of a run, and the requests of its Resume.
	"{requests q of r}", `CROSS JOIN LATERAL (
	SELECT * FROM requests AS one
	WHERE one.session_id = r.session_id AND one.run_id = r.run_id
		AND coalesce(one.settled_number, 9223372036854775807) > r.resume_after OFFSET 0
) AS q`,
	"{one is about a request}", `one.type IN ('waiting_for_approval', 'approval_resolved', 'waiting_for_user_question',
		'user_question_answered', 'user_question_resolved', 'parent_clarification_resolved', 'request_acknowledged')`,
)

// lookUpRun looks up the run r that a row names.
func lookUpRun(row string) string {
	return `CROSS JOIN LATERAL (
	SELECT * FROM runs AS one
	WHERE one.session_id = ` + row + `.session_id AND one.run_id = ` + row + `.run_id LIMIT 1
) AS r`
}

const (
	sqlBegin    = `BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE`
	sqlCommit   = `COMMIT`
	sqlRollback = `ROLLBACK`

	// sqlBeginSnapshot gives all statements of a read the same snapshot: a waiting run is never
	// shown without its requests.
	sqlBeginSnapshot = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`

	// sqlHistories finds the hash of an event in the event after it, or in the session.
	sqlHistories = `
SELECT k.session_id, coalesce(s.life, ''), s.version, s.last_event_id, CASE
	WHEN s.last_event_id = k.event_id THEN coalesce(s.last_event_hash, '')
	ELSE coalesce((SELECT e.prev FROM events AS e WHERE e.session_id = k.session_id AND e.event_id = k.event_id + 1), '')
END
FROM unnest($1::text[], $2::bigint[]) AS k (session_id, event_id)
CROSS JOIN LATERAL (
	SELECT * FROM sessions AS one
	WHERE one.session_id = k.session_id LIMIT 1
) AS s`

	// sqlSessionsThere runs after locking, as a separate statement: a session that another
	// transaction created meanwhile counts as locked.
	sqlSessionsThere = `SELECT s.session_id FROM sessions AS s WHERE s.session_id = ANY($1::text[])`

	// sqlRedeemRequest writes the redemption, which the update of requests leaves alone.
	sqlRedeemRequest = `
UPDATE requests AS q SET redemption = $4
WHERE q.session_id = $1 AND q.run_id = $2 AND q.request_id = $3 AND q.outcome = 'allowed' AND q.redemption IS NULL`

	// sqlClock runs last, when the locks are held and everything is loaded. It returns the time
	// and the incarnation of the database: the server's start, its last in-place recovery, which
	// resets its statistics, and the file of its sessions, which a restore replaces. Partitioned
	// sessions have no file.
	sqlClock = `
SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint, hashtextextended(concat_ws(' ',
	extract(epoch FROM pg_postmaster_start_time()), extract(epoch FROM pg_stat_get_bgwriter_stat_reset_time()), pg_relation_filepath('sessions')
), 0)`

	// sqlGuard locks sessions that still have the given version, checks that the server is the
	// same, that its clock is near the given time and that the rules are the same, and returns
	// the time. Otherwise it aborts the transaction, including the COMMIT later in the pipeline.
	sqlGuard = `
SELECT CASE
	WHEN $9::bigint <> hashtextextended(concat_ws(' ',
		extract(epoch FROM pg_postmaster_start_time()), extract(epoch FROM pg_stat_get_bgwriter_stat_reset_time()), pg_relation_filepath('sessions')
	), 0) THEN holdpoint_refuse('HP005', 'the server was restarted, or the database is another one')
	WHEN held.sessions < cardinality($1::text[]) THEN holdpoint_refuse('HP001', 'a session is locked or has another version')
	WHEN abs(held.now_ms - $3::bigint) > $4::bigint THEN holdpoint_refuse('HP002', 'the clock was estimated wrongly')
	WHEN EXISTS (
		SELECT FROM unnest($5::text[], $6::bigint[]) AS k (session_id, version)
		WHERE k.version <> coalesce((SELECT v.version FROM rule_versions AS v WHERE v.session_id = k.session_id), 0)
	) THEN holdpoint_refuse('HP003', 'the rules have another version')
	WHEN EXISTS (
		SELECT FROM unnest($7::text[], $8::text[]) AS k (session_id, input_digest)
		CROSS JOIN LATERAL (
			SELECT FROM rules AS one
			WHERE one.session_id = k.session_id AND one.input_digest = k.input_digest AND one.revoked_at_ms IS NULL
				AND (one.expires_at_ms IS NULL OR one.expires_at_ms > $3::bigint) AND (one.max_uses IS NULL OR one.uses < one.max_uses) LIMIT 1
		) AS l
	) THEN holdpoint_refuse('HP003', 'an exact rule is in force')
	ELSE held.now_ms
END
FROM (
	SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now_ms, (
		SELECT count(*) FROM unnest($1::text[], $2::bigint[]) AS k (session_id, version)
		CROSS JOIN LATERAL (
			SELECT FROM sessions AS s WHERE s.session_id = k.session_id AND s.version = k.version FOR UPDATE SKIP LOCKED
		) AS l
	) AS sessions
	OFFSET 0
) AS held`

	// sqlGuardOne is sqlGuard for one session and no rules, which costs two thirds of it.
	sqlGuardOne = `
SELECT CASE
	WHEN $5::bigint <> hashtextextended(concat_ws(' ',
		extract(epoch FROM pg_postmaster_start_time()), extract(epoch FROM pg_stat_get_bgwriter_stat_reset_time()), pg_relation_filepath('sessions')
	), 0) THEN holdpoint_refuse('HP005', 'the server was restarted, or the database is another one')
	WHEN held.sessions < 1 THEN holdpoint_refuse('HP001', 'the session is locked or has another version')
	WHEN abs(held.now_ms - $3::bigint) > $4::bigint THEN holdpoint_refuse('HP002', 'the clock was estimated wrongly')
	ELSE held.now_ms
END
FROM (
	SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now_ms, (
		SELECT count(*) FROM (
			SELECT FROM sessions AS s WHERE s.session_id = $1::text AND s.version = $2::bigint FOR UPDATE SKIP LOCKED
		) AS l
	) AS sessions
	OFFSET 0
) AS held`

	// sqlGuardTokens locks the given tokens, and aborts the transaction if one is missing. A
	// revocation waits for the decisions made before it.
	sqlGuardTokens = `
SELECT CASE WHEN cardinality($1::text[]) > (
	SELECT count(*)
	FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[]) AS k (token_id, secret_hash, previous_hash, previous_until_ms, expires_at_ms)
	CROSS JOIN LATERAL (
		SELECT FROM tokens AS t
		WHERE t.token_id = k.token_id AND t.secret_hash = k.secret_hash AND coalesce(t.previous_hash, '') = k.previous_hash
			AND coalesce(t.previous_until_ms, 0) = k.previous_until_ms AND coalesce(t.expires_at_ms, 0) = k.expires_at_ms AND t.revoked_at_ms IS NULL
		FOR SHARE SKIP LOCKED
	) AS l
) THEN holdpoint_refuse('HP004', 'a token is another one') END`

	// sqlGuardSignIns keeps the given sign-ins from ending, and aborts the transaction if one has ended.
	sqlGuardSignIns = `
SELECT CASE WHEN cardinality($1::text[]) > (
	SELECT count(*)
	FROM unnest($1::text[], $2::text[]) AS k (cookie_hash, token_id)
	CROSS JOIN LATERAL (
		SELECT FROM sign_ins AS i WHERE i.cookie_hash = k.cookie_hash AND i.token_id = k.token_id
		FOR KEY SHARE SKIP LOCKED
	) AS l
) THEN holdpoint_refuse('HP004', 'a sign-in has ended') END`

	// sqlDiscardPlans makes the server plan the prepared statements again. An update planned for
	// an empty table would otherwise walk the whole primary key and look up each row among the
	// new ones.
	sqlDiscardPlans = `DISCARD PLANS`
)

// A transaction that decides by rules marks itself by a shared advisory lock, which blocks
// nothing. A change of rules does not wait for the lock: once it is committed, new transactions
// read the new rules. It is acknowledged when the earlier marked transactions have ended.
// Otherwise a decision that has read a rule could commit after the reply to its revocation,
// because a rule of all sessions is read without a session's lock.
//
// The number must be otherwise unused in the database ("holdrule"), and the same at every
// replica of every version. The lock belongs to the transaction, not the connection, so it also
// works behind a proxy that pools by transaction. In pg_locks its upper half is the classid, and
// its lower half the objid.
const (
	sqlMarkRuleReader = `SELECT pg_advisory_xact_lock_shared(7525352681032215653)`
	sqlRuleReaders    = `
SELECT k.virtualtransaction
FROM pg_locks AS k
WHERE k.locktype = 'advisory' AND k.objsubid = 1 AND k.granted
	AND k.classid = (7525352681032215653 >> 32)::oid AND k.objid = (7525352681032215653 & 4294967295)::oid
	AND k.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())`
)

// The settings of deciding transactions, for a connection and for one transaction. Every wait
// has a limit; the one for a lock is short, because a lane's other sessions wait too, and the
// door then takes the session off its lane. holdpoint.door tells the triggers that the service
// maintains the versions of sessions. Without enable_seqscan = off, a plan made while a table
// was small scans all of it once it is large. Without force_generic_plan the server plans nearly
// every time, because it knows the length of an array only then, and planning costs more than
// execution. The transaction defaults are for transactions without BEGIN.
const (
	sqlSessionSettings = `
SELECT set_config(name, value, false)
FROM (VALUES
	('lock_timeout', '100ms'),
	('statement_timeout', '15s'),
	('idle_in_transaction_session_timeout', '30s'),
	('enable_seqscan', 'off'),
	('jit', 'off'),
	('plan_cache_mode', 'force_generic_plan'),
	('default_transaction_isolation', 'read committed'),
	('default_transaction_read_only', 'off'),
	('holdpoint.door', 'on')
) AS setting (name, value)`
	sqlLocalSettings = `
SELECT set_config(name, value, true)
FROM (VALUES
	('lock_timeout', '100ms'),
	('statement_timeout', '15s'),
	('idle_in_transaction_session_timeout', '30s'),
	('enable_seqscan', 'off'),
	('jit', 'off'),
	('plan_cache_mode', 'force_generic_plan'),
	('holdpoint.door', 'on')
) AS setting (name, value)`
	sqlReadSettings = `
SELECT set_config('enable_seqscan', 'off', false), set_config('jit', 'off', false), set_config('default_transaction_read_only', 'off', false)`
)

// sqlAmendSessions writes metadata, about and the life, which the update of sessions leaves where they
// are stored: the first two seldom change, the last is set once.
const sqlAmendSessions = `
UPDATE sessions AS s SET metadata = nullif(u.metadata, ''), about = nullif(u.about, ''), life = nullif(u.life, '')
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS u (session_id, metadata, about, life)
WHERE s.session_id = u.session_id`

// sqlAddEntries is tokens.AddEntry for many lines. They get their arrival_id in the order of the arrays.
const sqlAddEntries = `
INSERT INTO audit_entries (timestamp_ms, type, actor, body, body_digest)
SELECT u.timestamp_ms, u.type, u.actor, u.body, u.body_digest
FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[]) WITH ORDINALITY AS u (timestamp_ms, type, actor, body, body_digest, place)
ORDER BY u.place`

const sqlSweepRecords = `
WITH old AS MATERIALIZED (
	SELECT o.scope, o.operation, o.idempotency_key
	FROM idempotency_records AS o
	WHERE o.created_at_ms < $1::bigint AND o.operation <> 'name'
	ORDER BY o.created_at_ms
	LIMIT $2::bigint
	FOR UPDATE SKIP LOCKED
)
DELETE FROM idempotency_records AS i USING old
WHERE i.scope = old.scope AND i.operation = old.operation AND i.idempotency_key = old.idempotency_key`

const (
	sqlListen = `LISTEN holdpoint`

	// sqlMarkListener marks a connection before it listens, for as long as it is open. The
	// number must be otherwise unused in the database ("holdlist"), and the same at every
	// replica. It returns the connection's server process, which a proxy that pools by session
	// may report differently.
	sqlMarkListener = `SELECT pg_backend_pid() FROM (SELECT pg_advisory_lock_shared(7525352680930767732)) AS marked`

	// sqlOtherListeners returns the server processes of the other marked connections.
	sqlOtherListeners = `
SELECT coalesce(array_agg(k.pid ORDER BY k.pid), '{}')
FROM pg_locks AS k
WHERE k.locktype = 'advisory' AND k.objsubid = 1 AND k.granted AND k.pid <> $1::integer
	AND k.classid = (7525352680930767732 >> 32)::oid AND k.objid = (7525352680930767732 & 4294967295)::oid
	AND k.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())`

	// sqlNotify sends all payloads in its own transaction. It may return before it is on disk,
	// because a hint may be lost. Concurrent NOTIFYs wait for each other.
	sqlNotify = `
SELECT pg_notify('holdpoint', payload)
FROM (SELECT set_config('synchronous_commit', 'off', true), set_config('lock_timeout', '5s', true)) AS hint, unnest($1::text[]) AS u (payload)`
)

// The locks of statements of tokens and of the audit's own log.
const (
	// sqlLockSeal keeps two replicas from sealing the same lines of the audit's own log.
	sqlLockSeal = `SELECT pg_advisory_xact_lock(7525352681032215655)`
	// sqlLockRevokeToken keeps two callers from revoking the last two admins concurrently.
	sqlLockRevokeToken = `SELECT pg_advisory_xact_lock(7525352681032215654)`
)

// sqlStandby reports whether the server is a standby, which takes no writes. A default_transaction_read_only is not asked for: the
// service's transactions say that they write, and a connection keeps for its whole life what a database's or a role's default was
// when it began.
const sqlStandby = `SELECT pg_is_in_recovery()`

// The statements about runs that programs asked for in transactions of their own. The caller's
// transaction executes the first one.
const (
	sqlAddIntake = `
INSERT INTO run_intake (created_at_ms, due_at_ms, attempts, intake_id, run_id, session_id, state, body)
SELECT t.now_ms, t.now_ms, 0, CAST($1 AS text), CAST($2 AS text), CAST($3 AS text), 'pending', CAST($4 AS text)
FROM (SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now_ms) AS t`
	sqlTakeIntake = `
WITH due AS MATERIALIZED (
	SELECT o.intake_id FROM run_intake AS o
	WHERE o.due_at_ms <= floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint
	ORDER BY o.due_at_ms, o.intake_id LIMIT CAST($1 AS bigint) FOR UPDATE SKIP LOCKED
)
UPDATE run_intake AS i SET due_at_ms = floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint + CAST($2 AS bigint)
FROM due WHERE i.intake_id = due.intake_id
RETURNING i.intake_id, i.run_id, i.session_id, i.created_at_ms, i.attempts, coalesce(i.last_error, '')`
	sqlIntakeBody     = `SELECT i.body FROM run_intake AS i WHERE i.intake_id = $1`
	sqlFinishIntake   = `DELETE FROM run_intake WHERE intake_id = ANY($1::text[])`
	sqlPostponeIntake = `
UPDATE run_intake SET
	attempts = attempts + 1, last_error = $2, due_at_ms = floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint + CAST($3 AS bigint)
WHERE intake_id = $1 AND state = 'pending'`
	sqlRefuseIntake = `
UPDATE run_intake SET attempts = attempts + 1, state = 'failed', due_at_ms = NULL, last_error = $2 WHERE intake_id = $1 AND state = 'pending'`
	sqlRefusedIntake = `
SELECT i.intake_id, i.run_id, i.session_id, i.created_at_ms, i.attempts, coalesce(i.last_error, '')
FROM run_intake AS i WHERE i.state = 'failed' AND i.intake_id > $1 ORDER BY i.intake_id LIMIT CAST($2 AS bigint)`
	sqlRetryIntake = `
UPDATE run_intake SET state = 'pending', attempts = 0, due_at_ms = floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint
WHERE intake_id = $1 AND state = 'failed'`
	sqlDropIntake = `DELETE FROM run_intake WHERE intake_id = $1 AND state = 'failed'`
)
