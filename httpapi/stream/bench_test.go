package stream

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdpoint/holdpoint/runs/watch"
)

// BenchmarkHub measures only the hub, without connections: one event for 2,000 followers of a
// session, and for as many goroutines that only receive from a channel. "bytes/follower" is the
// memory of each while it waits.
func BenchmarkHub(b *testing.B) {
	const followers = 2000
	b.Run("session", func(b *testing.B) {
		store := &fakeStore{hub: watch.NewHub()}
		hub := NewHub(Options{Store: store, Watches: store.hub, KeepAlive: time.Hour})
		measureHub(b, followers, func(ctx context.Context, out Out) {
			subscription, err := hub.Join("s")
			if err != nil {
				b.Error(err)
				return
			}
			defer subscription.Close()
			subscription.Follow(ctx, out, From{})
		}, func() { store.add("a x") })
	})
	b.Run("channel", func(b *testing.B) {
		var changed atomic.Pointer[chan struct{}]
		next := func() *chan struct{} { c := make(chan struct{}); return &c }
		changed.Store(next())
		measureHub(b, followers, func(ctx context.Context, out Out) {
			for seen := changed.Load(); ; {
				select {
				case <-*seen:
					seen = changed.Load() // there is none after it until all have written
					_, _ = out.Write(nil)
				case <-ctx.Done():
					return
				}
			}
		}, func() { close(*changed.Swap(next())) })
	})
}

type countingOut struct {
	count   *atomic.Int64
	reached chan struct{}
	of      int64
}

func (o countingOut) Write(text []byte) (int, error) {
	if o.count.Add(1)%o.of == 0 {
		o.reached <- struct{}{}
	}
	return len(text), nil
}

func (countingOut) Flush() error { return nil }

func measureHub(b *testing.B, followers int, follow func(context.Context, Out), send func()) {
	ctx, cancel := context.WithCancel(b.Context())
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	before := held()
	out := countingOut{count: &atomic.Int64{}, reached: make(chan struct{}, 1), of: int64(followers)}
	for range followers {
		all.Go(func() { follow(ctx, out) })
	}
	time.Sleep(100 * time.Millisecond)
	each := float64(held()-before) / float64(followers)
	for b.Loop() {
		send()
		<-out.reached
	}
	b.ReportMetric(each, "bytes/follower")
}

func held() uint64 {
	for range 4 {
		runtime.GC()
	}
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapInuse + stats.StackInuse
}
