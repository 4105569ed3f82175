package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/migrations"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
)

func approval(id string) api.Suspension {
	return api.Suspension{Approvals: []api.ApprovalRequest{{ID: id, ToolCallID: "call", ToolName: "bash", Input: api.JSON(`{"command":"rm \u0000 -rf","n":1.10}`)}}}
}

func TestNoticesCrossReplicas(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	teller, hearer := open(t, url, Options{}), open(t, url, Options{})
	heard := make(chan reads.Notice, 100)
	defer hearer.Subscribe(func(notice reads.Notice) { heard <- notice })()
	own := make(chan reads.Notice, 100)
	defer teller.Subscribe(func(notice reads.Notice) { own <- notice })()

	deadline := time.After(time.Minute)
	for {
		// A replica that does not listen yet misses a hint; the next one reaches it.
		created := do(t, teller, &runs.CreateRun{Input: api.JSON(`1`)})
		at := <-own
		for at.SessionID == "" { // the teller's own listener has started
			at = <-own
		}
		require.Equal(t, created.Run.Run.SessionID, at.SessionID)
		require.Len(t, at.Claimable, 1)
		select {
		case notice := <-heard:
			if notice.SessionID == "" {
				continue
			}
			require.Equal(t, notice.LastEventID, at.LastEventID)
			require.Len(t, notice.Claimable, 1)
			require.NotZero(t, notice.Claimable[0].ClaimableAtMs)
			return
		case <-time.After(50 * time.Millisecond):
		case <-deadline:
			t.Fatal("no notice crossed")
		}
	}
}

func TestLostConnectionsAreReplaced(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := open(t, postgrestest.URL(t), Options{NoListen: true})
	do(t, s, &runs.CreateSession{SessionID: "s"})
	_, err := s.reads.Exec(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`)
	require.NoError(t, err)
	require.True(t, do(t, s, &runs.CreateSession{SessionID: "s"}).Existing)
}

func TestReadyTellsOfTheSchema(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	url := postgrestest.URL(t, postgrestest.Empty())
	s := open(t, url, Options{NoListen: true})
	require.ErrorIs(t, s.Ready(ctx), migrations.ErrSchemaBehind)
	require.NoError(t, migrate(ctx, url, nil))
	require.NoError(t, s.Ready(ctx))
	_, err := s.reads.Exec(ctx, `INSERT INTO `+migrations.Table+` (version_id, is_applied) VALUES (99999, true)`)
	require.NoError(t, err)
	require.NoError(t, s.Ready(ctx), "replicas serve until newer ones replace them")
	require.ErrorIs(t, s.CheckSchema(ctx), migrations.ErrSchemaAhead)
}

// A standby does not answer until it is promoted, whatever its schema is.
func TestReadyTellsOfAStandbyBeforeTheSchema(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	url := postgrestest.URL(t)
	first := open(t, url, Options{NoListen: true})
	_, err := first.reads.Exec(ctx, `INSERT INTO `+migrations.Table+` (version_id, is_applied) VALUES (99999, true)`)
	require.NoError(t, err)
	_, err = first.reads.Exec(ctx, `CREATE FUNCTION pg_is_in_recovery() RETURNS boolean LANGUAGE sql AS 'SELECT true'; DO $$ BEGIN
		EXECUTE format('ALTER DATABASE %I SET search_path = public, pg_catalog', current_database());
	END $$`)
	require.NoError(t, err)
	s := open(t, url, Options{NoListen: true})
	err = s.Ready(ctx)
	require.ErrorIs(t, err, runs.ErrUnavailable)
	require.ErrorContains(t, err, "takes no writes")
}

// What a connection was told of the database's default when it began says nothing about whether the service can write.
func TestReadyWhereTransactionsAreReadOnlyByDefault(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	first := open(t, url, Options{NoListen: true})
	_, err := first.reads.Exec(t.Context(), `DO $$ BEGIN
		EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database());
	END $$`)
	require.NoError(t, err)
	s := open(t, url, Options{NoListen: true})
	do(t, s, &runs.CreateSession{SessionID: "s"})
	_, err = s.Intake().RetryRefused(t.Context(), "none")
	require.NoError(t, err)
	require.NoError(t, s.Ready(t.Context()))
}

func TestClosedStoreTakesNothing(t *testing.T) {
	t.Parallel()
	s := open(t, postgrestest.URL(t), Options{})
	require.NoError(t, s.Close())
	_, err := s.Do(context.Background(), &runs.CreateSession{})
	require.ErrorIs(t, err, runs.ErrClosed)
}

func TestUnreachableDatabase(t *testing.T) {
	t.Parallel()
	_, err := Open(context.Background(), "postgres://nobody@127.0.0.1:1/none?connect_timeout=1", Options{})
	require.Error(t, err)
	_, err = Open(context.Background(), "postgres://%", Options{})
	require.Error(t, err)
	require.NotErrorIs(t, err, runs.ErrUnavailable)
}
