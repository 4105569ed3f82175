package gate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The script of an interpreter is compared before it runs, whichever options are in front of it.
func TestScriptOf(t *testing.T) {
	t.Parallel()
	cwd := t.TempDir()
	script := filepath.Join(cwd, "run")
	require.NoError(t, os.WriteFile(script, []byte("x"), 0o600))
	for command, found := range map[string]bool{
		"sh run":                   true,
		"sh -e run":                true,
		"bash -ex run":             true,
		"bash -euo pipefail run":   true,
		"bash -x -e -- run":        true,
		"/bin/bash -e ./run a":     true,
		"python3.12 -E run":        true,
		"python -Xtracemalloc run": true,
		"python -Werror -u run":    true,
		"perl -w -Mstrict run":     true,
		"perl -Mre run":            true,
		"ruby -rset run":           true,
		"sudo -u root bash -e run": true,
		"env A=1 python3 run":      true,
		"timeout 5 sh run":         true,
		"sh -c run":                false,
		"bash -ec run":             false,
		"bash -lc run":             false,
		"python -c run":            false,
		"python -Ec run":           false,
		"perl -pe run run":         false,
		"perl -E run":              false,
		"node -e run":              false,
		"php -r run":               false,
		"sudo sh -c run":           false,
		"cat run":                  false,
		"grep sh run":              false,
		"sh missing":               false,
	} {
		want := ""
		if found {
			want = script
		}
		require.Equal(t, want, scriptOf(strings.Fields(command), cwd, ""), command)
	}
}
