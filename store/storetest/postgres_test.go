package storetest_test

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"strconv"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/store/door"
	"github.com/holdpoint/holdpoint/store/postgres"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
	"github.com/holdpoint/holdpoint/store/read"
	"github.com/holdpoint/holdpoint/store/storetest"
)

func TestMain(m *testing.M) {
	// Each example of the differential test takes a good part of a second; -rapid.checks runs more. "make nightly" has
	// 25.
	checks := map[bool]string{false: "8", true: "25"}[storetest.Thorough]
	if err := flag.Set("rapid.checks", checks); err != nil {
		panic(err)
	}
	read.Timeout = time.Minute
	goleak.VerifyTestMain(postgrestest.Wrap(m))
}

func TestPostgres(t *testing.T) {
	t.Parallel()
	engine := postgresEngine
	if underRace {
		engine.Scope = storetest.ScopeConcurrent
	}
	storetest.Run(t, engine)
}

// TestPostgresConfigured runs the basics in the ways that a store may be configured. Commands one by one meet less code
// than together, so they run in "make nightly".
func TestPostgresConfigured(t *testing.T) {
	t.Parallel()
	for name, configure := range map[string]func(*postgres.Options){
		"through a pool": func(options *postgres.Options) { options.Pooler = true },
		"one by one":     func(options *postgres.Options) { options.Door.MaxBatch, options.Door.Lanes = 1, 4 },
	} {
		if name == "one by one" && !storetest.Thorough {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			engine := postgresEngine
			engine.Scope = storetest.ScopeBasics
			engine.Fresh = func(tb testing.TB) storetest.Database {
				tb.Helper()
				database := newPostgresDatabase(tb)
				database.configure = configure
				return database
			}
			storetest.Run(t, engine)
		})
	}
}

var postgresEngine = storetest.Engine{
	Durable: true, Replicas: true, Restores: true,
	Fresh: func(tb testing.TB) storetest.Database {
		tb.Helper()
		return newPostgresDatabase(tb)
	},
}

// postgresDatabase is a database whose clock is in the hand of the test.
type postgresDatabase struct {
	url      string
	db       *sql.DB
	followed *storetest.Clock
	backups  int
	// configure changes the options of its stores, unless it is nil.
	configure func(*postgres.Options)
}

// The engine reads the database's clock. In these databases, functions of the same names come
// first on the search path and return the test's time.
const sqlTestClock = `
CREATE TABLE public.test_clock (now_ms bigint NOT NULL);
INSERT INTO public.test_clock VALUES (0);
CREATE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
	AS 'SELECT pg_catalog.to_timestamp(now_ms / 1000.0) FROM public.test_clock';
CREATE FUNCTION public.statement_timestamp() RETURNS timestamptz LANGUAGE sql STABLE
	AS 'SELECT pg_catalog.to_timestamp(now_ms / 1000.0) FROM public.test_clock';
DO $$ BEGIN
	EXECUTE format('ALTER DATABASE %I SET search_path = public, pg_catalog', current_database());
END $$`

func newPostgresDatabase(tb testing.TB) *postgresDatabase {
	tb.Helper()
	url := postgrestest.URL(tb)
	db, err := sql.Open("pgx", url)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, db.Close()) })
	_, err = db.ExecContext(tb.Context(), sqlTestClock)
	require.NoError(tb, err)
	return &postgresDatabase{url: url, db: db}
}

func (d *postgresDatabase) Open(tb testing.TB, options storetest.Options) runs.Store {
	tb.Helper()
	if d.followed == nil {
		d.followed = options.Clock
		ctx := context.WithoutCancel(tb.Context())
		options.Clock.Follow(func(nowMs int64) {
			_, err := d.db.ExecContext(ctx, `UPDATE public.test_clock SET now_ms = $1`, nowMs)
			require.NoError(tb, err)
		})
	}
	configured := postgres.Options{Door: door.Options{
		NewID: options.NewID, Clock: options.Clock.NowMs, LockWait: options.LockWait, NotifyAfter: options.NotifyAfter,
	}}
	if d.configure != nil {
		d.configure(&configured)
	}
	store, err := postgres.Open(tb.Context(), d.url, configured)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, store.Close()) })
	return store
}

// LockSession implements storetest.Locker.
func (d *postgresDatabase) LockSession(ctx context.Context, sessionID string) (unlock func() error, err error) {
	foreign, err := d.db.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	var locked string
	err = foreign.QueryRowContext(ctx, `SELECT session_id FROM sessions WHERE session_id = $1 FOR UPDATE`, sessionID).Scan(&locked)
	if err != nil {
		return nil, errors.Join(err, foreign.Rollback())
	}
	return foreign.Rollback, nil
}

// MakeSession implements storetest.Locker.
func (d *postgresDatabase) MakeSession(ctx context.Context, sessionID string) (undo func() error, err error) {
	foreign, err := d.db.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	_, err = foreign.ExecContext(ctx, `INSERT INTO sessions (session_id, agent_id, queued_count, last_event_id, created_at_ms, updated_at_ms) VALUES ($1, 'a', 0, 0, 1, 1)`, sessionID)
	if err != nil {
		return nil, errors.Join(err, foreign.Rollback())
	}
	return foreign.Rollback, nil
}

// BreakSession implements storetest.Breaker.
func (d *postgresDatabase) BreakSession(ctx context.Context, sessionID string) (mend func() error, err error) {
	_, err = d.db.ExecContext(ctx, `
CREATE FUNCTION public.broken() RETURNS trigger LANGUAGE plpgsql AS
	$$ BEGIN RAISE EXCEPTION 'broken' USING ERRCODE = 'check_violation'; END $$;
CREATE TRIGGER broken BEFORE INSERT ON events FOR EACH ROW WHEN (NEW.session_id = '`+sessionID+`')
	EXECUTE FUNCTION public.broken()`)
	return func() error {
		_, err := d.db.ExecContext(ctx, `DROP TRIGGER broken ON events`)
		return err
	}, err
}

// Backup implements storetest.Restorer. It keeps the tables, because replaced tables are detected in another way too.
func (d *postgresDatabase) Backup(ctx context.Context) (restore func() error, err error) {
	d.backups++
	kept := "backup_" + strconv.Itoa(d.backups)
	const each = `
DO $$ DECLARE one text; BEGIN
	%s
	FOR one IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename NOT IN ('holdpoint_schema', 'test_clock') LOOP
		%s
	END LOOP;
END $$`
	_, err = d.db.ExecContext(ctx, fmt.Sprintf(each, "CREATE SCHEMA "+kept+";",
		"EXECUTE format('CREATE TABLE "+kept+".%I AS SELECT * FROM public.%I', one, one);"))
	return func() error {
		_, err := d.db.ExecContext(ctx, fmt.Sprintf(each, "SET LOCAL session_replication_role = replica;",
			"EXECUTE format('DELETE FROM public.%I', one); EXECUTE format('INSERT INTO public.%I OVERRIDING SYSTEM VALUE SELECT * FROM "+kept+".%I', one, one);"))
		return err
	}, err
}

func (d *postgresDatabase) Tables(tb testing.TB) storetest.Tables {
	tb.Helper()
	return storetest.ReadTables(tb, d.db)
}

// reset empties the database, for a store that has not seen it before.
func (d *postgresDatabase) reset(tb testing.TB) {
	tb.Helper()
	d.followed = nil
	_, err := d.db.ExecContext(tb.Context(), `TRUNCATE sessions, runs, requests, events, idempotency_records, effects, messages, rules`)
	require.NoError(tb, err)
}
