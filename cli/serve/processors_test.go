package serve

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/internal/cpulimit"
)

func TestOneProcessorIsUsedWhileItIsEnough(t *testing.T) {
	var use processorUse
	see := func(cores float64, windows int) (one bool) {
		for range windows {
			one = use.saw(cores, false)
		}
		return one
	}
	require.False(t, see(0.1, calmWindows-1), "a moment's calm")
	require.True(t, see(0.1, 1))
	require.True(t, see(busyCores, 1000), "one carries that")
	require.False(t, see(0.9, 1), "a burst has all processors at once")
	require.False(t, see(0.1, calmWindows-1))
	require.False(t, see(0.9, 1))
	require.False(t, see(0.1, calmWindows-1), "the calm begins again")
	require.True(t, see(0.1, 1))
	see(2, 1)
	require.False(t, see(0.6, 1000), "neither busy nor calm: as it is")
	require.True(t, see(0.1, 2*calmWindows))
	require.False(t, use.saw(0.1, true), "large work would delay all other calls")
	require.False(t, see(0.1, calmWindows-1))
	require.True(t, see(0.1, 1))
}

func TestProcessorsAreWatched(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ticks, set, ended := make(chan time.Time), make(chan bool, 1), make(chan struct{})
	var worked atomic.Int64
	go func() {
		defer close(ended)
		watchProcessors(ctx, ticks, func() (time.Duration, bool) { return time.Duration(worked.Load()), true }, func(one bool) { set <- one })
	}()
	now := time.Now().Add(time.Hour)
	tick := func(cores float64) {
		now = now.Add(processorWindow)
		worked.Add(int64(cores * float64(processorWindow)))
		ticks <- now
	}
	tick(0.1) // the hour before it
	for range calmWindows - 1 {
		tick(0.1)
	}
	require.True(t, <-set)
	ticks <- now // the clock has not moved
	tick(1)
	require.False(t, <-set)
	for range calmWindows {
		tick(0)
	}
	require.True(t, <-set)
	require.NoError(t, cpulimit.Do(t.Context(), cpulimit.Bytes, func() error { return nil }))
	tick(0)
	require.False(t, <-set, "large work")
	for range calmWindows {
		tick(0)
	}
	require.True(t, <-set)
	cancel()
	require.False(t, <-set, "the next caller has them all")
	<-ended
	require.Empty(t, set)
}
