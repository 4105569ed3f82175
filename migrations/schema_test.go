package migrations_test

import (
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/migrations"
)

// schemaQueries list everything in a schema but the order of columns: a dropped column leaves a hole.
var schemaQueries = map[migrations.Engine]string{
	migrations.Postgres: `
WITH tables AS (
	SELECT t.oid, t.relname::text AS name, t.reloptions FROM pg_class AS t
	WHERE t.relnamespace = 'public'::regnamespace AND t.relkind = 'r' AND t.relname NOT IN ('goose_db_version', 'holdpoint_schema')
)
SELECT concat_ws(' ', 'column', t.name, a.attname, format_type(a.atttypid, a.atttypmod),
	(SELECT collname FROM pg_collation AS o WHERE o.oid = a.attcollation), a.attnotnull, a.attidentity, pg_get_expr(d.adbin, d.adrelid))
FROM tables AS t JOIN pg_attribute AS a ON a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_attrdef AS d ON d.adrelid = t.oid AND d.adnum = a.attnum
UNION ALL
SELECT concat_ws(' ', 'constraint', t.name, c.conname, pg_get_constraintdef(c.oid), c.convalidated) FROM tables AS t JOIN pg_constraint AS c ON c.conrelid = t.oid
UNION ALL
SELECT pg_get_indexdef(i.indexrelid) FROM tables AS t JOIN pg_index AS i ON i.indrelid = t.oid
UNION ALL
SELECT pg_get_triggerdef(g.oid) FROM tables AS t JOIN pg_trigger AS g ON g.tgrelid = t.oid AND NOT g.tgisinternal
UNION ALL
SELECT pg_get_functiondef(p.oid) FROM pg_proc AS p WHERE p.pronamespace = 'public'::regnamespace
UNION ALL
SELECT concat_ws(' ', 'options', t.name, array_to_string(t.reloptions, ' ')) FROM tables AS t
ORDER BY 1`,
	migrations.SQLite: `
SELECT concat_ws(' ', name, sql) FROM sqlite_schema
WHERE tbl_name NOT IN ('goose_db_version', 'holdpoint_schema', 'sqlite_sequence') ORDER BY 1`,
}

func schemaOf(t *testing.T, db *sql.DB, engine migrations.Engine) (lines []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), schemaQueries[engine])
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var line string
		require.NoError(t, rows.Scan(&line))
		lines = append(lines, line)
	}
	require.NoError(t, rows.Err())
	return lines
}

// admitted are rows of a waiting run with an open approval (h1), an answered question (h2) and an
// open one (h3), and one row of most other tables.
var admitted = map[migrations.Engine][]string{
	migrations.Postgres: admittedRows(`, input`, `, '""'`),
	migrations.SQLite:   admittedRows(``, ``), // inputs have a table of their own
}

func admittedRows(inputColumn, input string) []string {
	return []string{
		`INSERT INTO sessions (queued_count, last_event_id, created_at_ms, updated_at_ms, session_id, agent_id, active_run_id)
			VALUES (0, 1, 1, 1, 's', 'a', 'r1')`,
		`INSERT INTO runs (submitted_at_ms, updated_at_ms, first_event_id, last_event_id, attempt, stalled_attempts, fence,
				raised_count, settled_count, resume_after, output_count, question_count, attached, status, session_id, run_id,
				agent_id, kind, payload_digest, source_plugin, source_kind, actor_id` + inputColumn + `)
			VALUES (1, 1, 1, 1, 0, 0, 0, 3, 1, 0, 0, 0, false, 'waiting_for_approval', 's', 'r1', 'a', 'input', '', '', '', ''` + input + `)`,
		`INSERT INTO requests (number, created_at_ms, settled_number, settled_at_ms, session_id, run_id, request_id, kind, outcome,
				handle, suspension_id, suspension_digest, resolution, body)
			VALUES (1, 1, NULL, NULL, 's', 'r1', 'q1', 'approval', NULL, 'h1', '', '', NULL, '{}'),
				(2, 1, 1, 1, 's', 'r1', 'q2', 'question', 'declined', 'h2', '', '', '{}', '{}'),
				(3, 1, NULL, NULL, 's', 'r1', 'q3', 'clarification', NULL, 'h3', '', '', NULL, '{}')`,
		`INSERT INTO events (event_id, timestamp_ms, session_id, run_id, agent_id, type, body) VALUES (1, 1, 's', 'r1', 'a', 'accepted', '{}')`,
		`INSERT INTO effects (created_at_ms, due_at_ms, attempts, session_id, effect_id, run_id, kind, state, target_session_id, payload)
			VALUES (1, 1, 0, 's', 'e', 'r1', 'open_clarification', 'pending', 'p', '{}')`,
		`INSERT INTO messages (created_at_ms, delivery_attempts, session_id, message_id, run_id, from_session_id, state, subject, payload)
			VALUES (1, 0, 's', 'm', 'r1', 'p', 'pending', 'clarification_answer', '{}')`,
		`INSERT INTO rules (created_at_ms, uses, session_id, rule_id, effect, created_by, text, match)
			VALUES (1, 0, '*', 'l1', 'deny', 'ann', 'no', '{"pattern_keys":["rm"]}')`,
		`INSERT INTO rules (created_at_ms, max_uses, uses, revoked_at_ms, revoked_by, session_id, rule_id, tool_name, effect, input_digest,
				source_run_id, source_request_id, created_by, text, match)
			VALUES (1, 3, 3, 2, 'bob', 'to come', 'l2', 't', 'allow', 'sha256:', 'r1', 'q1', 'ann', 'yes', '{"input_digest":"sha256:"}')`,
		`INSERT INTO idempotency_records (created_at_ms, scope, operation, idempotency_key, fingerprint, session_id, run_id)
			VALUES (1, 's', 'decision', 'k', '', 's', 'r1')`,
	}
}

// refused are changes that break one constraint each.
var refused = []struct{ constraint, statement string }{
	{"sessions_session_id_given", `INSERT INTO sessions (queued_count, last_event_id, created_at_ms, updated_at_ms, session_id, agent_id) VALUES (0, 0, 1, 1, '', 'a')`},
	{"sessions_queued_count_not_negative", `UPDATE sessions SET queued_count = -1`},
	{"sessions_last_event_id_not_negative", `UPDATE sessions SET last_event_id = -1`},
	{"sessions_ended_is_idle", `UPDATE sessions SET ended_at_ms = 1`},

	{"runs_status_known", `UPDATE runs SET status = 'other', finished_at_ms = NULL`},
	{"runs_lease_end_known", `UPDATE runs SET lease_end = 'other'`},
	{"runs_counts_not_negative", `UPDATE runs SET attempt = -1`},
	{"runs_counts_not_negative", `UPDATE runs SET fence = -1`},
	{"runs_events_in_order", `UPDATE runs SET first_event_id = 2`},
	{"runs_events_in_order", `UPDATE runs SET first_event_id = 0`},
	{"runs_settled_were_raised", `UPDATE runs SET settled_count = 4`},
	{"runs_resume_of_settled", `UPDATE runs SET resume_after = 2`},
	{"runs_finished_when_over", `UPDATE runs SET finished_at_ms = 1`},
	{"runs_finished_when_over", `UPDATE runs SET status = 'completed'`},
	{"runs_output_of_completed", `UPDATE runs SET output = '1'`},
	{"runs_over_is_not_held", `UPDATE runs SET status = 'failed', finished_at_ms = 1, claimable_at_ms = 1`},
	{"runs_queued_was_never_held", `UPDATE runs SET status = 'queued', started_at_ms = 1`},
	{"runs_running_is_claimable", `UPDATE runs SET status = 'running'`},
	{"runs_waiting_is_not_claimable", `UPDATE runs SET claimable_at_ms = 1`},
	{"runs_lease_has_holder", `UPDATE runs SET lease_expires_at_ms = 1, attached = true`},

	{"requests_number_positive", `UPDATE requests SET number = 0`},
	{"requests_kind_known", `UPDATE requests SET kind = 'other' WHERE handle = 'h3'`},
	{"requests_outcome_fits_kind", `UPDATE requests SET outcome = 'allowed' WHERE handle = 'h2'`},
	{"requests_outcome_fits_kind", `UPDATE requests SET kind = 'approval' WHERE handle = 'h2'`},
	{"requests_settled_whole", `UPDATE requests SET outcome = 'denied' WHERE handle = 'h1'`},
	{"requests_settled_whole", `UPDATE requests SET resolution = NULL WHERE handle = 'h2'`},
	{"requests_settled_number_positive", `UPDATE requests SET settled_number = 0 WHERE handle = 'h2'`},
	{"requests_due_while_open", `UPDATE requests SET due_at_ms = 1 WHERE handle = 'h2'`},
	{"requests_partial_while_open", `UPDATE requests SET partial_answers = '[]' WHERE handle = 'h1'`},
	{"requests_partial_while_open", `UPDATE requests SET partial_answers = '[]' WHERE handle = 'h2'`},
	{"requests_rule_settles", `UPDATE requests SET rule_id = 'l1' WHERE handle = 'h1'`},
	{"requests_rule_settles", `UPDATE requests SET rule_id = 'l1' WHERE handle = 'h2'`},
	{"requests_redemption_of_allowed", `UPDATE requests SET redemption = '{}' WHERE handle = 'h2'`},

	{"events_event_id_positive", `UPDATE events SET event_id = 0`},
	{"events_type_given", `UPDATE events SET type = ''`},

	{"effects_effect_id_given", `UPDATE effects SET effect_id = ''`},
	{"effects_kind_known", `UPDATE effects SET kind = 'other'`},
	{"effects_state_known", `UPDATE effects SET state = 'other', due_at_ms = NULL, finished_at_ms = 1`},
	{"effects_due_while_pending", `UPDATE effects SET due_at_ms = NULL`},
	{"effects_finished_when_over", `UPDATE effects SET finished_at_ms = 1`},
	{"effects_attempts_not_negative", `UPDATE effects SET attempts = -1`},

	{"messages_message_id_given", `UPDATE messages SET message_id = ''`},
	{"messages_state_known", `UPDATE messages SET state = 'other'`},
	{"messages_acknowledged_", `UPDATE messages SET state = 'acknowledged'`},
	{"messages_acknowledged_", `UPDATE messages SET acknowledged_at_ms = 1`},
	{"messages_delivery_attempts_not_negative", `UPDATE messages SET delivery_attempts = -1`},

	{"rules_session_id_given", `UPDATE rules SET session_id = '' WHERE rule_id = 'l1'`},
	{"rules_rule_id_given", `UPDATE rules SET rule_id = '' WHERE rule_id = 'l1'`},
	{"rule", `UPDATE rules SET rule_id = 'l2' WHERE rule_id = 'l1'`},
	{"rules_effect_known", `UPDATE rules SET effect = 'maybe'`},
	{"rules_match_given", `UPDATE rules SET match = ''`},
	{"rules_digest_of_tool", `UPDATE rules SET tool_name = NULL WHERE rule_id = 'l2'`},
	{"rules_max_uses_of_session", `UPDATE rules SET max_uses = 1 WHERE rule_id = 'l1'`},
	{"rules_max_uses_positive", `UPDATE rules SET max_uses = 0, uses = 0 WHERE rule_id = 'l2'`},
	{"rules_uses_within_max", `UPDATE rules SET uses = 1 WHERE rule_id = 'l1'`},
	{"rules_uses_within_max", `UPDATE rules SET uses = 4 WHERE rule_id = 'l2'`},
	{"rules_uses_within_max", `UPDATE rules SET uses = -1 WHERE rule_id = 'l2'`},
	{"rules_source_whole", `UPDATE rules SET source_run_id = NULL WHERE rule_id = 'l2'`},
	{"rules_revoked_whole", `UPDATE rules SET revoked_at_ms = NULL WHERE rule_id = 'l2'`},
	{"rules_revoked_whole", `UPDATE rules SET revoked_by = NULL WHERE rule_id = 'l2'`},

	{"idempotency_records_operation_known", `UPDATE idempotency_records SET operation = 'other'`},
}

func TestTheSchemaRefusesBrokenRows(t *testing.T) {
	t.Parallel()
	for engine, open := range engines {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			db := open(t)()
			m, err := migrations.New(db, engine, nil)
			require.NoError(t, err)
			_, err = m.Up(t.Context())
			require.NoError(t, err)
			for _, statement := range admitted[engine] {
				_, err := db.ExecContext(t.Context(), statement)
				require.NoError(t, err, statement)
			}
			for _, one := range refused {
				_, err := db.ExecContext(t.Context(), one.statement)
				require.ErrorContains(t, err, one.constraint, one.statement)
			}
		})
	}
}
