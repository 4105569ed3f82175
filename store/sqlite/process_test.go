package sqlite

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/runs"
)

func openTestFile(t *testing.T, path string, options Options) *Store {
	t.Helper()
	store, err := Open(t.Context(), path, options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

// startHelper starts another process on the file and returns its first line.
func startHelper(t *testing.T, path string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	helper := exec.Command(os.Args[0])
	helper.Env = append(os.Environ(), helperVariable+"="+path)
	helper.Stderr = os.Stderr
	out, err := helper.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, helper.Start())
	t.Cleanup(func() {
		_ = helper.Process.Kill()
		_ = helper.Wait()
	})
	return helper, bufio.NewScanner(out)
}

func TestOneProcessAFileAndNothingAcknowledgedIsLost(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "holdpoint.db")
	for range 3 {
		helper, lines := startHelper(t, path)
		require.True(t, lines.Scan())
		_, err := Open(t.Context(), path, Options{})
		require.ErrorIs(t, err, ErrInUse)
		require.ErrorContains(t, err, path)
		require.ErrorIs(t, Migrate(t.Context(), path, nil), ErrInUse)

		acknowledged := []string{lines.Text()}
		for range 40 {
			require.True(t, lines.Scan())
			acknowledged = append(acknowledged, lines.Text())
		}
		require.NoError(t, helper.Process.Kill())
		for lines.Scan() {
			acknowledged = append(acknowledged, lines.Text())
		}
		require.Error(t, helper.Wait())

		store := openTestFile(t, path, Options{})
		for _, sessionID := range acknowledged {
			record, err := store.Session(t.Context(), sessionID)
			require.NoError(t, err)
			require.GreaterOrEqual(t, record.Session.QueuedCount, int64(1))
			require.Len(t, record.QueuedRunIDs, int(record.Session.QueuedCount), "a run and its session are written together")
		}
		require.NoError(t, store.Close())
	}
}

func TestOneStoreAFile(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	path := filepath.Join(directory, "holdpoint.db")
	store := openTestFile(t, path, Options{})
	link := filepath.Join(directory, "link.db")
	require.NoError(t, os.Symlink(path, link))
	for _, name := range []string{path, link, filepath.Join(directory, ".", "holdpoint.db")} {
		_, err := Open(t.Context(), name, Options{})
		require.ErrorIs(t, err, ErrInUse, name)
	}
	_, err := store.Do(t.Context(), &runs.CreateSession{SessionID: "s"})
	require.NoError(t, err, "the refused ones took nothing from the first")
	require.NoError(t, store.Close())
	require.NoError(t, store.Close(), "closing twice is harmless")
	again := openTestFile(t, link, Options{})
	_, err = again.Session(t.Context(), "s")
	require.NoError(t, err)
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	text := filepath.Join(directory, "text.db")
	require.NoError(t, os.WriteFile(text, []byte("this is not a database, but a text that is long enough to be checked"), 0o600))
	for name, path := range map[string]string{
		"a directory":              directory,
		"no directory":             filepath.Join(directory, "missing", "holdpoint.db"),
		"a file of something else": text,
	} {
		_, err := Open(t.Context(), path, Options{})
		require.Error(t, err, name)
		require.ErrorContains(t, err, filepath.Base(path), name)
	}
}

func TestDurability(t *testing.T) {
	t.Parallel()
	store := openTestFile(t, filepath.Join(t.TempDir(), "100% odd #name?.db"), Options{})
	write, err := store.writers.acquire(t.Context())
	require.NoError(t, err)
	defer store.writers.release(write)
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1"} {
		var got string
		require.NoError(t, write.conn.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got))
		require.Equal(t, want, got, pragma)
	}
}
