package storetest

import (
	"sync"
	"sync/atomic"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/runs"
)

// reopen closes the store and opens the database again.
func (h *harness) reopen() {
	h.Helper()
	require.NoError(h, h.store.Close())
	h.store = h.open()
}

var reopenTests = map[string]func(*harness){
	"reopen/a wait goes on where it was": func(h *harness) {
		h.wait("s", "r", approvals("a"))
		before := h.run("r")
		h.reopen()
		require.Equal(h, before, h.run("r"))
		h.do(&runs.ResolveApprovals{RunID: "r", Resolutions: allow("a"), Key: "k", Actor: person})
		h.reopen()
		require.Equal(h, []string{"r"}, h.claimable())
		require.True(h, h.do(&runs.ResolveApprovals{RunID: "r", Resolutions: allow("a"), Key: "k", Actor: person}).Replayed)
		require.Len(h, h.do(&runs.ClaimRun{RunID: "r", WorkerID: "w"}).Claim.Resume.Approvals, 1)
		h.reopen()
		require.Empty(h, h.claimable())
		h.do(&runs.Complete{RunID: "r", Fence: 2})
	},
	"reopen/a closed store takes nothing and loses nothing": func(h *harness) {
		const callers = 16
		var accepted atomic.Int64
		var wait sync.WaitGroup
		errs := make([]error, callers)
		started := make(chan struct{}, callers)
		for i := range callers {
			wait.Go(func() {
				for n := range 1000 {
					_, err := h.store.Do(h.ctx, &runs.CreateSession{SessionID: numbered(numbered("s", i), n)})
					if err != nil {
						errs[i] = err
						return
					}
					accepted.Add(1)
					if n == 0 {
						started <- struct{}{}
					}
				}
			})
		}
		for range callers {
			<-started
		}
		require.NoError(h, h.store.Close())
		wait.Wait()
		for i := range errs {
			if errs[i] != nil {
				require.ErrorIs(h, errs[i], runs.ErrClosed)
			}
		}
		_, err := h.store.Do(h.ctx, &runs.CreateSession{})
		require.ErrorIs(h, err, runs.ErrClosed)
		h.store = h.open()
		count, err := h.store.CountSessions(h.ctx, runs.SessionQuery{})
		require.NoError(h, err)
		require.Equal(h, accepted.Load(), count)
	},
	"reopen/ready": func(h *harness) {
		require.NoError(h, h.store.Ready(h.ctx))
		nowMs, err := h.store.NowMs(h.ctx)
		require.NoError(h, err)
		require.Equal(h, h.clock.NowMs(), nowMs)
		h.reopen()
		require.NoError(h, h.store.Ready(h.ctx))
	},
}
