package sqlite

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A hard link, or a file that is mounted alone, has no lock file in common with the other name, and a log of its own.
func TestOneProcessAFileByEachOfItsNames(t *testing.T) {
	t.Parallel()
	path, link := filepath.Join(t.TempDir(), "holdpoint.db"), filepath.Join(t.TempDir(), "other.db")
	helper, lines := startHelper(t, path)
	require.True(t, lines.Scan())
	require.NoError(t, os.Link(path, link))
	for range 2 {
		_, err := Open(t.Context(), link, Options{})
		require.ErrorIs(t, err, ErrInUse)
		require.ErrorContains(t, err, link+", by another name")
		require.ErrorIs(t, Migrate(t.Context(), link, nil), ErrInUse)
	}
	// A copy by the other name would lack the newest decisions, also where an earlier reader left its empty log.
	require.NoError(t, os.WriteFile(link+"-wal", nil, 0o600))
	_, err := Backup(t.Context(), link, link+".copy")
	require.ErrorContains(t, err, link+" is in use by another name")
	_, err = OpenInspector(t.Context(), link)
	require.ErrorContains(t, err, link+" is in use by another name")
	_, err = Backup(t.Context(), path, path+".copy")
	require.NoError(t, err)
	inspector, err := OpenInspector(t.Context(), path)
	require.NoError(t, err)
	require.NoError(t, inspector.Close())
	require.NoError(t, helper.Process.Kill())
	require.Error(t, helper.Wait())
	require.NoError(t, openTestFile(t, path, Options{}).Close(), "the process that died let go of it, and so did the refused ones")
	require.NoError(t, openTestFile(t, link, Options{}).Close())
}

// Only its owner may open a lock file, so somebody else who may read the database is not refused.
func TestALockThatCannotBeReadMayBeThisName(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "holdpoint.db.lock")
	require.False(t, mayBeLocked(path), "there is none")
	require.NoError(t, os.Symlink(filepath.Base(path), path)) // as for root, whom no mode keeps out
	require.True(t, mayBeLocked(path))
}
