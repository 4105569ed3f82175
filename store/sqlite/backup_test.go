package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Disks without hard links, such as exFAT, refuse link(2) with EPERM.
func TestBackupToADiskWithoutHardLinks(t *testing.T) {
	hard := link
	t.Cleanup(func() { link = hard })
	path := filepath.Join(t.TempDir(), "holdpoint.db")
	require.NoError(t, openTestFile(t, path, Options{}).Close())
	for _, refusal := range []error{syscall.EPERM, syscall.ENOTSUP} {
		link = func(from, to string) error {
			return &os.LinkError{Op: "link", Old: from, New: to, Err: refusal}
		}
		directory := t.TempDir()
		to := filepath.Join(directory, "copy.db")
		bytes, err := Backup(t.Context(), path, to)
		require.NoError(t, err)
		info, err := os.Stat(to)
		require.NoError(t, err)
		require.Equal(t, info.Size(), bytes)
		require.Equal(t, os.FileMode(0o600), info.Mode())
		require.NoError(t, openTestFile(t, to, Options{}).Close())

		// A file that appears meanwhile is kept.
		other := filepath.Join(directory, "other.db")
		link = func(from, to string) error {
			require.NoError(t, os.WriteFile(to, []byte("kept"), 0o600))
			return &os.LinkError{Op: "link", Old: from, New: to, Err: refusal}
		}
		_, err = Backup(t.Context(), path, other)
		require.ErrorIs(t, err, fs.ErrExist)
		text, err := os.ReadFile(other)
		require.NoError(t, err)
		require.Equal(t, "kept", string(text))
		require.Empty(t, UnfinishedBackups(other))
	}

	link = func(string, string) error { return errors.New("the disk is gone") }
	_, err := Backup(t.Context(), path, filepath.Join(t.TempDir(), "none.db"))
	require.ErrorContains(t, err, "the disk is gone")
}

// A copy that fills the disk would keep the service from recording decisions. The test replaces a package variable, so it is not
// parallel.
func TestBackupLeavesRoomOnTheDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "holdpoint.db")
	require.NoError(t, openTestFile(t, path, Options{}).Close())
	info, err := os.Stat(path)
	require.NoError(t, err)
	free := uint64(info.Size()) + leastFree - 1
	disk = func(string) (uint64, bool) { return free, false }
	t.Cleanup(func() { disk = diskOf })
	to := filepath.Join(t.TempDir(), "copy.db")
	_, err = Backup(t.Context(), path, to)
	require.ErrorContains(t, err, "MB free")
	require.NoFileExists(t, to)
	require.Empty(t, UnfinishedBackups(to))
	free++
	_, err = Backup(t.Context(), path, to)
	require.NoError(t, err)
}

// The name that a failed move has claimed is free again.
func TestAClaimedNameIsGivenUp(t *testing.T) {
	hard := link
	t.Cleanup(func() { link = hard })
	link = func(string, string) error { return syscall.EPERM }
	directory := t.TempDir()
	to := filepath.Join(directory, "copy.db")
	require.ErrorIs(t, place(filepath.Join(directory, "missing"), to), fs.ErrNotExist)
	require.NoFileExists(t, to)
}
