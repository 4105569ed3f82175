package storetest

import (
	"context"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
)

// promptly is far below what a lane waits for a lock, and far above what a command takes.
const promptly = 3 * time.Second

// isolationTests show that what happens to one session harms no other.
var isolationTests = map[string]func(*harness){
	"isolation/many and large events of one session and small commands of others": func(h *harness) {
		h.create("large", "large")
		fence := h.claim("large")
		payload := make([]byte, 1000)
		for i := range payload {
			payload[i] = 'x'
		}
		events := make([]api.JSON, 500)
		for i := range events {
			events[i] = api.JSON(`{"type":"step","text":"` + string(payload) + `"}`)
		}
		appended := make(chan error, 8)
		for range cap(appended) {
			go func() {
				_, err := h.store.Do(h.ctx, &runs.AppendEvents{RunID: "large", Fence: fence, Events: events})
				appended <- err
			}()
		}
		for n := range 40 {
			h.create(numbered("small", n), numbered("run", n))
		}
		for range cap(appended) {
			require.NoError(h, <-appended)
		}
		require.Len(h, h.events("large"), 3+cap(appended)*len(events))
	},
}

// lockTests need a database whose sessions a foreign transaction can lock.
var lockTests = map[string]func(*harness){
	"isolation/a locked session holds up no other": func(h *harness) {
		h.create("locked", "r-0")
		for n := range 40 {
			h.create(numbered("s", n), numbered("first", n))
		}
		unlock := h.lockSession("locked")
		waiting := make(chan error, 5)
		for n := range cap(waiting) {
			go func() {
				_, err := h.store.Do(h.ctx, &runs.CreateRun{
					SessionID: "locked", SessionGiven: true, RunID: numbered("locked", n), Input: api.JSON(`1`),
				})
				waiting <- err
			}()
		}
		for n := range 40 {
			ctx, cancel := context.WithTimeout(h.ctx, promptly)
			_, err := h.store.Do(ctx, &runs.CreateRun{
				SessionID: numbered("s", n), SessionGiven: true, RunID: numbered("second", n), Input: api.JSON(`1`),
			})
			cancel()
			require.NoError(h, err)
		}
		require.Empty(h, waiting, "nothing is decided about a session that is locked")
		require.NoError(h, h.store.Ready(h.ctx))
		unlock()
		for range cap(waiting) {
			require.NoError(h, <-waiting)
		}
		require.Len(h, h.session("locked").QueuedRunIDs, 1+cap(waiting))
	},
	"isolation/a session that stays locked is unavailable": func(h *harness) {
		h.create("locked", "r-0")
		unlock := h.lockSession("locked")
		_, err := h.store.Do(h.ctx, &runs.CreateRun{SessionID: "locked", SessionGiven: true, RunID: "r-1", Input: api.JSON(`1`)})
		require.ErrorIs(h, err, runs.ErrUnavailable)
		unlock()
		requireCode(h, api.CodeRunNotFound, h.noRun("r-1"))
		h.create("locked", "r-1")
	},
}

// Locker is a Database whose sessions a foreign transaction can lock.
type Locker interface {
	// LockSession locks the row of a session until unlock is called.
	LockSession(ctx context.Context, sessionID string) (unlock func() error, err error)
}

func (h *harness) lockSession(sessionID string) (unlock func()) {
	h.Helper()
	locker, ok := h.database.(Locker)
	require.True(h, ok, "a database with Replicas is a Locker")
	end, err := locker.LockSession(h.ctx, sessionID)
	require.NoError(h, err)
	return func() { require.NoError(h, end()) }
}

func (h *harness) noRun(runID string) error {
	_, err := h.store.Run(h.ctx, runID)
	return err
}
