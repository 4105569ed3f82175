//go:build linux || darwin

package gate

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A script that is replaced by a directory or a FIFO is not the approved one, even if the arguments were
// edited. Python runs the file __main__.py of a directory.
func TestEditedArgumentsNameAScriptThatIsNotAFileAnyMore(t *testing.T) {
	t.Parallel()
	for name, replace := range map[string]func(path string) error{
		"directory": func(path string) error { return os.Mkdir(path, 0o700) },
		"FIFO":      func(path string) error { return syscall.Mkfifo(path, 0o600) },
	} {
		cwd := t.TempDir()
		script := filepath.Join(cwd, "deploy.sh")
		require.NoError(t, os.WriteFile(script, []byte("true"), 0o600))
		shown := []string{"sh", "deploy.sh"}
		asked, err := resolve(shown, cwd)
		require.NoError(t, err)
		require.NotNil(t, asked.Script)
		require.NoError(t, os.Remove(script))
		require.NoError(t, replace(script))
		for _, approved := range []plan{
			{argv: shown, cwd: cwd, bound: &asked, sameCwd: true},
			{argv: []string{"sh", "deploy.sh", "--dry-run"}, shown: shown, cwd: cwd, bound: &asked, edited: true, sameCwd: true},
		} {
			_, err = bind(approved)
			require.ErrorAs(t, err, new(*changedError), name)
			require.ErrorContains(t, err, "deploy.sh has gone", name)
		}
	}
}

// What has no digest when exec asks is not recorded, and must not become a script until it starts.
func TestScriptsThatAreNotFiles(t *testing.T) {
	t.Parallel()
	cwd := t.TempDir()
	fifo := filepath.Join(cwd, "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	argv := []string{"sh", "fifo"}
	asked, err := resolve(argv, cwd)
	require.NoError(t, err)
	require.Nil(t, asked.Script)
	require.NoError(t, os.Remove(fifo))
	require.NoError(t, os.WriteFile(fifo, []byte("true"), 0o600))
	_, err = bind(plan{argv: argv, cwd: cwd, bound: &asked, sameCwd: true})
	require.ErrorContains(t, err, "fifo has appeared")
}
