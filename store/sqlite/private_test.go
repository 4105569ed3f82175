package sqlite

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFilesAreTheirOwnersAlone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "holdpoint.db")
	var log bytes.Buffer
	options := Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}
	store := openTestFile(t, path, options)
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(path + suffix)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), suffix)
	}
	require.NoError(t, store.Close())
	require.Empty(t, log.String())

	require.NoError(t, os.Chmod(path, 0o644))
	require.NoError(t, openTestFile(t, path, options).Close())
	require.Equal(t, 1, strings.Count(log.String(), "other users of this machine"), log.String())
}
