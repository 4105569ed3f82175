package wire

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A budget of stored bytes refills over a day, each principal has its own, and bytes that were not
// stored are returned.
func TestStoredBytesHaveADailyBudget(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	s := NewStored(Quota{Stored: 2_400}, func() time.Time { return now })
	take := func(principal string, bytes int64) (func(), error) { return s.Take(principal, false, bytes, false) }
	refused := func(principal string, bytes int64, after time.Duration) {
		t.Helper()
		_, err := take(principal, bytes)
		later := (*laterError)(nil)
		require.ErrorAs(t, err, &later)
		require.Equal(t, CodeTooManyStoredBytes, ProblemOf(err).Code)
		require.InEpsilon(t, after.Seconds(), later.after.Seconds(), 0.001)
	}
	taken := func(principal string, bytes int64) (giveBack func()) {
		t.Helper()
		giveBack, err := take(principal, bytes)
		require.NoError(t, err)
		return giveBack
	}
	giveBack := taken("greedy", 2_400)
	refused("greedy", 100, time.Hour)
	taken("other", 2_400)
	giveBack()
	taken("greedy", 2_300)
	require.InDelta(t, 1.0, s.Use(), 0.001, "the other one has used all")
	refused("greedy", 200, time.Hour)
	now = now.Add(time.Hour)
	taken("greedy", 200)
	refused("greedy", 100_000, day) // larger than the budget: once it is full
	now = now.Add(day)
	taken("greedy", 100_000)
	refused("greedy", 1, day*97_600/2_400)

	now = now.Add(100 * day)
	taken("greedy", 2_400)
	_, err := s.Take("greedy", false, 2_400, true)
	require.NoError(t, err, "a decision or an end is never refused")
	refused("greedy", 100, day+time.Hour)

	_, err = s.Take("anybody", true, 1<<40, false)
	require.NoError(t, err, "where no credential is asked for, only what was set is a limit")
	_, err = (*Stored)(nil).Take("anybody", false, 1<<40, false)
	require.NoError(t, err)
}

// Idle principals are forgotten once their budget is full, so that changing names do not fill
// memory.
func TestFullBudgetsAreForgotten(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	s := NewStored(Quota{Stored: 100}, func() time.Time { return now })
	for i := range 10 * minSweep {
		_, err := s.Take("agent:"+strconv.Itoa(i), false, 1, false)
		require.NoError(t, err)
		now = now.Add(day / 50)
	}
	require.LessOrEqual(t, len(s.budgets), 2*minSweep)
}
