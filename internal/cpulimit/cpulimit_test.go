package cpulimit_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/internal/cpulimit"
)

func TestLargeWorkLeavesProcessorsToSmall(t *testing.T) {
	t.Parallel()
	atOnce := max(runtime.GOMAXPROCS(0)/2, 1)
	begun, finish := make(chan struct{}, atOnce+1), make(chan struct{})
	var running, most atomic.Int64
	var group sync.WaitGroup
	for range 3 * atOnce {
		group.Go(func() {
			require.NoError(t, cpulimit.Do(context.Background(), cpulimit.Bytes, func() error {
				now := running.Add(1)
				for most.Load() < now && !most.CompareAndSwap(most.Load(), now) {
				}
				begun <- struct{}{}
				<-finish
				running.Add(-1)
				return nil
			}))
		})
	}
	for range atOnce {
		<-begun
	}
	ran := false
	require.NoError(t, cpulimit.Do(t.Context(), cpulimit.Bytes-1, func() error { ran = true; return nil }), "small work does not wait")
	require.True(t, ran)
	ended, end := context.WithCancel(t.Context())
	end()
	require.ErrorIs(t, cpulimit.Do(ended, cpulimit.Bytes, func() error { panic("it has no slot") }), context.Canceled)
	for range 2 * atOnce {
		finish <- struct{}{}
		<-begun
	}
	close(finish)
	group.Wait()
	require.EqualValues(t, atOnce, most.Load())
	require.ErrorIs(t, cpulimit.Do(t.Context(), cpulimit.Bytes, func() error { return context.DeadlineExceeded }), context.DeadlineExceeded, "the error of the work")
}

func TestAPanicReleasesTheSlot(t *testing.T) {
	t.Parallel()
	for range runtime.GOMAXPROCS(0) + 1 {
		require.Panics(t, func() { _ = cpulimit.Do(t.Context(), cpulimit.Bytes, func() error { panic("work") }) })
	}
	require.NoError(t, cpulimit.Do(t.Context(), cpulimit.Bytes, func() error { return nil }))
}
