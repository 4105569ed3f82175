package postgres

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/audit/journal"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
)

// addAdmins adds tokens of admins. The secret of each is its id.
func addAdmins(t *testing.T, s *Store, ids ...string) {
	t.Helper()
	for _, id := range ids {
		_, err := s.AddToken(t.Context(), &auth.Token{
			TokenID: id, Name: id, Role: api.RoleAdmin, Principal: "user:" + id, SecretHash: auth.HashOf(id), CreatedAtMs: 1, CreatedBy: "user:ada",
		}, nil)
		require.NoError(t, err)
	}
}

// changeBy is an entry for a change of a token by an admin of addAdmins.
func changeBy(id string, what api.AuditEventType, tokenID string) *journal.Entry {
	by := &auth.Identity{Principal: "user:" + id, TokenID: id, Credential: auth.HashOf(id)}
	return auth.ChangeBy(by, 1, api.AuditEvent{Type: what, TokenID: tokenID})
}

// awaitBlocked waits until this many connections to the database wait for a lock.
func awaitBlocked(t *testing.T, s *Store, count int) {
	t.Helper()
	const blocked = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
	require.Eventually(t, func() bool {
		var waiting int
		return s.reads.QueryRow(t.Context(), blocked).Scan(&waiting) == nil && waiting == count
	}, time.Minute, time.Millisecond)
}

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
			addAdmins(t, s, ids...)
			blocking, err := other.reads.Begin(t.Context())
			require.NoError(t, err)
			_, err = blocking.Exec(t.Context(), sqlLockRevokeToken)
			require.NoError(t, err)
			revoked, failures := make([]bool, len(ids)), make([]error, len(ids))
			var group sync.WaitGroup
			for n, id := range ids {
				group.Go(func() {
					revoked[n], failures[n] = s.RevokeToken(t.Context(), id, true, 1, changeBy(id, api.AuditTokenRevoked, id))
				})
			}
			awaitBlocked(t, other, len(ids))
			require.NoError(t, blocking.Rollback(t.Context()))
			group.Wait()
			require.Equal(t, []error{nil, nil}, failures)
			require.ElementsMatch(t, []bool{true, false}, revoked)

			_, err = s.TrimSession(t.Context(), "none", 1, 1)
			require.NoError(t, err)
		})
	}
}

// A rotation deletes an expired sign-in that a sign-in with the token of its caller also deletes.
func TestARotationAndASignInOfItsCallerDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	s := open(t, postgrestest.URL(t), Options{NoListen: true})
	addAdmins(t, s, "rotated", "caller")
	expired := auth.HashOf("expired")
	require.NoError(t, s.AddSignIn(t.Context(), &auth.SignIn{CookieHash: expired, TokenID: "rotated", CreatedAtMs: 1, ExpiresAtMs: 2}, "", nil))
	blocking, err := s.reads.Begin(t.Context())
	require.NoError(t, err)
	_, err = blocking.Exec(t.Context(), `SELECT FROM sign_ins WHERE cookie_hash = $1 FOR UPDATE`, expired)
	require.NoError(t, err)
	var rotation, signIn error
	var group sync.WaitGroup
	group.Go(func() {
		_, rotation = s.RotateToken(t.Context(), "rotated", auth.HashOf("second"), "hint", 3, 3, changeBy("caller", api.AuditTokenRotated, "rotated"))
	})
	awaitBlocked(t, s, 1)
	group.Go(func() {
		signIn = s.AddSignIn(t.Context(), &auth.SignIn{CookieHash: auth.HashOf("new"), TokenID: "caller", CreatedAtMs: 3, ExpiresAtMs: 4}, "", nil)
	})
	awaitBlocked(t, s, 2)
	require.NoError(t, blocking.Rollback(t.Context()))
	group.Wait()
	require.NoError(t, rotation)
	require.NoError(t, signIn)
}
