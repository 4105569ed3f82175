package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// There may be very many rules that may not be deleted, and every decision needs the write connection.
func TestRulesThatStayAreReadWithoutTheWriteConnection(t *testing.T) {
	t.Parallel()
	store, err := Open(t.Context(), filepath.Join(t.TempDir(), "holdpoint.db"), Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	write, err := store.writers.acquire(t.Context())
	require.NoError(t, err)
	const many = 2*oldRulesPage + 5
	_, err = write.exec(t.Context(), `
WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < $1)
INSERT INTO rules (session_id, rule_id, effect, created_by, created_at_ms, uses, text, match)
SELECT '*', 'rule-' || n, 'allow', 'ada', n / 3, 0, 'Allow it.', '{"any_input":true}' FROM n`, many)
	require.NoError(t, err)
	sweep := func(limit int) int {
		swept, err := store.SweepRules(t.Context(), 10_000, limit)
		require.NoError(t, err)
		return swept
	}
	// The write connection is in use.
	require.Zero(t, sweep(100))
	_, err = write.exec(t.Context(), `UPDATE rules SET revoked_at_ms = 9999, revoked_by = 'ada' WHERE created_at_ms IN (2, $1 / 3)`, many)
	require.NoError(t, err)
	store.writers.release(write)
	require.Equal(t, 3, sweep(3))
	require.Equal(t, 1, sweep(3))
	require.Zero(t, sweep(3))
}
