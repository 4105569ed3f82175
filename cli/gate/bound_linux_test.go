package gate

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// What was compared is what runs, even if its name leads elsewhere by the time of the start. The test is not
// parallel: a program that another test starts at the same time could hold the new program open for writing.
func TestReplacedFilesAreNotStarted(t *testing.T) {
	reads, err := exec.LookPath("cat")
	require.NoError(t, err)
	binary, err := os.ReadFile(reads)
	require.NoError(t, err)
	for name, replace := range map[string]func(t *testing.T, program, cwd string){
		"program": func(t *testing.T, program, _ string) {
			require.NoError(t, os.Remove(program))
			require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\necho new\n"), 0o700)) //nolint:gosec // the program is executable
		},
		"directory": func(t *testing.T, _, cwd string) {
			require.NoError(t, os.Rename(cwd, cwd+".old"))
			require.NoError(t, os.Mkdir(cwd, 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(cwd, "file"), []byte("new\n"), 0o600))
		},
	} {
		root, err := filepath.EvalSymlinks(t.TempDir())
		require.NoError(t, err)
		program, cwd := filepath.Join(root, "cat"), filepath.Join(root, "cwd")
		require.NoError(t, os.WriteFile(program, binary, 0o700)) //nolint:gosec // the program is executable
		require.NoError(t, os.Mkdir(cwd, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(cwd, "file"), []byte("old\n"), 0o600))
		argv := []string{program, "file"}
		asked, err := resolve(argv, cwd)
		require.NoError(t, err)
		command, err := bind(plan{argv: argv, cwd: cwd, bound: &asked, sameCwd: true})
		require.NoError(t, err)
		replace(t, program, cwd)
		var out bytes.Buffer
		command.Stdout, command.Stderr = &out, &out
		require.NoError(t, command.Start(), name)
		err = command.Wait()
		command.release()
		require.NoError(t, err, "%s: %s", name, &out)
		require.Equal(t, "old\n", out.String(), name)
	}
}
