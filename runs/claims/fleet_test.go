package claims

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

func TestThousandWaitersGetOneRunEach(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := newFakeStore()
		d, _ := start(t, store, Options{})
		var waiters []*pending
		for range 1000 {
			waiters = append(waiters, claim(d, worker("a")))
		}
		synctest.Wait()
		var notice reads.Notice
		for _, runID := range names("r", 1, 1000) {
			c := store.add(runID, "a", nowMs())
			notice.SessionID = c.SessionID
			notice.Claimable = append(notice.Claimable, c)
		}
		store.publish(notice)
		got := map[string]bool{}
		for _, p := range waiters {
			ids := p.runIDs(t)
			require.Len(t, ids, 1)
			got[ids[0]] = true
			require.Zero(t, p.after)
		}
		require.Len(t, got, 1000)
		require.Zero(t, store.refused)
	})
}

// Two replicas hear of every run, and some hints are lost. Every run is handed out once, and no
// waiting claim is forgotten.
func TestTwoDispatchersOnOneStore(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := newFakeStore()
		one, _ := start(t, store, Options{})
		two, _ := start(t, store, Options{})
		const total, workers = 2000, 40
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var (
			mu      sync.Mutex
			got     = map[string]int{}
			fleet   sync.WaitGroup
			claimed atomic.Int64
		)
		for i := range workers {
			d := []*Dispatcher{one, two}[i%2]
			fleet.Go(func() {
				for {
					claims, err := d.Claim(ctx, Request{WorkerID: "w", AgentIDs: []string{"a"}, MaxRuns: 1 + i%3, LeaseMs: api.MaxLeaseMs, Wait: maxWait})
					if err != nil {
						return
					}
					mu.Lock()
					for _, c := range claims {
						got[c.Run.RunID]++
					}
					mu.Unlock()
					if claimed.Add(int64(len(claims))) == total {
						cancel()
					}
				}
			})
		}
		begin := time.Now()
		for i := range total {
			if i%10 == 0 {
				store.add("r"+strconv.Itoa(i), "a", nowMs())
			} else {
				store.announce("r"+strconv.Itoa(i), "a")
			}
			if i%100 == 0 {
				<-time.After(time.Millisecond)
			}
		}
		fleet.Wait()
		require.Len(t, got, total)
		for runID, times := range got {
			require.Equal(t, 1, times, runID)
		}
		require.Less(t, time.Since(begin), 2*time.Second)
		require.Empty(t, one.claiming)
		require.Empty(t, two.claiming)
	})
}

// Real goroutines on the real clock: claimers that come and go, overlapping agents, lost hints,
// several replicas. In the end every run is held by a worker that knows it.
func TestFleetThatComesAndGoes(t *testing.T) {
	t.Parallel()
	store := newFakeStore()
	options := Options{ScanInterval: 20 * time.Millisecond, scanLimit: 16, hintLimit: 8}
	var dispatchers []*Dispatcher
	for range 3 {
		d, _ := start(t, store, options)
		dispatchers = append(dispatchers, d)
	}
	agents := []string{"a", "b", "c", "d"}
	const total = 1000
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var (
		mu    sync.Mutex
		held  = map[string]string{} // run → fence of the newest claim that was handed over
		fleet sync.WaitGroup
	)
	for i := range 48 {
		random := rand.New(rand.NewPCG(1, uint64(i)))
		fleet.Go(func() {
			for ctx.Err() == nil {
				asked := slices.Clone(agents[random.IntN(3) : 3+random.IntN(2)])
				if random.IntN(4) == 0 {
					asked = nil
				}
				claimCtx, leave := context.WithCancel(ctx)
				if random.IntN(3) == 0 { // this client disconnects soon
					claimCtx, leave = context.WithTimeout(ctx, time.Duration(random.IntN(3000))*time.Microsecond)
				}
				claims, err := dispatchers[random.IntN(3)].Claim(claimCtx, Request{
					WorkerID: "w", AgentIDs: asked, MaxRuns: 1 + random.IntN(4), LeaseMs: api.MaxLeaseMs,
					Wait: time.Duration(random.IntN(3)) * 10 * time.Millisecond,
				})
				leave()
				if err != nil && len(claims) > 0 {
					t.Error("a claim that failed handed out a run")
				}
				mu.Lock()
				for _, c := range claims {
					if held[c.Run.RunID] != "" {
						t.Errorf("run %s was handed out twice", c.Run.RunID)
					}
					held[c.Run.RunID] = c.Lease.Fence
				}
				if len(held) == total {
					cancel()
				}
				mu.Unlock()
			}
		})
	}
	for i := range total {
		if i%7 == 0 {
			store.add("r"+strconv.Itoa(i), agents[i%4], nowMs())
		} else {
			store.announce("r"+strconv.Itoa(i), agents[i%4])
		}
	}
	fleet.Wait()
	require.Len(t, held, total, "a run was lost")
	for runID, fence := range held {
		require.Equal(t, model.FenceText(store.runs[runID].fence), fence, "run %s is leased to nobody", runID)
	}
	for _, d := range dispatchers {
		require.Empty(t, d.claiming)
	}
}

// BenchmarkClaim has 64 workers wait for runs that are announced one by one, and measures the
// time from the notice to the worker.
func BenchmarkClaim(b *testing.B) {
	store := newFakeStore()
	d, _ := start(b, store, Options{})
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	var (
		fleet   sync.WaitGroup
		claimed atomic.Int64
		spare   = make(chan struct{}, 64)
	)
	for range 64 {
		fleet.Go(func() {
			for {
				claims, err := d.Claim(ctx, Request{WorkerID: "w", AgentIDs: []string{"a"}, LeaseMs: api.MaxLeaseMs, Wait: maxWait})
				if err != nil {
					return
				}
				for range claims {
					<-spare
				}
				if claimed.Add(int64(len(claims))) == int64(b.N) {
					cancel()
				}
			}
		})
	}
	b.ResetTimer()
	for i := range b.N {
		spare <- struct{}{}
		store.announce("r"+strconv.Itoa(i), "a")
	}
	fleet.Wait()
	b.ReportMetric(float64(store.refused)/float64(b.N), "refused/op")
	b.ReportMetric(float64(store.scanCount())/float64(b.N), "scans/op")
}
