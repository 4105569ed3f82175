package docstest

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/cli"
	"github.com/holdpoint/holdpoint/httpapi/dialects"
)

var (
	flagOfHelp  = regexp.MustCompile(`(?m)^\s+(?:-[a-z], )?--([a-z-]+)`)
	flagOfTable = regexp.MustCompile("(?m)^\\| `--([a-z-]+)` \\|")
	// commandOfHelp finds a line of the overview; an alias stands in parentheses.
	commandOfHelp = regexp.MustCompile(`(?m)^  ([a-z]+(?: [a-z-]+)?)(?: \([a-z-]+\))?(?:  +.*)?$`)
	variable      = regexp.MustCompile(`HOLDPOINT_[A-Z_]+`)
)

// TestFlagsOfServeAreDocumented holds the table in docs/configuration.md equal to
// what "holdpoint serve --help" lists.
func TestFlagsOfServeAreDocumented(t *testing.T) {
	t.Parallel()
	help := helpOf(t, "serve")
	listed := names(flagOfHelp, help)
	listed = slices.DeleteFunc(listed, func(name string) bool { return name == "help" })
	require.NotEmpty(t, listed)

	text := document(t, "docs/configuration.md")
	documented := names(flagOfTable, text)
	require.ElementsMatch(t, listed, documented)
	for _, name := range variable.FindAllString(help, -1) {
		require.Contains(t, text, "`"+name+"`")
	}
}

// TestCommandsAreDocumented looks for every command, every flag that only it has,
// and every exit code in docs/cli.md.
func TestCommandsAreDocumented(t *testing.T) {
	t.Parallel()
	text := document(t, "docs/cli.md")
	overview := helpOf(t)
	_, list, found := strings.Cut(overview, "Commands:")
	require.True(t, found)
	commands := commandOfHelp.FindAllStringSubmatch(list, -1)
	require.Greater(t, len(commands), 20)
	for _, match := range commands {
		command := match[1]
		words := strings.Fields(command)
		if command == "serve" {
			continue // it has a table of its own
		}
		require.Regexp(t, "`(holdpoint )?"+words[0]+`\b`, text, command)
		require.Contains(t, text, words[len(words)-1], command)
		for _, name := range names(flagOfHelp, helpOf(t, words...)) {
			if name == "help" || name == "poll-interval-ms" || command == "config print" {
				continue // config print has the flags of serve
			}
			require.Contains(t, text, "--"+name, "%s has --%s", command, name)
		}
	}
	_, codes, found := strings.Cut(overview, "Exit codes:")
	require.True(t, found)
	codes, _, found = strings.Cut(codes, "Flags:")
	require.True(t, found)
	for _, code := range regexp.MustCompile(`\b\d+\b`).FindAllString(codes, -1) {
		require.Regexp(t, `(?m)^\|[^|]*\b`+code+`\b[^|]*\|`, text, "exit code %s", code)
	}
}

// TestDialectsAreDocumented holds that every dialect that serve can have has a page of its own, its place on the page
// about all faces, and a section of the page that says where holdpoint differs.
func TestDialectsAreDocumented(t *testing.T) {
	t.Parallel()
	faces, divergences := document(t, "docs/faces.md"), document(t, "docs/divergences.md")
	for _, name := range dialects.Names() {
		require.NotEmpty(t, document(t, "docs/"+name+".md"))
		require.Regexp(t, `(?m)^\| \[`+name+`\]\(`+name+`\.md\) \|.*curl `, faces)
		require.Contains(t, divergences, "## Dialect: "+name+"\n")
	}
}

func helpOf(t *testing.T, command ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	nothing := func(string) (string, bool) { return "", false }
	code := cli.Run(t.Context(), append(command, "--help"), nothing, strings.NewReader(""), &stdout, &stderr)
	require.Zero(t, code, "%s", &stderr)
	return stdout.String()
}

func names(pattern *regexp.Regexp, text string) []string {
	var found []string
	for _, match := range pattern.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(found, match[1]) {
			found = append(found, match[1])
		}
	}
	return found
}
