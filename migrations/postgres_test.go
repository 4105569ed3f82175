package migrations_test

import (
	"database/sql"
	"os"
	"testing"

	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/migrations"
)

// postgresSchema lists what the server keeps of columns, constraints and indexes. A
// column's place is not among it: one that is dropped leaves a hole.
const postgresSchema = `
SELECT t.relname::text, 'column', a.attname::text,
	concat_ws(' ', format_type(a.atttypid, a.atttypmod), (SELECT collname FROM pg_collation AS o WHERE o.oid = a.attcollation), a.attnotnull)
FROM pg_class AS t JOIN pg_attribute AS a ON a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE t.relnamespace = 'public'::regnamespace AND t.relkind = 'r' AND t.relname <> 'goose_db_version'
UNION ALL
SELECT t.relname::text, 'constraint', c.conname::text, concat_ws(' ', pg_get_constraintdef(c.oid), c.convalidated)
FROM pg_class AS t JOIN pg_constraint AS c ON c.conrelid = t.oid
WHERE t.relnamespace = 'public'::regnamespace AND t.relname <> 'goose_db_version'
UNION ALL
SELECT t.relname::text, 'index', i.indexrelid::regclass::text, pg_get_indexdef(i.indexrelid)
FROM pg_class AS t JOIN pg_index AS i ON i.indrelid = t.oid
WHERE t.relnamespace = 'public'::regnamespace AND t.relname <> 'goose_db_version'
UNION ALL
SELECT t.relname::text, 'options', '', array_to_string(t.reloptions, ' ')
FROM pg_class AS t
WHERE t.relnamespace = 'public'::regnamespace AND t.relkind = 'r' AND t.relname <> 'goose_db_version'
ORDER BY 1, 2, 3`

// postgresRows are rows that the first step admits: a run that waits for an approval
// and was answered a question, and a clarification that waits.
const postgresRows = `
INSERT INTO sessions (queued_count, last_event_id, created_at_ms, updated_at_ms, session_id, agent_id, active_run_id)
	VALUES (0, 1, 1, 1, 's', 'a', 'r1');
INSERT INTO runs (submitted_at_ms, updated_at_ms, first_event_id, last_event_id, attempt, stalled_attempts, fence,
		raised_count, settled_count, resume_after, output_count, question_count, attached, status, session_id, run_id,
		agent_id, kind, payload_digest, source_plugin, source_kind, actor_id, input)
	VALUES (1, 1, 1, 1, 0, 0, 0, 2, 1, 0, 0, 0, false, 'waiting_for_approval', 's', 'r1', 'a', 'input', '', '', '', '', '""'),
		(1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 0, 0, false, 'waiting_for_user_question', 's', 'r2', 'a', 'parent_clarification', '', '', '', '', '""');
INSERT INTO requests (number, created_at_ms, settled_number, settled_at_ms, session_id, run_id, request_id, kind, outcome,
		handle, suspension_id, suspension_digest, resolution, body)
	VALUES (1, 1, NULL, NULL, 's', 'r1', 'q1', 'approval', NULL, 'h1', '', '', NULL, '{}'),
		(2, 1, 1, 1, 's', 'r1', 'q2', 'question', 'declined', 'h2', '', '', '{}', '{}'),
		(1, 1, NULL, NULL, 's', 'r2', 'q1', 'question', NULL, 'h3', '', '', NULL, '{}');
INSERT INTO events (event_id, timestamp_ms, session_id, run_id, agent_id, type, body)
	VALUES (1, 1, 's', 'r1', 'a', 'accepted', '{}')`

// postgresClarificationRows are what only the second step admits, each by itself.
var postgresClarificationRows = []string{
	`UPDATE runs SET requester = '{}' WHERE run_id = 'r2'`,
	`INSERT INTO requests (number, created_at_ms, session_id, run_id, request_id, kind, handle, suspension_id, suspension_digest, body)
		VALUES (3, 1, 's', 'r1', 'q3', 'clarification', 'h4', '', '', '{}')`,
	`INSERT INTO requests (number, created_at_ms, settled_number, settled_at_ms, session_id, run_id, request_id, kind, outcome,
			handle, suspension_id, suspension_digest, resolution, body)
		VALUES (4, 1, 2, 1, 's', 'r1', 'q4', 'clarification', 'answered', 'h5', '', '', '{}', '{}')`,
	`INSERT INTO effects (created_at_ms, due_at_ms, attempts, session_id, effect_id, run_id, kind, state, target_session_id, payload)
		VALUES (1, 1, 0, 's', 'e', 'r1', 'open_clarification', 'pending', 'p', '{}')`,
	`INSERT INTO messages (created_at_ms, delivery_attempts, session_id, message_id, run_id, from_session_id, state, subject, payload)
		VALUES (1, 0, 's', 'm', 'r1', 'p', 'pending', 'clarification_answer', '{}')`,
}

// postgresRefused are rows that no step admits.
var postgresRefused = []string{
	`UPDATE requests SET kind = 'clarification', outcome = 'allowed' WHERE request_id = 'q2'`,
	`UPDATE requests SET kind = 'other' WHERE request_id = 'q1'`,
	`UPDATE effects SET kind = 'other'`,
	`UPDATE effects SET state = 'other'`,
	`UPDATE effects SET due_at_ms = NULL`,
	`UPDATE effects SET finished_at_ms = 1`,
	`UPDATE effects SET state = 'done'`,
	`UPDATE effects SET state = 'failed', due_at_ms = NULL`,
	`UPDATE effects SET attempts = -1`,
	`UPDATE messages SET state = 'other'`,
	`UPDATE messages SET state = 'acknowledged'`,
	`UPDATE messages SET acknowledged_at_ms = 1`,
	`UPDATE messages SET delivery_attempts = -1`,
}

func TestClarificationsComeAndGoOnPostgres(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db := engines[migrations.Postgres](t)()
	steps, err := goose.NewProvider(goose.DialectPostgres, db, os.DirFS("postgres"), goose.WithLogger(goose.NopLogger()))
	require.NoError(t, err)
	move := func(results []*goose.MigrationResult, err error) {
		require.NoError(t, err)
		require.Len(t, results, 1)
	}
	refuses := func(statements []string) {
		for _, statement := range statements {
			_, err := db.ExecContext(ctx, statement)
			require.Error(t, err, statement)
		}
	}
	const (
		allRuns     = "SELECT * FROM runs ORDER BY run_id"
		allRequests = "SELECT * FROM requests ORDER BY handle"
	)

	move(steps.UpTo(ctx, 1))
	_, err = db.ExecContext(ctx, postgresRows)
	require.NoError(t, err)
	firstSchema := postgresQuery(t, db, postgresSchema)
	firstRuns, firstRequests := postgresQuery(t, db, allRuns), postgresQuery(t, db, allRequests)
	require.Contains(t, firstSchema, "requests_kind_known")

	var secondSchema string
	for range 2 {
		refuses(postgresClarificationRows)
		move(steps.UpTo(ctx, 2))
		require.Equal(t, firstRequests, postgresQuery(t, db, allRequests))
		require.Equal(t, "(2,0)", postgresQuery(t, db, "SELECT count(*), count(requester) FROM runs"))
		if secondSchema == "" {
			secondSchema = postgresQuery(t, db, postgresSchema)
		}
		require.Equal(t, secondSchema, postgresQuery(t, db, postgresSchema))
		for _, statement := range postgresClarificationRows {
			_, err := db.ExecContext(ctx, statement)
			require.NoError(t, err, statement)
		}
		refuses(postgresRefused)

		move(steps.DownTo(ctx, 1))
		require.Equal(t, firstSchema, postgresQuery(t, db, postgresSchema))
		require.Equal(t, firstRequests, postgresQuery(t, db, allRequests), "only what the second step admits is gone")
		require.Equal(t, firstRuns, postgresQuery(t, db, allRuns))
	}
}

// postgresQuery returns the rows of a query as one text, a line a row.
func postgresQuery(t *testing.T, db *sql.DB, query string) string {
	t.Helper()
	var text string
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT string_agg(r::text, E'\n') FROM ("+query+") AS r").Scan(&text))
	return text
}

// postgresRuleRows are what only the third step admits, each by itself.
var postgresRuleRows = []string{
	`INSERT INTO rules (created_at_ms, uses, session_id, rule_id, effect, created_by, text, match)
		VALUES (1, 0, '*', 'l1', 'deny', 'ann', 'no', '{"pattern_keys":["rm"]}')`,
	`INSERT INTO rules (created_at_ms, max_uses, uses, revoked_at_ms, revoked_by, session_id, rule_id, tool_name, effect, input_digest,
			source_run_id, source_request_id, created_by, text, match)
		VALUES (1, 3, 3, 2, 'bob', 'to come', 'l2', 't', 'allow', 'sha256:', 'r1', 'q1', 'ann', 'yes', '{"input_digest":"sha256:"}')`,
	`UPDATE requests SET partial_answers = '[]' WHERE handle = 'h3'`,
	`UPDATE requests SET outcome = 'allowed', settled_number = 2, settled_at_ms = 2, resolution = '{}', rule_id = 'l1' WHERE handle = 'h1'`,
	`INSERT INTO effects (created_at_ms, due_at_ms, attempts, session_id, effect_id, run_id, kind, state, target_session_id, payload)
		VALUES (1, 1, 0, 's', 'review', 'r1', 'review_approval', 'pending', 's', '{}')`,
	`INSERT INTO idempotency_records (created_at_ms, scope, operation, idempotency_key, fingerprint, session_id, run_id)
		VALUES (1, 's', 'decision', 'k', '', 's', 'r1')`,
}

// rulesRefused are rows that no step admits, of either engine.
var rulesRefused = []string{
	`UPDATE rules SET session_id = '' WHERE rule_id = 'l1'`,
	`UPDATE rules SET rule_id = ''`,
	`UPDATE rules SET rule_id = 'l2' WHERE rule_id = 'l1'`,
	`UPDATE rules SET effect = 'maybe'`,
	`UPDATE rules SET match = ''`,
	`UPDATE rules SET tool_name = NULL WHERE rule_id = 'l2'`,
	`UPDATE rules SET max_uses = 1 WHERE rule_id = 'l1'`,
	`UPDATE rules SET max_uses = 0, uses = 0 WHERE rule_id = 'l2'`,
	`UPDATE rules SET uses = 1 WHERE rule_id = 'l1'`,
	`UPDATE rules SET uses = 4 WHERE rule_id = 'l2'`,
	`UPDATE rules SET uses = -1 WHERE rule_id = 'l2'`,
	`UPDATE rules SET source_run_id = NULL WHERE rule_id = 'l2'`,
	`UPDATE rules SET revoked_at_ms = NULL WHERE rule_id = 'l2'`,
	`UPDATE rules SET revoked_by = NULL WHERE rule_id = 'l2'`,
	`UPDATE requests SET rule_id = 'l1' WHERE handle = 'h2'`,
	`UPDATE requests SET rule_id = 'l1' WHERE handle = 'h3'`,
	`UPDATE requests SET partial_answers = '[]' WHERE handle = 'h2'`,
	`UPDATE requests SET partial_answers = '[]' WHERE handle = 'h1'`,
	`UPDATE effects SET kind = 'other'`,
	`UPDATE idempotency_records SET operation = 'other'`,
}

func TestRulesComeAndGoOnPostgres(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db := engines[migrations.Postgres](t)()
	steps, err := goose.NewProvider(goose.DialectPostgres, db, os.DirFS("postgres"), goose.WithLogger(goose.NopLogger()))
	require.NoError(t, err)
	move := func(results []*goose.MigrationResult, err error) {
		require.NoError(t, err)
		require.NotEmpty(t, results)
	}
	const allRequests = `SELECT handle, kind, body, suspension_id FROM requests ORDER BY handle`

	move(steps.UpTo(ctx, 2))
	_, err = db.ExecContext(ctx, postgresRows)
	require.NoError(t, err)
	secondSchema, requests := postgresQuery(t, db, postgresSchema), postgresQuery(t, db, allRequests)
	files := postgresQuery(t, db, "SELECT pg_relation_filenode('requests')")

	var thirdSchema string
	for range 2 {
		for _, statement := range postgresRuleRows {
			_, err := db.ExecContext(ctx, statement)
			require.Error(t, err, statement)
		}
		move(steps.UpTo(ctx, 3))
		require.Equal(t, files, postgresQuery(t, db, "SELECT pg_relation_filenode('requests')"), "the table is not written anew")
		require.Equal(t, "(3,0,0)", postgresQuery(t, db, "SELECT count(*), count(rule_id), count(partial_answers) FROM requests"))
		if thirdSchema == "" {
			thirdSchema = postgresQuery(t, db, postgresSchema)
		}
		require.Equal(t, thirdSchema, postgresQuery(t, db, postgresSchema))
		for _, statement := range postgresRuleRows {
			_, err := db.ExecContext(ctx, statement)
			require.NoError(t, err, statement)
		}
		for _, statement := range rulesRefused {
			_, err := db.ExecContext(ctx, statement)
			require.Error(t, err, statement)
		}

		move(steps.DownTo(ctx, 2))
		require.Equal(t, secondSchema, postgresQuery(t, db, postgresSchema))
		require.Equal(t, requests, postgresQuery(t, db, allRequests), "no request is gone")
		require.Equal(t, "(0,0)", postgresQuery(t, db, "SELECT (SELECT count(*) FROM effects), (SELECT count(*) FROM idempotency_records)"))
		_, err = db.ExecContext(ctx, `UPDATE requests SET outcome = NULL, settled_number = NULL, settled_at_ms = NULL, resolution = NULL WHERE handle = 'h1'`)
		require.NoError(t, err)
	}
}
