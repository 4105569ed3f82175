package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/cli/serve"
)

// commandsOf returns the words of every command that can be run.
func commandsOf(node *kong.Node, path []string) (all []string) {
	for _, child := range node.Children {
		if child.Hidden {
			continue
		}
		words := append(slices.Clone(path), child.Name)
		if child.Leaf() {
			all = append(all, strings.Join(words, " "))
		}
		all = append(all, commandsOf(child, words)...)
	}
	return all
}

func parserOf(t *testing.T) *kong.Kong {
	t.Helper()
	parser, err := kong.New(&program{}, serve.Vars(), kong.Exit(func(int) {}))
	require.NoError(t, err)
	return parser
}

// Every command has examples, and every example is run, so that none fails when copied.
func TestExamplesAreRun(t *testing.T) {
	t.Parallel()
	commands := commandsOf(parserOf(t).Model.Node, nil)
	var given []string
	for command := range examples {
		given = append(given, command)
	}
	require.ElementsMatch(t, commands, given, "each command has examples")

	scripts, err := filepath.Glob("testdata/script/*.txtar")
	require.NoError(t, err)
	run := map[string]bool{}
	for _, script := range scripts {
		text, err := os.ReadFile(script)
		require.NoError(t, err)
		for _, line := range regexp.MustCompile(`(?m)^(?:exec|exits 0|start \S+(?: <\S+)?) (holdpoint .*)$`).FindAllStringSubmatch(string(text), -1) {
			run[line[1]] = true
		}
	}
	page, err := os.ReadFile("../docs/cli.md")
	require.NoError(t, err)
	shown := map[string]bool{}
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		for line := range strings.Lines(block[1]) {
			shown[strings.TrimSpace(line)] = true
		}
	}
	hooks, err := os.ReadFile("../docs/webhooks.md")
	require.NoError(t, err)
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(hooks), -1) {
		for line := range strings.Lines(block[1]) {
			require.True(t, run[strings.TrimSpace(line)], "docs/webhooks.md shows what no script runs: %s", line)
		}
	}
	for line := range shown {
		require.True(t, run[line], "docs/cli.md shows what no script runs: %s", line)
	}
	for _, lines := range examples {
		for _, line := range lines {
			require.True(t, run[line], "no script runs: %s", line)
			require.True(t, shown[line], "docs/cli.md does not show: %s", line)
		}
	}
}

// The same thing has the same flag name in every command.
func TestFlagsHaveOneName(t *testing.T) {
	t.Parallel()
	// Names to avoid for a session, an agent, a server.
	others := map[string]string{
		"session": "session-id", "agent": "agent-id", "run": "run-id", "url": "server", "as": "actor", "token-from": "token-file",
		"count": "limit", "max": "limit", "output": "json", "format": "json", "force-yes": "yes", "db": "database",
	}
	var look func(node *kong.Node)
	look = func(node *kong.Node) {
		for _, flag := range node.Flags {
			require.NotContains(t, others, flag.Name, "%s: say --%s", node.Path(), others[flag.Name])
		}
		for _, child := range node.Children {
			look(child)
		}
	}
	look(parserOf(t).Model.Node)
}

// Every command with flags for the service's address also has the flags for TLS.
func TestEveryCommandThatCallsTakesCertificates(t *testing.T) {
	t.Parallel()
	calling := 0
	var look func(node *kong.Node)
	look = func(node *kong.Node) {
		for _, child := range node.Children {
			has := map[string]bool{}
			for _, flag := range slices.Concat(child.AllFlags(true)...) {
				has[flag.Name] = true
			}
			if child.Leaf() && (has["server"] || has["keys"]) {
				calling++
				for _, flag := range []string{"ca", "client-cert", "client-key"} {
					require.True(t, has[flag], "%s has no --%s", child.Path(), flag)
				}
			}
			look(child)
		}
	}
	look(parserOf(t).Model.Node)
	require.Greater(t, calling, 40)
}

// Every command has --json, except those that print another program's output, speak their
// own protocol, or ask a person.
func TestEveryCommandPrintsJSON(t *testing.T) {
	t.Parallel()
	others := []string{"demo", "serve", "config print", "exec", "mcp", "hook run", "hook resume", "approvals review", "audit export", "completion", "man"}
	var look func(node *kong.Node, path []string)
	look = func(node *kong.Node, path []string) {
		for _, child := range node.Children {
			words := append(slices.Clone(path), child.Name)
			if child.Leaf() && !child.Hidden {
				flags := slices.Concat(child.AllFlags(true)...)
				has := slices.ContainsFunc(flags, func(flag *kong.Flag) bool { return flag.Name == "json" })
				command := strings.Join(words, " ")
				require.Equal(t, !slices.Contains(others, command), has, command)
			}
			look(child, words)
		}
	}
	look(parserOf(t).Model.Node, nil)
}
