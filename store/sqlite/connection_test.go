package sqlite

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReadersKeepFewStatements: a statement has a placeholder per key, and each reader keeps its statements.
func TestReadersKeepFewStatements(t *testing.T) {
	t.Parallel()
	store, err := Open(t.Context(), filepath.Join(t.TempDir(), "holdpoint.db"), Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	var ids []string
	for n := range 300 {
		ids = append(ids, fmt.Sprint("run-", n))
		_, err := store.Owners(t.Context(), ids)
		require.NoError(t, err)
		_, _, err = store.PersonMessages(t.Context(), []string{"mail"}, ids, 1)
		require.NoError(t, err)
	}
	for range cap(store.readers.free) {
		reader, err := store.readers.acquire(t.Context())
		require.NoError(t, err)
		defer store.readers.release(reader)
		require.Less(t, len(reader.statements), 50)
	}
}
