package storetest

import (
	"sync"
	"sync/atomic"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/reads"
)

func keyedRun(key, input string) *runs.CreateRun {
	return &runs.CreateRun{SessionID: "s", SessionGiven: true, Key: key, Input: api.JSON(input)}
}

var idempotencyTests = map[string]func(*harness){
	"key/the same call again is a replay": func(h *harness) {
		first := h.do(keyedRun("k", `{"a":1,"b":2}`))
		again := h.do(keyedRun("k", `{"b":2,"a":1}`))
		require.True(h, again.Replayed)
		require.Equal(h, first.Run.Run.RunID, again.ReplayRunID)
		h.refuse(api.CodeIdempotencyConflict, keyedRun("k", `{"a":1}`))
		require.Len(h, h.session("s").QueuedRunIDs, 1)
	},
	"key/of a refused call may be used again": func(h *harness) {
		h.wait("s", "r", approvals("a"))
		h.refuse(api.CodeApprovalNotPending, &runs.ResolveApprovals{RunID: "r", Resolutions: allow("b"), Key: "k", Actor: person})
		require.False(h, h.do(&runs.ResolveApprovals{RunID: "r", Resolutions: allow("a"), Key: "k", Actor: person}).Replayed)
		require.True(h, h.do(&runs.ResolveApprovals{RunID: "r", Resolutions: allow("a"), Key: "k", Actor: person}).Replayed)
		require.True(h, h.do(&runs.ResolveApprovals{SessionID: "s", Resolutions: allow("a"), Key: "k", Actor: person}).Replayed,
			"the session's route and the run's share the key")
	},
	"key/operations and sessions do not share keys": func(h *harness) {
		h.wait("s-1", "r-1", questions("q"))
		h.wait("s-2", "r-2", questions("q"))
		for _, run := range []string{"r-1", "r-2"} {
			require.False(h, h.do(&runs.AnswerQuestion{RunID: run, Resolution: answer("q", "left"), Key: "k", Actor: person}).Replayed)
			require.True(h, h.do(&runs.AnswerQuestion{RunID: run, Resolution: answer("q", "left"), Key: "k", Actor: person}).Replayed)
		}
		h.wait("s-3", "r-3", questions("q"))
		require.False(h, h.do(&runs.CancelQuestion{RunID: "r-3", RequestID: "q", Key: "k", Actor: person}).Replayed)
		require.True(h, h.do(&runs.CancelQuestion{RunID: "r-3", RequestID: "q", Key: "k", Actor: person}).Replayed)
	},
	"key/any text that may be one": func(h *harness) {
		for _, key := range []string{"'; DROP TABLE runs; --", `"quoted\"`, "ключ", "%_", "k k"} {
			require.False(h, h.do(keyedRun(key, `1`)).Replayed)
			require.True(h, h.do(keyedRun(key, `1`)).Replayed)
		}
	},
	"key/records are swept by age": func(h *harness) {
		h.do(keyedRun("old-1", `1`))
		h.do(keyedRun("old-2", `1`))
		h.clock.Advance(10)
		h.do(keyedRun("new", `1`))
		swept, err := h.store.SweepIdempotency(h.ctx, clockStart+10, 1)
		require.NoError(h, err)
		require.Equal(h, 1, swept)
		swept, err = h.store.SweepIdempotency(h.ctx, clockStart+10, 10)
		require.NoError(h, err)
		require.Equal(h, 1, swept)
		require.True(h, h.do(keyedRun("new", `1`)).Replayed)
		require.False(h, h.do(keyedRun("old-1", `1`)).Replayed)
	},
	"key/64 at once make one run": func(h *harness) { oneKeyOneRun(h, h.store) },
}

// oneKeyOneRun sends the same keyed call from 64 goroutines, spread over stores of one database.
func oneKeyOneRun(h *harness, stores ...runs.Store) {
	const callers = 64
	var replayed atomic.Int64
	ids := make([]string, callers)
	errs := make([]error, callers)
	var wait sync.WaitGroup
	for i := range callers {
		wait.Go(func() {
			var reply runs.Reply
			reply, errs[i] = stores[i%len(stores)].Do(h.ctx, keyedRun("k", `{"n":1}`))
			switch {
			case reply.Replayed:
				replayed.Add(1)
				ids[i] = reply.ReplayRunID
			case reply.Run != nil:
				ids[i] = reply.Run.Run.RunID
			}
		})
	}
	wait.Wait()
	for i := range callers {
		require.NoError(h, errs[i])
		require.Equal(h, ids[0], ids[i])
	}
	require.Equal(h, int64(callers-1), replayed.Load())
	require.Equal(h, []api.EventType{api.EventAccepted, api.EventQueued}, typesOf(h.events("s")))
	h.refuse(api.CodeIdempotencyConflict, keyedRun("k", `{"n":2}`))
}

// oneIDOneRun creates a run with the same id in several sessions concurrently.
func oneIDOneRun(h *harness, stores ...runs.Store) {
	for n := range 20 {
		var made atomic.Int64
		var wait sync.WaitGroup
		errs := make([]error, 16)
		for i := range errs {
			wait.Go(func() {
				_, errs[i] = stores[i%len(stores)].Do(h.ctx, &runs.CreateRun{
					SessionID: numbered("s", i), SessionGiven: true, RunID: numbered("r", n), Input: api.JSON(`1`),
				})
				if errs[i] == nil {
					made.Add(1)
				}
			})
		}
		wait.Wait()
		require.Equal(h, int64(1), made.Load())
		for _, err := range errs {
			if err != nil {
				requireCode(h, api.CodeIDConflict, err)
			}
		}
	}
	count, err := h.store.CountRuns(h.ctx, reads.RunQuery{})
	require.NoError(h, err)
	require.Equal(h, int64(20), count)
}

var replicaTests = map[string]func(*harness){
	"replicas/64 callers with one key make one run": func(h *harness) {
		oneKeyOneRun(h, h.store, h.open())
	},
	"replicas/one key appends once": func(h *harness) {
		oneKeyOneAppend(h, h.store, h.open())
	},
	"replicas/one run id made in many sessions at once": func(h *harness) {
		oneIDOneRun(h, h.store, h.open())
	},
	"replicas/one name taken in many ways at once": func(h *harness) { oneNameOnce(h, h.store, h.open()) },
	"replicas/one attempt at an effect":            func(h *harness) { oneHasIt(h, h.store, h.open()) },
	"replicas/one claim of two": func(h *harness) {
		stores := []runs.Store{h.store, h.open()}
		for n := range 20 {
			run := numbered("r", n)
			h.create(numbered("s", n), run)
			var claims atomic.Int64
			var wait sync.WaitGroup
			errs := make([]error, 8)
			for i := range errs {
				wait.Go(func() {
					_, errs[i] = stores[i%2].Do(h.ctx, &runs.ClaimRun{RunID: run, WorkerID: numbered("w", i)})
					if errs[i] == nil {
						claims.Add(1)
					}
				})
			}
			wait.Wait()
			require.Equal(h, int64(1), claims.Load())
			for _, err := range errs {
				if err != nil {
					requireCode(h, api.CodeRunNotClaimable, err)
				}
			}
		}
	},
}
