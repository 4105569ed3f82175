package dirsync

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSync(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	require.NoError(t, Sync(directory))
	require.ErrorIs(t, Sync(filepath.Join(directory, "missing")), fs.ErrNotExist)
}

func TestDisksThatCannotSyncDirectoriesAreTolerated(t *testing.T) {
	t.Parallel()
	for _, number := range []syscall.Errno{syscall.EINVAL, syscall.ENOTSUP} {
		require.NoError(t, tolerate(&os.PathError{Op: "sync", Path: ".", Err: number}))
	}
	failure := errors.New("the disk is gone")
	require.ErrorIs(t, tolerate(failure), failure)
}

// Creating a file takes only the permissions to write and to search.
func TestDirectoriesThatCannotBeReadAreTolerated(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root reads every directory")
	}
	directory := t.TempDir()
	require.NoError(t, os.Chmod(directory, 0o300))
	t.Cleanup(func() { require.NoError(t, os.Chmod(directory, 0o700)) })
	require.NoError(t, os.WriteFile(filepath.Join(directory, "key"), nil, 0o600))
	require.NoError(t, Sync(directory))
}
