package heavy

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

// asker asks for turns: ask notes the name in had when it has one, and gives it back when end says so.
type asker struct {
	turns *turns
	had   chan string
	end   chan struct{}
}

func (a asker) ask(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	go func() {
		if a.turns.acquire(ctx, name[:1]) == nil {
			a.had <- name
			<-a.end
			a.turns.release()
		}
	}()
	synctest.Wait() // it has its turn, or waits for it
}

func TestNobodyWaitsForAllThatAnotherOneSends(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := asker{&turns{free: 1}, make(chan string, 1), make(chan struct{})}
		for _, name := range []string{"a1", "a2", "a3", "a4", "b1", "c1", "b2", "d1"} {
			if name == "d1" {
				ctx, cancel := context.WithCancel(t.Context())
				a.ask(ctx, t, name)
				cancel() // it waits no more
				synctest.Wait()
				continue
			}
			a.ask(t.Context(), t, name)
		}
		var order []string
		for range 7 {
			order = append(order, <-a.had)
			a.end <- struct{}{}
		}
		require.Equal(t, []string{"a1", "a2", "b1", "c1", "a3", "b2", "a4"}, order)
		synctest.Wait()
		require.Equal(t, 1, a.turns.free)
		require.Empty(t, a.turns.queues)
	})
}

// A turn is never lost: not when a context ends while its turn is handed over, and not when there
// is nobody left.
func TestEveryTurnComesBack(t *testing.T) {
	t.Parallel()
	all := &turns{free: 3}
	var group sync.WaitGroup
	for n := range 8 {
		group.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(n)))
			for range 2000 {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(random.IntN(50))*time.Microsecond)
				if all.acquire(ctx, fmt.Sprint(random.IntN(3))) == nil {
					all.release()
				}
				cancel()
			}
		})
	}
	group.Wait()
	require.Equal(t, 3, all.free)
	require.Empty(t, all.queues)
}
