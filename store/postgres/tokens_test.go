package postgres

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
)

// Of the last two admins who revoke themselves at once one stays, whatever the server's default isolation is.
func TestChangesOfCallersSeeWhatIsCommitted(t *testing.T) {
	t.Parallel()
	for _, setting := range []string{
		"default_transaction_isolation = 'repeatable read'", "default_transaction_isolation = serializable", "default_transaction_read_only = on",
	} {
		t.Run(setting, func(t *testing.T) {
			t.Parallel()
			url := postgrestest.URL(t)
			other := open(t, url, Options{NoListen: true})
			_, err := other.reads.Exec(t.Context(), `DO $do$ BEGIN EXECUTE format($$ALTER DATABASE %I SET `+setting+`$$, current_database()); END $do$`)
			require.NoError(t, err)
			s := open(t, url, Options{NoListen: true})
			ids := []string{"first", "second"}
			for _, id := range ids {
				_, err := s.AddToken(t.Context(), &auth.Token{
					TokenID: id, Name: id, Role: api.RoleAdmin, Principal: "user:" + id, SecretHash: auth.HashOf(id), CreatedAtMs: 1, CreatedBy: "user:ada",
				}, nil)
				require.NoError(t, err)
			}
			blocking, err := other.reads.Begin(t.Context())
			require.NoError(t, err)
			_, err = blocking.Exec(t.Context(), sqlLockRevokeToken)
			require.NoError(t, err)
			revoked, failures := make([]bool, len(ids)), make([]error, len(ids))
			var group sync.WaitGroup
			for n, id := range ids {
				group.Go(func() {
					by := &auth.Identity{Principal: "user:" + id, TokenID: id, Credential: auth.HashOf(id)}
					entry := auth.ChangeBy(by, 1, api.AuditEvent{Type: api.AuditTokenRevoked, TokenID: id})
					revoked[n], failures[n] = s.RevokeToken(t.Context(), id, true, 1, entry)
				})
			}
			var waiting int
			require.Eventually(t, func() bool {
				const blocked = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
				return other.reads.QueryRow(t.Context(), blocked).Scan(&waiting) != nil || waiting == len(ids)
			}, time.Minute, time.Millisecond)
			require.NoError(t, blocking.Rollback(t.Context()))
			group.Wait()
			require.Equal(t, []error{nil, nil}, failures)
			require.ElementsMatch(t, []bool{true, false}, revoked)

			_, err = s.TrimSession(t.Context(), "none", 1, 1)
			require.NoError(t, err)
		})
	}
}
