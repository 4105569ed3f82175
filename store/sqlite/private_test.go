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
	for _, ending := range []string{"", "-wal", "-shm", ".lock"} {
		info, err := os.Stat(path + ending)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), ending)
	}
	require.NoError(t, store.Close())
	require.Empty(t, log.String())

	// Files of an earlier version, or copied there, may be wider; a path may be a link to them.
	link := filepath.Join(t.TempDir(), "link.db")
	require.NoError(t, os.Symlink(path, link))
	for _, wide := range []struct {
		ending string
		mode   os.FileMode
	}{{"", 0o644}, {".lock", 0o660}} {
		log.Reset()
		require.NoError(t, os.Chmod(path+wide.ending, wide.mode))
		require.NoError(t, openTestFile(t, link, options).Close())
		require.NoError(t, os.Chmod(path+wide.ending, 0o600))
		require.Equal(t, 1, strings.Count(log.String(), "other users of this machine"), log.String())
		require.Contains(t, log.String(), path+wide.ending+" "+wide.mode.String())
	}
	log.Reset()
	require.NoError(t, openTestFile(t, path, options).Close())
	require.Empty(t, log.String())
}
