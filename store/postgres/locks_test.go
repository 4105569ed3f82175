package postgres

import (
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
)

// Opening a database whose advisory locks have no effect fails. The test replaces the functions
// by ones that do nothing.
func TestADatabaseWithoutAdvisoryLocksIsRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ functions, detail string }{
		"an exclusive lock excludes nobody": {
			`CREATE FUNCTION nolocks.pg_try_advisory_xact_lock(bigint) RETURNS boolean LANGUAGE sql AS 'SELECT true'`,
			"an exclusive lock does not keep another transaction out",
		},
		"a shared lock is not taken": {
			`CREATE FUNCTION nolocks.pg_advisory_xact_lock_shared(bigint) RETURNS void LANGUAGE sql AS 'SELECT'`,
			"a shared lock does not keep an exclusive one out",
		},
		"pg_locks shows no shared lock": {
			`CREATE VIEW nolocks.pg_locks AS SELECT * FROM pg_catalog.pg_locks WHERE mode <> 'ShareLock'`,
			"pg_locks does not show a shared lock",
		},
		"a lock of a connection is given back at once": {
			`CREATE FUNCTION nolocks.pg_advisory_unlock(bigint) RETURNS boolean LANGUAGE sql AS 'SELECT NOT pg_catalog.pg_advisory_unlock($1)'`,
			"a lock of a connection does not outlast its transaction",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := postgrestest.URL(t)
			conn, err := pgx.Connect(t.Context(), address)
			require.NoError(t, err)
			_, err = conn.Exec(t.Context(), "CREATE SCHEMA nolocks; "+test.functions)
			require.NoError(t, err)
			require.NoError(t, conn.Close(t.Context()))
			at, err := url.Parse(address)
			require.NoError(t, err)
			query := at.Query()
			query.Set("search_path", "nolocks,pg_catalog,public")
			at.RawQuery = query.Encode()
			_, err = Open(t.Context(), at.String(), Options{NoListen: true})
			require.ErrorIs(t, err, ErrNoLocks)
			require.ErrorContains(t, err, test.detail)
			store, err := Open(t.Context(), address, Options{NoListen: true})
			require.NoError(t, err)
			require.NoError(t, store.Close())
		})
	}
}
