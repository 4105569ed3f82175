package migrations_test

import (
	"context"
	"database/sql"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/migrations"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
)

// filled puts rows into the tables of the baseline.
const filled = `
INSERT INTO sessions (queued_count, last_event_id, created_at_ms, updated_at_ms, session_id, agent_id, active_run_id)
	SELECT 0, 1, 1, 1, 's' || n, 'agent', 'r' || n FROM generate_series(1, 20000) AS n;
INSERT INTO runs (submitted_at_ms, updated_at_ms, first_event_id, last_event_id, attempt, stalled_attempts, fence,
		raised_count, settled_count, resume_after, output_count, question_count, attached, status, session_id, run_id,
		agent_id, kind, payload_digest, source_plugin, source_kind, actor_id, input)
	SELECT 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 0, 0, false, 'waiting_for_approval', 's' || n, 'r' || n,
		'agent', 'input', '', '', '', '', '""' FROM generate_series(1, 20000) AS n;
INSERT INTO requests (number, created_at_ms, session_id, run_id, request_id, kind, handle, suspension_id, suspension_digest, body)
	SELECT 1, 1, 's' || n, 'r' || n, 'q', 'approval', 'h' || n, '', '', '{}' FROM generate_series(1, 20000) AS n;`

// decision writes like a decision of a replica that knows only the baseline.
func decision(ctx context.Context, conn *pgx.Conn) error {
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		for _, sql := range []string{
			`SELECT session_id FROM sessions WHERE session_id = 's1' FOR UPDATE`,
			`UPDATE sessions SET last_event_id = last_event_id + 1 WHERE session_id = 's1'`,
			`UPDATE runs SET updated_at_ms = updated_at_ms + 1 WHERE session_id = 's1' AND run_id = 'r1'`,
			`UPDATE requests SET created_at_ms = created_at_ms + 1 WHERE session_id = 's1' AND request_id = 'q'`,
			`INSERT INTO events (event_id, timestamp_ms, session_id, run_id, agent_id, type, body)
				SELECT last_event_id, 1, 's1', 'r1', 'agent', 'output', '{}' FROM sessions WHERE session_id = 's1'`,
		} {
			if _, err := tx.Exec(ctx, sql); err != nil {
				return err
			}
		}
		return nil
	})
}

// atBaseline returns a new database at the baseline, and what connects to it.
func atBaseline(ctx context.Context, t *testing.T) (db *sql.DB, connect func() *pgx.Conn) {
	t.Helper()
	url := postgrestest.URL(t, postgrestest.Empty())
	config, err := pgx.ParseConfig(url)
	require.NoError(t, err)
	db = closing(t, stdlib.OpenDB(*config))
	first, err := migrations.NewOf(db, migrations.Postgres, baseline(t))
	require.NoError(t, err)
	_, err = first.Up(ctx)
	require.NoError(t, err)
	return db, func() *pgx.Conn {
		conn, err := pgx.Connect(ctx, url)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, conn.Close(context.WithoutCancel(ctx))) })
		return conn
	}
}

// A replica of the baseline decides while another migrates to the newest step and to the example after
// it, although a long read holds a lock that the migration must wait for. The read goes on until the migration has
// given up and tried again several times: a decision that waited for the migration would never end.
func TestReplicasDecideWhileOneMigrates(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	db, connect := atBaseline(ctx, t)
	reader, replica, watcher := connect(), connect(), connect()
	_, err := reader.Exec(ctx, filled)
	require.NoError(t, err)

	read, err := reader.Begin(ctx)
	require.NoError(t, err)
	_, err = read.Exec(ctx, "SELECT count(*) FROM sessions, runs, requests, effects, rules, idempotency_records, messages, events WHERE false")
	require.NoError(t, err)

	m, err := migrations.NewOf(db, migrations.Postgres, withExample(t))
	require.NoError(t, err)
	var migrated atomic.Bool
	var group sync.WaitGroup
	group.Go(func() {
		if _, err := m.Up(ctx); err != nil {
			t.Error(err)
		}
		migrated.Store(true)
	})
	decide := func() { require.NoError(t, decision(ctx, replica)) }
	const migratorWaits = `SELECT coalesce(min(query_start)::text, '') FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> $1 AND wait_event_type = 'Lock'`
	var waited atomic.Bool
	group.Go(func() {
		defer waited.Store(true)
		for tries := map[string]bool{"": true}; len(tries) <= 3; {
			var since string
			if err := watcher.QueryRow(ctx, migratorWaits, replica.PgConn().PID()).Scan(&since); err != nil {
				t.Error(err)
				return
			}
			tries[since] = true
		}
	})
	for !waited.Load() {
		decide()
	}
	require.False(t, migrated.Load(), "the read is waited for")
	require.NoError(t, read.Rollback(ctx))
	for !migrated.Load() {
		decide()
	}
	group.Wait()
	decide()
	require.NoError(t, m.Check(ctx))
}

// Making an index waits for every older snapshot of the database, such as that of pg_dump or of doctor, and blocks
// no decision meanwhile. If it gave up after LockTimeout, it would be made from the start again and again, and never be
// done where some read of more than a second is always under way.
func TestAnIndexIsMadeOnceBehindALongRead(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	db, connect := atBaseline(ctx, t)
	reader, watcher := connect(), connect()
	read, err := reader.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	require.NoError(t, err)
	_, err = read.Exec(ctx, "SELECT count(*) FROM pg_class")
	require.NoError(t, err)

	m, err := migrations.NewOf(db, migrations.Postgres, withExample(t))
	require.NoError(t, err)
	var group sync.WaitGroup
	group.Go(func() {
		if _, err := m.Up(ctx); err != nil {
			t.Error(err)
		}
	})
	made := map[uint32]bool{}
	watch := func() (waited bool) {
		var index uint32
		require.NoError(t, watcher.QueryRow(ctx, `
SELECT coalesce((SELECT c.oid FROM pg_class AS c WHERE c.relname = 'events_of_requests'), 0),
	EXISTS (SELECT FROM pg_locks AS k WHERE NOT k.granted AND clock_timestamp() - k.waitstart > $1)`, 2*migrations.LockTimeout).Scan(&index, &waited))
		if index != 0 {
			made[index] = true
		}
		return waited
	}
	for !watch() && len(made) <= 1 {
	}
	require.NoError(t, read.Rollback(ctx))
	group.Wait()
	watch()
	require.Len(t, made, 1, "it is made once")
	require.NoError(t, m.Check(ctx))
}

// A role's statement_timeout, or the URL's, would end the making of a large index each time.
func TestAStepHasNoTimeoutOfOrdinaryStatements(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	config, err := pgx.ParseConfig(postgrestest.URL(t, postgrestest.Empty()))
	require.NoError(t, err)
	config.RuntimeParams["statement_timeout"] = "1h"
	db := closing(t, stdlib.OpenDB(*config))
	const step = "-- +goose Up\nCREATE TABLE seen AS SELECT current_setting('lock_timeout') AS locks, current_setting('statement_timeout') AS statements;\n-- +goose Down\nDROP TABLE seen;"
	m, err := migrations.NewOf(db, migrations.Postgres, fstest.MapFS{"postgres/00001_seen.sql": {Data: []byte(step)}})
	require.NoError(t, err)
	_, err = m.Up(ctx)
	require.NoError(t, err)
	var during, after [2]string
	require.NoError(t, db.QueryRowContext(ctx, "SELECT locks, statements FROM seen").Scan(&during[0], &during[1]))
	require.Equal(t, [2]string{"1s", "0"}, during)
	require.NoError(t, db.QueryRowContext(ctx, "SELECT current_setting('lock_timeout'), current_setting('statement_timeout')").Scan(&after[0], &after[1]))
	require.Equal(t, [2]string{"0", "1h"}, after)
}
