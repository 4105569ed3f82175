package serve

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Who reads a key signs as the service, or reads its secrets.
func TestKeysThatEverybodyMayReadAreNamed(t *testing.T) {
	t.Parallel()
	if os.PathSeparator == '\\' {
		return // no such modes
	}
	folder := t.TempDir()
	file := func(name string, mode os.FileMode) string {
		path := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		require.NoError(t, os.Chmod(path, mode))
		return path
	}
	var log bytes.Buffer
	command := &Command{NotifyAfter: time.Second, SecretKeyFile: file("secret-keys", 0o600), TLSKey: file("tls-key", 0o640)}
	command.Database = "sqlite:" + filepath.Join(folder, "holdpoint.db")
	s := &service{Command: command, logger: slog.New(slog.NewTextHandler(&log, nil))}
	s.warnOfSharedKeys()
	require.Empty(t, log.String())
	for path, mode := range map[string]os.FileMode{
		file("holdpoint.db.signing-key", 0o644): 0o644, file("holdpoint.db.push-key", 0o602): 0o602, command.SecretKeyFile: 0o604, command.TLSKey: 0o644,
	} {
		require.NoError(t, os.Chmod(path, mode))
		log.Reset()
		s.warnOfSharedKeys()
		require.Contains(t, log.String(), path+" "+mode.String())
	}
}
