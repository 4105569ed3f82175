//go:build unix

package postgrestest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestASnapshotIsMadeOnceAndAgainWhenItIsDamaged(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	path, cluster := filepath.Join(directory, "postgres-1.tar"), filepath.Join(directory, "cluster")
	require.NoError(t, os.MkdirAll(filepath.Join(cluster, "base", "empty"), 0o700))
	rows := strings.Repeat("row", 100_000)
	require.NoError(t, os.WriteFile(filepath.Join(cluster, "base", "1"), []byte(rows), 0o600))

	made := 0
	take := func(to string) {
		t.Helper()
		require.NoError(t, snapshotted(path, filepath.Join(directory, to), func() error { made++; return pack(cluster, path) }))
		text, err := os.ReadFile(filepath.Join(directory, to, "base", "1"))
		require.NoError(t, err)
		require.Equal(t, rows, string(text))
		require.DirExists(t, filepath.Join(directory, to, "base", "empty"))
	}
	take("first")
	take("second")
	require.Equal(t, 1, made)
	require.NoError(t, os.Truncate(path, 100_000))
	take("third")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	take("fourth")
	take("fifth")
	require.Equal(t, 3, made)

	for _, name := range []string{"2", "3", "4", "5", "6", "7", "8", "9"} {
		require.NoError(t, os.WriteFile(filepath.Join(directory, "postgres-"+name+".tar"), nil, 0o600))
	}
	require.NoError(t, removeOldest(directory))
	kept, err := filepath.Glob(filepath.Join(directory, "postgres-*"))
	require.NoError(t, err)
	require.Len(t, kept, maxSnapshots)
	require.DirExists(t, cluster, "other directories stay")
}
