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

func TestDirectoriesThatCannotBeSyncedAreTolerated(t *testing.T) {
	t.Parallel()
	for _, number := range []syscall.Errno{syscall.EINVAL, syscall.ENOTSUP, syscall.EACCES} {
		require.NoError(t, tolerate(&os.PathError{Op: "sync", Path: ".", Err: number}))
	}
	failure := errors.New("the disk is gone")
	require.ErrorIs(t, tolerate(failure), failure)
}
