package docstest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
)

// root is the directory of the tree, seen from here.
const root = "../.."

var codeRow = regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| (\\d+) \\| ([a-z]+) \\| ([^|]+) \\| ([^|]+) \\|$")

// TestErrorsAreDocumented holds docs/errors.md equal to the table of codes, line by
// line and in the same order.
func TestErrorsAreDocumented(t *testing.T) {
	t.Parallel()
	var documented []wire.CodeInfo
	for _, row := range codeRow.FindAllStringSubmatch(document(t, "docs/errors.md"), -1) {
		status, err := strconv.Atoi(row[2])
		require.NoError(t, err)
		documented = append(documented, wire.CodeInfo{Code: runs.Code(row[1]), Status: status, Domain: row[3]})
	}
	require.NotEmpty(t, documented)
	require.Empty(t, cmp.Diff(wire.Codes(), documented), "docs/errors.md (+) is not the table of httpapi/wire (-)")
}

// TestStateMachineIsDrawn holds the drawing in docs/architecture.md equal to the
// legal moves, all pairs of statuses.
func TestStateMachineIsDrawn(t *testing.T) {
	t.Parallel()
	text := document(t, "docs/architecture.md")
	drawn := map[string]bool{}
	for _, edge := range regexp.MustCompile(`(?m)^\s+([a-z_]+) --> ([a-z_]+)(?: *:.*)?$`).FindAllStringSubmatch(text, -1) {
		drawn[edge[1]+" --> "+edge[2]] = true
	}
	legal := map[string]bool{}
	for _, from := range runs.Statuses {
		for _, to := range runs.Statuses {
			if runs.CanMove(from, to) {
				legal[fmt.Sprintf("%s --> %s", from, to)] = true
			}
		}
	}
	require.NotEmpty(t, legal)
	require.Empty(t, cmp.Diff(legal, drawn), "docs/architecture.md (+) does not draw the legal moves (-)")
}

var link = regexp.MustCompile(`\]\(([^)#\s]+)(?:#[^)]*)?\)`)

// TestLinksLeadSomewhere follows every link from a document to a file of the tree.
func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	for _, file := range documents(t) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, match := range link.FindAllStringSubmatch(string(text), -1) {
			if regexp.MustCompile(`^[a-z]+:`).MatchString(match[1]) {
				continue // to the world outside
			}
			_, err := os.Stat(filepath.Join(filepath.Dir(file), match[1]))
			require.NoError(t, err, "%s links %s", file, match[1])
		}
	}
}

func document(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	require.NoError(t, err)
	return string(text)
}
