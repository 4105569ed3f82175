package database

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/store"
)

type stateError string

func (s stateError) Error() string    { return "refused" }
func (s stateError) SQLState() string { return string(s) }

func TestStartErrorsSayWhatToDo(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]string{
		stateError("42501"): "GRANT CREATE, USAGE ON SCHEMA public",
		stateError("3D000"): "createdb",
		stateError("28P01"): "pg_hba.conf",
		stateError("25006"): "target_session_attrs=read-write",
		fs.ErrPermission:    "its directory",
		syscall.EROFS:       "its directory",
	} {
		wrapped := fmt.Errorf("migrate up: %w", err)
		explained := Flag{}.explain(wrapped)
		require.ErrorIs(t, explained, err)
		require.ErrorContains(t, explained, want)
	}
	path := filepath.Join(t.TempDir(), "holdpoint.db")
	require.NoError(t, os.Mkdir(path+".lock", 0o700))
	_, err := Flag{Database: "sqlite:" + path}.Open(t.Context(), store.Options{})
	require.ErrorContains(t, err, "its directory, where SQLite creates more files")
	path = filepath.Join(t.TempDir(), "holdpoint.db")
	require.NoError(t, os.WriteFile(path, bytes.Repeat([]byte("no database"), 1000), 0o600))
	_, err = Flag{Database: "sqlite:" + path}.Open(t.Context(), store.Options{})
	require.ErrorContains(t, err, "restore a backup")
	for _, err := range []error{stateError("XX000"), errors.New("other")} {
		require.Equal(t, err, Flag{}.explain(err))
	}
}
