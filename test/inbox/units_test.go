//go:build unix

package inbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/test/rig"
)

// TestUnits runs the tests of single modules of the page, in units, with Node.
func TestUnits(t *testing.T) {
	t.Parallel()
	node := rig.Need(t, "node")
	assets := t.TempDir()
	require.NoError(t, os.CopyFS(assets, os.DirFS(filepath.Join("..", "..", "web", "assets"))))
	// Node loads the page's files as modules.
	require.NoError(t, os.WriteFile(filepath.Join(assets, "package.json"), []byte(`{"type":"module"}`), 0o600))
	tests, err := filepath.Glob("units/*.test.mjs")
	require.NoError(t, err)
	require.NotEmpty(t, tests)
	command := exec.CommandContext(t.Context(), node, append([]string{"--test"}, tests...)...)
	command.Env = append(os.Environ(), "HOLDPOINT_ASSETS="+assets)
	output, err := command.CombinedOutput()
	require.NoError(t, err, "%s", output)
}
