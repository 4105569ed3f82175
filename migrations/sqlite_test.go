package migrations_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/require"
)

// sqliteTables are the tables of the first step.
var sqliteTables = []string{"sessions", "runs", "run_payloads", "requests", "events", "idempotency_records"}

// sqliteRows are rows that the first step admits: a run with an open approval that has
// a deadline, an answered question and a cancelled one, and a run that is over.
const sqliteRows = `
INSERT INTO sessions VALUES ('s', 'a', 'p', '{"k":1}', 'r1', 0, 5, NULL, 1, 2);
INSERT INTO runs VALUES
	('r1', 's', 'a', NULL, 'input', 'waiting_for_approval', 'daemon', 'api', 'u', 'do it', 2, '{}', 'd', 1, 2, NULL, 3,
		1, 4, 1, 0, 1, 'w', NULL, 'suspended', 'c', 0, NULL, 'sus', 3, 2, 0, 0, NULL, NULL),
	('r2', 's', 'a', 'r1', 'input', 'completed', 'daemon', 'api', 'u', NULL, 0, NULL, 'd', 1, 2, 3, 3,
		5, 5, 1, 0, 1, 'w', NULL, 'completed', 'c', 0, NULL, NULL, 0, 0, 0, 1, NULL, '{"done":true}');
INSERT INTO run_payloads VALUES ('r1', 'input', '"do  it"'), ('r1', 'checkpoint', '{"step":1}'), ('r2', 'input', '1');
INSERT INTO requests VALUES
	('s', 'r1', 'q1', 'h1', 'sus', 'd', 1, 'approval', '{"id":"q1"}', 99, 2, NULL, NULL, NULL, NULL),
	('s', 'r1', 'q2', 'h2', 'sus', 'd', 2, 'question', '{"id":"q2"}', NULL, 2, 'answered', 1, '{"outcome":"answered"}', 3),
	('s', 'r1', 'q3', 'h3', 'sus', 'd', 3, 'question', '{"id":"q3"}', NULL, 2, 'cancelled', 2, '{"outcome":"cancelled"}', 3);
INSERT INTO events VALUES ('s', 1, 'r1', 'a', 'accepted', 1, '{}'), ('s', 5, 'r2', 'a', 'output', 3, '{}');
INSERT INTO idempotency_records VALUES ('run', 's', 'k', 'f', 's', 'r1', 1);`

// clarificationRows are rows that only the second step admits.
const clarificationRows = `
INSERT INTO requests VALUES ('s', 'r1', 'q4', 'h4', 'sus', 'd', 4, 'clarification', '{}', NULL, 2, NULL, NULL, NULL, NULL);
INSERT INTO effects VALUES ('s', 'e', 'r1', 'open_clarification', 'pending', 'p', '{}', 1, 1, 0, NULL, NULL);
INSERT INTO messages VALUES ('s', 'm', 'r1', 'p', 'pending', 'clarification_answer', '{}', 1, 0, NULL, NULL, NULL);`

func TestClarificationsKeepEveryRowOfSQLite(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "test.db")+"?_foreign_keys=1")
	require.NoError(t, err)
	closing(t, db)
	db.SetMaxOpenConns(1) // the pragmas are asked of the connection that migrates
	steps, err := goose.NewProvider(goose.DialectSQLite3, db, os.DirFS("sqlite"), goose.WithLogger(goose.NopLogger()))
	require.NoError(t, err)
	move := func(results []*goose.MigrationResult, err error) {
		require.NoError(t, err)
		require.Len(t, results, 1)
		require.Equal(t, [][]any{{"ok"}}, sqliteQuery(t, db, "PRAGMA integrity_check"))
		require.Empty(t, sqliteQuery(t, db, "PRAGMA foreign_key_check"))
	}
	schema := func() [][]any {
		return sqliteQuery(t, db, "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE name NOT LIKE '%goose%' ORDER BY type, name")
	}
	rows := func() map[string][][]any {
		tables := map[string][][]any{}
		for _, table := range sqliteTables {
			columns := "*"
			if table == "runs" {
				columns = sqliteRunColumns(t, db)
			}
			tables[table] = sqliteQuery(t, db, "SELECT "+columns+" FROM "+table+" ORDER BY 1, 2, 3")
		}
		return tables
	}

	move(steps.UpTo(ctx, 1))
	_, err = db.ExecContext(ctx, sqliteRows)
	require.NoError(t, err)
	firstSchema, firstRows := schema(), rows()
	for table, list := range firstRows {
		require.NotEmpty(t, list, table)
	}

	var secondSchema [][]any
	for range 2 {
		_, err = db.ExecContext(ctx, clarificationRows)
		require.Error(t, err, "the first step knows no clarifications")

		move(steps.UpTo(ctx, 2))
		require.Equal(t, firstRows, rows())
		require.Equal(t, [][]any{{int64(0)}}, sqliteQuery(t, db, "SELECT count(requester) FROM runs"))
		if secondSchema == nil {
			secondSchema = schema()
		}
		require.Equal(t, secondSchema, schema())
		for _, object := range firstSchema {
			if object[0] == "index" {
				require.Contains(t, secondSchema, object, "every index is there again as it was")
			}
		}
		_, err = db.ExecContext(ctx, clarificationRows)
		require.NoError(t, err)

		move(steps.DownTo(ctx, 1))
		require.Equal(t, firstSchema, schema())
		require.Equal(t, firstRows, rows(), "only what the second step holds is gone")
	}
}

// sqliteRunColumns are the columns of a run in the first step.
func sqliteRunColumns(t *testing.T, db *sql.DB) string {
	t.Helper()
	names := sqliteQuery(t, db, "SELECT group_concat(name, ', ') FROM pragma_table_info('runs') WHERE name <> 'requester'")
	return names[0][0].(string)
}

func sqliteQuery(t *testing.T, db *sql.DB, query string) [][]any {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	require.NoError(t, err)
	defer rows.Close()
	columns, err := rows.Columns()
	require.NoError(t, err)
	var list [][]any
	for rows.Next() {
		values := make([]any, len(columns))
		targets := make([]any, len(columns))
		for i := range values {
			targets[i] = &values[i]
		}
		require.NoError(t, rows.Scan(targets...))
		list = append(list, values)
	}
	require.NoError(t, rows.Err())
	return list
}

// sqliteRuleRows are rows that only the third step admits, each by itself, beside those
// of the first and the second.
var sqliteRuleRows = []string{
	`INSERT INTO rules (created_at_ms, uses, session_id, rule_id, effect, created_by, text, match)
		VALUES (1, 0, '*', 'l1', 'deny', 'ann', 'no', '{"pattern_keys":["rm"]}')`,
	`INSERT INTO rules (created_at_ms, max_uses, uses, revoked_at_ms, revoked_by, session_id, rule_id, tool_name, effect, input_digest,
			source_run_id, source_request_id, created_by, text, match)
		VALUES (1, 3, 3, 2, 'bob', 'to come', 'l2', 't', 'allow', 'sha256:', 'r1', 'q1', 'ann', 'yes', '{"input_digest":"sha256:"}')`,
	`UPDATE requests SET outcome = 'allowed', settled_number = 9, settled_at_ms = 2, resolution = '{}', rule_id = 'l1', due_at_ms = NULL WHERE handle = 'h1'`,
	`INSERT INTO requests (session_id, run_id, request_id, handle, suspension_id, suspension_digest, number, kind, body, created_at_ms, partial_answers)
		VALUES ('s', 'r1', 'q5', 'h3', 'sus', 'd', 5, 'question', '{}', 2, '[]')`,
	`INSERT INTO effects VALUES ('s', 'review', 'r1', 'review_approval', 'pending', 's', '{}', 1, 1, 0, NULL, NULL)`,
	`INSERT INTO idempotency_records VALUES ('decision', 's', 'k', 'f', 's', 'r1', 1)`,
}

func TestRulesComeAndGoOnSQLite(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "test.db")+"?_foreign_keys=1")
	require.NoError(t, err)
	closing(t, db)
	db.SetMaxOpenConns(1)
	steps, err := goose.NewProvider(goose.DialectSQLite3, db, os.DirFS("sqlite"), goose.WithLogger(goose.NopLogger()))
	require.NoError(t, err)
	move := func(results []*goose.MigrationResult, err error) {
		require.NoError(t, err)
		require.NotEmpty(t, results)
		require.Equal(t, [][]any{{"ok"}}, sqliteQuery(t, db, "PRAGMA integrity_check"))
		require.Empty(t, sqliteQuery(t, db, "PRAGMA foreign_key_check"))
	}
	schema := func() [][]any {
		return sqliteQuery(t, db, "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE name NOT LIKE '%goose%' ORDER BY type, name")
	}
	rows := func() [][][]any {
		return [][][]any{
			sqliteQuery(t, db, "SELECT * FROM effects ORDER BY 1, 2"), sqliteQuery(t, db, "SELECT * FROM idempotency_records ORDER BY 1, 2, 3"),
			sqliteQuery(t, db, "SELECT handle, kind, body FROM requests ORDER BY 1"),
		}
	}

	move(steps.UpTo(ctx, 1))
	_, err = db.ExecContext(ctx, sqliteRows)
	require.NoError(t, err)
	move(steps.UpTo(ctx, 2))
	_, err = db.ExecContext(ctx, clarificationRows+`DELETE FROM requests WHERE handle = 'h3'`)
	require.NoError(t, err)
	secondSchema, secondRows := schema(), rows()

	var thirdSchema [][]any
	for range 2 {
		for _, statement := range sqliteRuleRows {
			_, err := db.ExecContext(ctx, statement)
			require.Error(t, err, statement)
		}
		move(steps.UpTo(ctx, 3))
		require.Equal(t, secondRows, rows())
		if thirdSchema == nil {
			thirdSchema = schema()
		}
		require.Equal(t, thirdSchema, schema())
		for _, object := range secondSchema {
			if object[0] == "index" {
				require.Contains(t, thirdSchema, object, "every index is there again as it was")
			}
		}
		for _, statement := range sqliteRuleRows {
			_, err := db.ExecContext(ctx, statement)
			require.NoError(t, err, statement)
		}
		for _, statement := range rulesRefused {
			_, err := db.ExecContext(ctx, statement)
			require.Error(t, err, statement)
		}

		move(steps.DownTo(ctx, 2))
		require.Equal(t, secondSchema, schema())
		_, err = db.ExecContext(ctx, `DELETE FROM requests WHERE handle = 'h3'; UPDATE requests SET outcome = NULL, settled_number = NULL,
			settled_at_ms = NULL, resolution = NULL WHERE handle = 'h1'`)
		require.NoError(t, err)
		require.Equal(t, secondRows, rows(), "only what the third step holds is gone")
	}
}
