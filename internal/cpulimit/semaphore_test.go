package cpulimit

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// asker asks for slots: ask sends its name to had once it has a slot, and releases the slot
// when end says so.
type asker struct {
	slots *Semaphore
	had   chan string
	end   chan time.Duration
}

func (a asker) ask(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	go func() {
		if c, err := a.slots.acquire(ctx, name[:1]); err == nil {
			a.had <- name
			took := <-a.end
			a.slots.release(c, took)
		}
	}()
	synctest.Wait() // it has a slot or waits for one
}

func TestCallersTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := asker{NewSemaphore(1), make(chan string, 1), make(chan time.Duration)}
		for _, name := range []string{"a1", "a2", "a3", "a4", "b1", "c1", "b2", "d1"} {
			if name == "d1" {
				ctx, cancel := context.WithCancel(t.Context())
				a.ask(ctx, t, name)
				cancel() // it stops waiting
				synctest.Wait()
				continue
			}
			a.ask(t.Context(), t, name)
		}
		var order []string
		for range 7 {
			order = append(order, <-a.had)
			a.end <- 0
		}
		require.Equal(t, []string{"a1", "b1", "c1", "a2", "b2", "a3", "a4"}, order)
		synctest.Wait()
		require.Equal(t, 1, a.slots.free)
		require.Empty(t, a.slots.callers)
		require.Empty(t, a.slots.waiting)
	})
}

// A caller with long work gets fewer slots, and a late caller gets no more than its share.
func TestCallersShareTheTimeOfSlots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := asker{NewSemaphore(1), make(chan string, 1), make(chan time.Duration)}
		for _, name := range []string{"a1", "a2", "a3", "b1", "b2", "b3", "b4", "b5"} {
			a.ask(t.Context(), t, name)
		}
		var order []string
		for range 8 {
			name := <-a.had
			order = append(order, name)
			took := time.Millisecond
			if name[0] == 'a' {
				took = 3 * time.Millisecond
			}
			if name == "a2" {
				a.ask(t.Context(), t, "c1")
			}
			a.end <- took
			synctest.Wait()
		}
		require.Equal(t, []string{"a1", "b1", "b2", "b3", "a2", "b4", "c1", "b5"}, order)
		a.end <- func() time.Duration { <-a.had; return 0 }()
		synctest.Wait()
	})
}

// A slot is never lost: not if a context ends while its slot is handed over, and not if all
// callers have gone.
func TestEverySlotIsReleased(t *testing.T) {
	t.Parallel()
	all := NewSemaphore(3)
	var group sync.WaitGroup
	for n := range 8 {
		group.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(n)))
			for range 2000 {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(random.IntN(50))*time.Microsecond)
				if c, err := all.acquire(ctx, fmt.Sprint(random.IntN(3))); err == nil {
					all.release(c, time.Duration(random.IntN(50))*time.Microsecond)
				}
				cancel()
			}
		})
	}
	group.Wait()
	require.Equal(t, 3, all.free)
	require.Empty(t, all.callers)
	require.Empty(t, all.waiting)
}

// However many callers wait, a pause only waits for the slots that are held.
func TestAPauseGoesAheadOfWaitingCallers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := asker{NewSemaphore(2), make(chan string, 2), make(chan time.Duration)}
		granted := func(names ...string) {
			t.Helper()
			synctest.Wait()
			require.Len(t, a.had, len(names))
			for _, name := range names {
				require.Equal(t, name, <-a.had)
			}
		}
		for _, name := range []string{"a1", "a2", "b1", "c1"} {
			a.ask(t.Context(), t, name)
		}
		granted("a1", "a2")
		paused := make(chan func())
		go func() {
			resume, err := a.slots.Pause(t.Context())
			if err != nil {
				t.Error(err)
			}
			paused <- resume
		}()
		synctest.Wait()
		a.end <- 0
		granted()
		a.end <- 0
		resume := <-paused
		a.ask(t.Context(), t, "d1")
		granted()
		resume()
		synctest.Wait()
		require.ElementsMatch(t, []string{"b1", "c1"}, []string{<-a.had, <-a.had})

		ended, end := context.WithCancel(t.Context())
		go end()
		_, err := a.slots.Pause(ended)
		require.ErrorIs(t, err, context.Canceled)
		a.end <- 0
		granted("d1")
		a.end <- 0
		a.end <- 0
		synctest.Wait()
		require.Equal(t, 2, a.slots.free)
		require.Empty(t, a.slots.callers)
	})
}
