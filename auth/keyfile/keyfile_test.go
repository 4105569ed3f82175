package keyfile

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A power cut keeps the name of a new file only if its directory was synced.
func TestTheDirectoryOfAKeyFileReachesTheDisk(t *testing.T) {
	sync := syncDirectory
	t.Cleanup(func() { syncDirectory = sync })
	path := filepath.Join(t.TempDir(), "key")
	var synced []string
	syncDirectory = func(directory string) error {
		require.FileExists(t, path, "there is nothing to sync before")
		synced = append(synced, directory)
		return sync(directory)
	}
	require.NoError(t, Create(path, []byte("first")))
	require.Equal(t, []string{filepath.Dir(path)}, synced)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())

	// The process that created it at the same time may not have come to that yet.
	require.NoError(t, Create(path, []byte("second")))
	require.Len(t, synced, 2)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "first", string(text))

	failure := errors.New("the disk is gone")
	syncDirectory = func(string) error { return failure }
	require.ErrorIs(t, Create(path, []byte("third")), failure)
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, entries, 1)
}
