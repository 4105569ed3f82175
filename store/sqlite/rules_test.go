package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/store/storetest"
)

func TestRulesAreLoadedAsTheyAreNeeded(t *testing.T) {
	t.Parallel()
	storetest.RequireRuleLoads(t, &engine{store: openInMemory(t, Options{})})
}

// TestOtherInputsAreSteppedOver looks at the plans: there may be very many rules about
// exact inputs.
func TestOtherInputsAreSteppedOver(t *testing.T) {
	t.Parallel()
	store, err := Open(t.Context(), filepath.Join(t.TempDir(), "holdpoint.db"), Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	c, err := store.writers.take(t.Context())
	require.NoError(t, err)
	defer store.writers.put(c)
	for query, condition := range map[string]string{
		rulesOfAnyInput: "(session_id=? AND input_digest=?)", rulesOfInput: "(session_id=? AND input_digest=?)",
		rulesOfSession: "(session_id=?)", rulesNamed: "(rule_id=?)",
	} {
		rows := storetest.ReadRows(t, c.conn, "EXPLAIN QUERY PLAN "+query, arguments(query)...)
		require.Len(t, rows, 2, query)
		require.Contains(t, rows[1]["detail"], "SEARCH rules USING INDEX", query)
		require.Contains(t, rows[1]["detail"], condition, query)
	}
}
