package sqlite

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/runs"
)

// It replaces a package variable, so it is not parallel.
func TestReadyNamesWhatIsWrongWithTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.db")
	store, err := Open(t.Context(), path, Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	says := func(detail string) {
		t.Helper()
		err := store.Ready(t.Context())
		var reason *runs.NotReadyError
		require.ErrorAs(t, err, &reason)
		require.ErrorIs(t, err, runs.ErrUnavailable)
		require.Contains(t, reason.Detail, detail)
		require.NotContains(t, reason.Detail, path)
	}
	require.NoError(t, store.Ready(t.Context()))

	require.NoError(t, os.Rename(path, path+".moved"))
	says("gone")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	says("another one")
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.Rename(path+".moved", path))
	require.NoError(t, store.Ready(t.Context()))

	free, readOnly := uint64(leastFree), false
	disk = func(string) (uint64, bool) { return free, readOnly }
	t.Cleanup(func() { disk = diskOf })
	require.NoError(t, store.Ready(t.Context()))
	free--
	says("full")
	free, readOnly = leastFree, true
	says("read-only")
}

// It replaces a package variable, so it is not parallel.
func TestAFileOnAnotherMachineIsNamed(t *testing.T) {
	var log bytes.Buffer
	directory := t.TempDir()
	remoteName = func(asked string) string {
		require.Equal(t, filepath.Base(directory), filepath.Base(asked))
		return "NFS"
	}
	t.Cleanup(func() { remoteName = remoteOf })
	require.NoError(t, openTestFile(t, filepath.Join(directory, "h.db"), Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}).Close())
	require.Contains(t, log.String(), "network file system")
	require.Contains(t, log.String(), "file_system=NFS")
	require.Empty(t, remoteOf("/proc")) // wherever the tests run
}

func TestTheDiskIsAsked(t *testing.T) {
	t.Parallel()
	free, readOnly := diskOf(t.TempDir())
	require.GreaterOrEqual(t, free, uint64(leastFree))
	require.False(t, readOnly)
}
