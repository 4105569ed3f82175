//go:build unix && agents

package sdk

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFaults has the libraries meet replies of intermediaries, lost leases and silent connections.
// The Go client meets them in package client.
func TestFaults(t *testing.T) {
	for library, command := range map[string]func(t *testing.T) (directory string, words []string){
		"node": func(t *testing.T) (string, []string) {
			return nodeScript(t, "faults.mjs"), []string{"node", "faults.mjs"}
		},
		"deno": func(t *testing.T) (string, []string) {
			return nodeScript(t, "faults.mjs"), []string{needDeno(t), "run", "--quiet", "--allow-read", "faults.mjs"}
		},
		"python": func(t *testing.T) (string, []string) { return ".", []string{needPython(t), "-B", "faults.py"} },
	} {
		t.Run(library, func(t *testing.T) {
			directory, words := command(t)
			said, err := run(directory, words[0], words[1:]...)
			require.NoError(t, err)
			require.True(t, strings.HasSuffix(said, " 0 failed\n"), said)
		})
	}
}
