//go:build unix && faults

package linearizability

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/holdpoint/holdpoint/test/rig"
)

// verdict is the checker's result for the histories of all runs.
type verdict struct {
	// wrong are the runs whose calls no order explains; undecided are the runs for which
	// the checker ran out of time.
	wrong, undecided []string
}

// check looks at each run's calls by themselves.
func check(histories map[string][]porcupine.Operation) verdict {
	var mu sync.Mutex
	var found verdict
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, runID := range slices.Sorted(maps.Keys(histories)) {
		group.Go(func() error {
			result := porcupine.CheckOperationsTimeout(approvals(), histories[runID], 5*rig.Patience)
			mu.Lock()
			defer mu.Unlock()
			switch result {
			case porcupine.Illegal:
				found.wrong = append(found.wrong, runID)
			case porcupine.Unknown:
				found.undecided = append(found.undecided, runID)
			case porcupine.Ok:
			}
			return nil
		})
	}
	_ = group.Wait() // it has no errors
	slices.Sort(found.wrong)
	slices.Sort(found.undecided)
	return found
}

// requireLinearizable fails with a page for each of the first runs that are wrong.
func requireLinearizable(tb testing.TB, histories map[string][]porcupine.Operation) {
	tb.Helper()
	found := check(histories)
	for _, runID := range found.wrong[:min(3, len(found.wrong))] {
		tb.Errorf("the calls on %s have no order that explains their answers; see %s", runID, picture(tb, runID, histories[runID]))
	}
	require.Empty(tb, found.wrong)
	require.Empty(tb, found.undecided, "the checker did not come to an end on these in %s", 5*rig.Patience)
}

// picture writes a page with a diagram and a list of a run's calls, and returns its path.
// The page outlives the test.
func picture(tb testing.TB, runID string, calls []porcupine.Operation) string {
	tb.Helper()
	_, info := porcupine.CheckOperationsVerbose(approvals(), calls, 5*rig.Patience)
	directory, err := os.MkdirTemp("", "holdpoint-linearizability-") //nolint:usetesting // It is looked at after the test.
	require.NoError(tb, err)
	path := filepath.Join(directory, runID+".html")
	require.NoError(tb, porcupine.VisualizePath(approvals(), info, path))
	require.NoError(tb, os.WriteFile(filepath.Join(directory, runID+".txt"), []byte(list(calls)), 0o600))
	return path
}

// list describes calls in the order in which they were made.
func list(calls []porcupine.Operation) string {
	calls = slices.SortedFunc(slices.Values(calls), func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	var text strings.Builder
	for _, call := range calls {
		fmt.Fprintln(&text, describeCall(call.Input.(input), call.Output.(output)))
	}
	return text.String()
}
