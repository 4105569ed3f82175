package docstest

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
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
		documented = append(documented, wire.CodeInfo{Code: api.Code(row[1]), Status: status, Domain: row[3]})
	}
	require.NotEmpty(t, documented)
	require.Empty(t, cmp.Diff(wire.Codes(), documented), "docs/errors.md (+) is not the table of httpapi/wire (-)")
}

var (
	drawing = regexp.MustCompile("(?s)```mermaid\nstateDiagram-v2\n(.*?)```")
	edge    = regexp.MustCompile(`(?m)^\s+([a-z_]+) --> ([a-z_]+)(?: *:.*)?$`)
	begins  = regexp.MustCompile(`(?m)^\s+\[\*\] --> ([a-z_]+)`)
	ends    = regexp.MustCompile(`(?m)^\s+([a-z_]+) --> \[\*\]$`)
)

// TestStateMachineIsDrawn holds the drawings in docs/architecture.md, one for each
// kind of run, equal to the legal moves, all pairs of statuses.
func TestStateMachineIsDrawn(t *testing.T) {
	t.Parallel()
	drawings := drawing.FindAllStringSubmatch(document(t, "docs/architecture.md"), -1)
	kinds := []struct {
		kind   api.RunKind
		begins api.Status
	}{
		{api.KindInput, api.StatusQueued},
		{api.KindParentClarification, api.StatusWaitingForUserQuestion},
	}
	require.Len(t, drawings, len(kinds))
	for i, of := range kinds {
		text := drawings[i][1]
		drawn := map[string]bool{}
		for _, move := range edge.FindAllStringSubmatch(text, -1) {
			drawn[move[1]+" --> "+move[2]] = true
		}
		legal, over := map[string]bool{}, []string{}
		reached := map[api.Status]bool{}
		for _, from := range api.Statuses {
			for _, to := range api.Statuses {
				if runs.CanMove(of.kind, from, to) {
					legal[fmt.Sprintf("%s --> %s", from, to)] = true
					reached[to] = true
				}
			}
		}
		for status := range reached {
			if model.Terminal(status) {
				over = append(over, string(status))
			}
		}
		require.NotEmpty(t, legal)
		require.Empty(t, cmp.Diff(legal, drawn), "docs/architecture.md (+) does not draw the legal moves of kind %s (-)", of.kind)
		require.Equal(t, []string{string(of.begins)}, names(begins, text), "where a run of kind %s begins", of.kind)
		require.ElementsMatch(t, over, names(ends, text), "where a run of kind %s ends", of.kind)
	}
}

func document(t *testing.T, name string) string {
	t.Helper()
	return read(t, filepath.Join(root, name))
}
