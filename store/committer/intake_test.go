package committer

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/runs"
)

// However much one caller sends, the next batch has calls of the other callers, and only a share of
// the large ones.
func TestABatchHasAShareOfEachCaller(t *testing.T) {
	t.Parallel()
	var i intake
	arrive := func(caller string, rows int) {
		i.push(&call{caller: caller, size: runs.Size{Rows: rows}})
	}
	batch := func() (callers []string) {
		i.begin()
		for q := i.next(); q != nil; q = i.next() {
			callers = append(callers, q.calls[0].caller)
			i.pop(q)
		}
		return callers
	}
	for range 10 {
		arrive("greedy", 40)
	}
	require.Len(t, batch(), 10, "a caller that is alone has all of it")
	for range 10 {
		arrive("greedy", 40)
	}
	for range 3 {
		arrive("other", 1)
	}
	require.Equal(t, []string{"greedy", "other", "other", "other", "greedy", "greedy", "greedy", "greedy", "greedy", "greedy", "greedy", "greedy", "greedy"}, batch(),
		"once it is alone again, it has the rest")
	require.Zero(t, i.calls)
	require.Empty(t, i.callers)
	for range 4 {
		arrive("greedy", 100)
		arrive("large", 100)
	}
	require.Equal(t, []string{"greedy", "large"}, batch(), "one call of each at least")
	require.Equal(t, []string{"greedy", "large"}, batch())
	arrive("late", 1)
	require.Equal(t, []string{"late", "greedy", "large"}, batch(), "who was idle has saved up nothing, and waits for nobody's backlog")
}
