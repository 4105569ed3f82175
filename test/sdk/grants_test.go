//go:build unix && agents

package sdk

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/test/rig"
)

// TestGrants: each library says of each vector what the Go one does (client, TestGrantVectors and TestAnswerVectors),
// verifies and redeems a grant of the real service, and opens a stream by a ticket.
func TestGrants(t *testing.T) {
	vectors := filepath.Join(repository(), "docs/spec/grant-vectors.json")
	for library, command := range map[string]func(t *testing.T) (directory string, words []string){
		"node": func(t *testing.T) (string, []string) {
			return nodeScript(t, "grants.mjs"), []string{"node", "grants.mjs"}
		},
		"deno": func(t *testing.T) (string, []string) {
			return nodeScript(t, "grants.mjs"), []string{needDeno(t), "run", "--quiet", "--allow-net", "--allow-env", "--allow-read", "grants.mjs"}
		},
		"python": func(t *testing.T) (string, []string) {
			python := rig.Need(t, "python3")
			if exec.Command(python, "-c", "import cryptography").Run() != nil {
				rig.Missing(t, "the Python package cryptography")
			}
			t.Setenv("PYTHONPATH", filepath.Join(repository(), "sdk/python/src"))
			return ".", []string{python, "-B", "grants.py"}
		},
	} {
		t.Run(library, func(t *testing.T) {
			directory, words := command(t)
			service := rig.Start(t, rig.Options{Database: rig.SQLite(t)})
			service.ConnectPatiently()
			said, err := run(directory, words[0], append(words[1:], vectors, service.URL())...)
			require.NoError(t, err)
			require.Contains(t, strings.TrimSpace(said), " 0 failed")
		})
	}
}
