package lanes

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

type work struct{ Item }

// arrivals is an intake with a clock of its own.
type arrivals struct {
	intake[*work]
	clock time.Time
}

func (a *arrivals) arrive(caller string, items, rows int) {
	for range items {
		a.push(&work{Item{Caller: caller, Size: Size{Rows: rows}}})
	}
}

// batch returns the callers of the next batch.
func (a *arrivals) batch() (callers []string) {
	a.begin(a.clock)
	for q := a.next(); q != nil; q = a.next() {
		callers = append(callers, q.caller)
		a.pop(q)
	}
	return callers
}

// However much one caller sends, the next batch has calls of the other callers, and a share of each.
func TestABatchHasAShareOfEachCaller(t *testing.T) {
	t.Parallel()
	a := arrivals{clock: time.UnixMilli(1)}
	a.arrive("greedy", 100, 1)
	a.arrive("other", 3, 1)
	require.Equal(t, append([]string{"greedy", "other", "greedy", "other", "greedy", "other"}, slices.Repeat([]string{"greedy"}, share-3)...), a.batch(),
		"it is not alone once the others are served")
	a.arrive("late", 1, 1)
	require.Equal(t, append([]string{"late"}, slices.Repeat([]string{"greedy"}, share)...), a.batch(), "who was idle has saved up nothing, and waits for nobody's backlog")
	a.clock = a.clock.Add(sharedFor)
	require.Len(t, a.batch(), 100-2*share, "a caller that is alone has all of it")
	require.Empty(t, a.callers)
}

// A call that costs more than a share delays the batch in flight, and no other one.
func TestALargeCallIsTheFirstOfABatch(t *testing.T) {
	t.Parallel()
	a := arrivals{clock: time.UnixMilli(1)}
	a.arrive("greedy", 2, 100)
	require.Equal(t, []string{"greedy", "greedy"}, a.batch(), "nobody else is there")
	a.arrive("greedy", 4, 100)
	a.arrive("large", 1, 100)
	a.arrive("small", 2, 1)
	require.Equal(t, []string{"greedy", "small", "small"}, a.batch(), "all have used the same")
	require.Equal(t, []string{"large"}, a.batch())
	a.arrive("small", 1, 1)
	require.Equal(t, []string{"small"}, a.batch())
	require.Equal(t, []string{"greedy"}, a.batch(), "another caller may arrive at any moment")
	a.clock = a.clock.Add(sharedFor)
	require.Equal(t, []string{"greedy", "greedy"}, a.batch())
}
