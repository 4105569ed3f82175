package storetest

import (
	"strings"
	"sync"
	"sync/atomic"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
)

// manySteps returns events of 1 kB.
func manySteps(count int) []api.JSON {
	events := make([]api.JSON, count)
	for i := range events {
		events[i] = api.JSON(`{"type":"step","text":"` + strings.Repeat("x", 1000) + `"}`)
	}
	return events
}

// keyedEventTests show that events which are appended with a key are appended once.
var keyedEventTests = map[string]func(*harness){
	"events/a key appends once": func(h *harness) {
		for name, events := range map[string][]api.JSON{
			"few":  {api.JSON(`{"type":"step","n":1}`), api.JSON(`{"type":"output","content":"x"}`)},
			"many": manySteps(api.MaxEventsPerCall),
		} {
			h.create(name, name)
			h.create(name, name+"-next")
			fence := h.claim(name)
			keyed := func(runID, key string, fence int64, events []api.JSON) *runs.AppendEvents {
				return &runs.AppendEvents{RunID: runID, Fence: fence, Events: events, IdempotencyKey: key}
			}
			first := h.do(keyed(name, "k", fence, events))
			require.False(h, first.Replayed)
			other := h.do(&runs.AppendEvents{RunID: name, Fence: fence, Events: aProgress})
			require.Equal(h, first.LastEventID+1, other.LastEventID)
			again := h.do(keyed(name, " k ", fence, events))
			require.True(h, again.Replayed)
			require.Equal(h, first.LastEventID, again.LastEventID)

			h.refuse(api.CodeIdempotencyConflict, keyed(name, "k", fence, events[1:]))
			h.refuse(api.CodeIdempotencyConflict, keyed(name, "k", fence+1, events))
			h.refuse(api.CodeInvalidIdempotencyKey, keyed(name, strings.Repeat("k", 257), fence, events))
			h.refuse(api.CodeLeaseLost, keyed(name, "stale", fence+1, events))
			require.False(h, h.do(keyed(name, "stale", fence, aProgress)).Replayed, "a call that was refused leaves its key free")

			// The reply may have been lost with the lease.
			h.do(&runs.Release{RunID: name, Fence: fence})
			second := h.claim(name)
			require.Equal(h, first.LastEventID, h.do(keyed(name, "k", fence, events)).LastEventID)
			h.refuse(api.CodeLeaseLost, keyed(name, "new", fence, events))
			h.do(&runs.Complete{RunID: name, Fence: second})
			require.Equal(h, first.LastEventID, h.do(keyed(name, "k", fence, events)).LastEventID)
			next := h.claim(name + "-next")
			h.refuse(api.CodeIdempotencyConflict, keyed(name+"-next", "k", next, events))

			count := 0
			for _, eventType := range typesOf(h.events(name)) {
				if eventType == "step" || eventType == api.EventOutput {
					count++
				}
			}
			require.Equal(h, len(events), count)
			RequireHealthy(h.ctx, h, h.store)
		}
	},
	"events/one key from 32 callers at once": func(h *harness) { oneKeyOneAppend(h, h.store) },
}

// oneKeyOneAppend sends the same keyed append from many goroutines, spread over stores of one
// database.
func oneKeyOneAppend(h *harness, stores ...runs.Store) {
	for name, events := range map[string][]api.JSON{"few": aProgress, "many": manySteps(api.MaxEventsPerCall)} {
		fence := h.started(name, name)
		var wait sync.WaitGroup
		var appended atomic.Int64
		replies, errs := make([]runs.Reply, 32), make([]error, 32)
		for i := range replies {
			wait.Go(func() {
				replies[i], errs[i] = stores[i%len(stores)].Do(h.ctx, &runs.AppendEvents{RunID: name, Fence: fence, Events: events, IdempotencyKey: "k"})
				if !replies[i].Replayed {
					appended.Add(1)
				}
			})
		}
		wait.Wait()
		for i := range replies {
			require.NoError(h, errs[i])
			require.Equal(h, replies[0].LastEventID, replies[i].LastEventID)
		}
		require.Equal(h, int64(1), appended.Load())
		require.Len(h, h.events(name), 3+len(events))
	}
}
