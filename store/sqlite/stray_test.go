package sqlite

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A copy that is put into the place of a database without moving its log away, and a log whose database was moved alone.
func TestALogOfAnotherDatabaseIsLeftAlone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "holdpoint.db")
	copied, moved := path+".copy", path+".moved"
	helper, lines := startHelper(t, path)
	for range 5 {
		require.True(t, lines.Scan())
	}
	_, err := Backup(t.Context(), path, copied)
	require.NoError(t, err)
	require.True(t, lines.Scan())
	newest := lines.Text()
	require.NoError(t, helper.Process.Kill())
	for lines.Scan() {
		newest = lines.Text()
	}
	require.Error(t, helper.Wait())

	require.NoError(t, os.Rename(path, moved))
	log, err := os.ReadFile(path + "-wal")
	require.NoError(t, err)
	require.NotEmpty(t, log)
	refused := func() {
		t.Helper()
		_, err := Open(t.Context(), path, Options{})
		require.ErrorContains(t, err, path+"-wal is of another database")
		require.ErrorContains(t, Migrate(t.Context(), path, nil), path+"-wal is of another database")
		_, err = OpenInspector(t.Context(), path)
		require.ErrorContains(t, err, path+"-wal is of another database")
		require.NoError(t, os.Symlink(path, path+".link"))
		_, err = Backup(t.Context(), path+".link", path+".second")
		require.ErrorContains(t, err, path+"-wal is of another database")
		require.NoError(t, os.Remove(path+".link"))
		same, err := os.ReadFile(path + "-wal")
		require.NoError(t, err)
		require.Equal(t, log, same)
	}
	refused()
	require.NoError(t, os.Rename(copied, path))
	refused()

	for _, ending := range []string{"-wal", "-shm"} {
		require.NoError(t, os.Rename(path+ending, moved+ending))
	}
	require.NoError(t, openTestFile(t, path, Options{}).Close())
	_, err = openTestFile(t, moved, Options{}).Session(t.Context(), newest)
	require.NoError(t, err)
}

// A power cut in the middle of a checkpoint may damage the first page. The log has it.
func TestALogRepairsTheHeaderOfItsDatabase(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "holdpoint.db")
	helper, lines := startHelper(t, path)
	require.True(t, lines.Scan())
	first := lines.Text()
	require.NoError(t, helper.Process.Kill())
	require.Error(t, helper.Wait())
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = file.WriteAt(make([]byte, 512), 0)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	_, err = openTestFile(t, path, Options{}).Session(t.Context(), first)
	require.NoError(t, err)
}
