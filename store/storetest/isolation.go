package storetest

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/loop"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// isolationTests check that trouble with one session does not affect others.
var isolationTests = map[string]func(*harness){
	"isolation/many and large events of one session and small commands of others": func(h *harness) {
		fence := h.started("large", "large")
		payload := make([]byte, 1000)
		for i := range payload {
			payload[i] = 'x'
		}
		events := make([]api.JSON, api.MaxEventsPerCall)
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
	"isolation/what one call appends is there whole or not at all": func(h *harness) {
		fence := h.started("large", "large")
		events := slices.Repeat([]api.JSON{api.JSON(`{"type":"step","text":"` + strings.Repeat("x", 1000) + `"}`)}, api.MaxEventsPerCall)
		const calls = 4
		appended := make(chan error, calls)
		go func() {
			for range calls {
				// Another command of the session waits for it.
				_, err := h.store.Do(h.ctx, &runs.AppendEvents{RunID: "large", Fence: fence, Events: events})
				if err == nil {
					_, err = h.store.Do(h.ctx, &runs.Heartbeat{RunID: "large", Fence: fence})
				}
				appended <- err
			}
		}()
		for n, ended := 0, 0; ended < calls; n++ {
			select {
			case err := <-appended:
				require.NoError(h, err)
				ended++
			default:
			}
			h.create(numbered("small", n), numbered("run", n))
			found, session := h.events("large"), h.session("large")
			require.Zero(h, (len(found)-3)%len(events), "a part of a call is there")
			require.GreaterOrEqual(h, session.Session.LastEventID, int64(len(found)))
			require.Equal(h, int64(len(found)), found[len(found)-1].EventID)
			if n%8 == 0 {
				RequireHealthy(h.ctx, h, h.store)
			}
		}
		// A caller who disconnects gets all of it or nothing.
		for n := range 3 {
			before := len(h.events("large"))
			ctx, cancel := context.WithCancel(h.ctx)
			time.AfterFunc(time.Duration(n)*3*time.Millisecond, cancel)
			_, err := h.store.Do(ctx, &runs.AppendEvents{RunID: "large", Fence: fence, Events: events})
			cancel()
			last := h.do(&runs.AppendEvents{RunID: "large", Fence: fence, Events: events[:1]}).LastEventID
			found := h.events("large")
			require.Equal(h, last, int64(len(found)))
			switch more := len(found) - before - 1; {
			case err == nil:
				require.Equal(h, len(events), more)
			default:
				require.Contains(h, []int{0, len(events)}, more)
			}
		}
		h.do(&runs.Complete{RunID: "large", Fence: fence})
	},
	"isolation/a session that the database refuses harms no other": func(h *harness) {
		h.create("failing", "r-0")
		mend := h.breakSession("failing")
		failed := make(chan error, 3)
		for n := range cap(failed) {
			go func() {
				_, err := h.store.Do(h.ctx, &runs.CreateRun{
					SessionID: "failing", SessionGiven: true, RunID: numbered("failing", n), Input: api.JSON(`1`),
				})
				failed <- err
			}()
		}
		h.othersGoOn()
		for range cap(failed) {
			require.ErrorIs(h, <-failed, runs.ErrUnavailable)
		}
		h.othersGoOn()
		requireCode(h, api.CodeRunNotFound, h.noRun("failing-000"))
		mend()
		h.create("failing", "failing-000")
		require.Len(h, h.session("failing").QueuedRunIDs, 2)
	},
	"isolation/a session with a full queue ends in parts": func(h *harness) {
		h.wait("huge", "active", approvals("a"))
		each(h, api.MaxQueuedRuns, func(n int) error { // at once: in few transactions
			_, err := h.store.Do(h.ctx, &runs.CreateRun{SessionID: "huge", SessionGiven: true, RunID: numbered("queued", n), Input: api.JSON(`1`)})
			return err
		})
		full := h.refuse(api.CodeQueueFull, &runs.CreateRun{SessionID: "huge", SessionGiven: true, Input: api.JSON(`1`)})
		require.Contains(h, full.Detail, "1000 queued runs")
		ended := h.do(&runs.EndSession{SessionID: "huge", Reason: "enough", Actor: person})
		require.Equal(h, int64(api.MaxQueuedRuns+1-runs.DrainChunk), ended.Session.QueuedCount, "one decision ends a part")
		h.refuse(api.CodeSessionEnded, &runs.CreateRun{SessionID: "huge", SessionGiven: true, Input: api.JSON(`1`)})
		require.Empty(h, h.claimable())

		due := h.dueEffects(10)
		require.Len(h, due, 1)
		effect := h.claimEffect("huge", due[0])
		last := ended.Session.QueuedCount
		for n, more := 0, true; more; n++ {
			// Other commands run between two parts.
			h.create("small", numbered("small", n))
			more = h.do(commandOf(effect)).More
			left := h.session("huge").Session.QueuedCount
			require.Equal(h, max(last-runs.DrainChunk, 0), left)
			last = left
		}
		require.Zero(h, last)
		// The effect's worker died before reporting: the next one finds nothing left.
		h.clock.Advance(model.EffectLeaseMs)
		effect = h.claimEffect("huge", due[0])
		require.False(h, h.do(commandOf(effect)).More)
		h.do(&runs.FinishEffect{SessionID: "huge", EffectID: due[0], Attempt: effect.Attempts})
		cancelled := h.runs(reads.RunQuery{SessionID: "huge", Status: api.StatusCancelled, Limit: 2 * api.MaxQueuedRuns})
		require.Len(h, cancelled, api.MaxQueuedRuns+1, "with the active one")
		for i := range cancelled {
			require.Equal(h, "enough", cancelled[i].Run.Error)
		}
		events := h.events("huge")
		ofActive := slices.DeleteFunc(slices.Clone(events), func(e model.Event) bool { return e.RunID != "active" })
		require.Equal(h, []api.EventType{"accepted", "queued", "started", "waiting_for_approval", "approval_resolved", "cancelled"}, typesOf(ofActive))
		require.Len(h, events, len(ofActive)+3*api.MaxQueuedRuns, "each of the others was accepted, queued and cancelled once")
	},
}

// lockTests need a database whose sessions a foreign transaction can lock.
var lockTests = map[string]func(*harness){
	"isolation/a locked session holds up no other": func(h *harness) {
		h.create("locked", "r-0")
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
		h.othersGoOn()
		require.Empty(h, waiting, "nothing is decided about a session that is locked")
		require.NoError(h, h.store.Ready(h.ctx))
		unlock()
		for range cap(waiting) {
			require.NoError(h, <-waiting)
		}
		require.Len(h, h.session("locked").QueuedRunIDs, 1+cap(waiting))
	},
	"isolation/a locked session delays no other deadline": func(h *harness) {
		due := func(session, run string) {
			h.wait(session, run, api.Suspension{Approvals: []api.ApprovalRequest{approvalDueAt("a", clockStart+10)}})
		}
		due("locked", "r-locked")
		for n := range 40 {
			due(numbered("free", n), numbered("r", n))
		}
		unlock := h.lockSession("locked")
		ctx, stop := context.WithCancel(h.ctx)
		ended := make(chan error)
		go func() {
			ended <- loop.NewExpiry(h.store, loop.ExpiryOptions{Batch: 8, Concurrency: 2, Logger: slog.New(slog.DiscardHandler)}).Run(ctx)
		}()
		h.clock.Advance(10)
		open := func(run string) bool { return h.run(run).Run.Status == api.StatusWaitingForApproval }
		// One that waited for the locked session would wait for lockWait.
		require.Eventually(h, func() bool {
			return !slices.ContainsFunc(h.dueNow(), func(due reads.DueRun) bool { return due.RunID != "r-locked" })
		}, lockWait/2, 10*time.Millisecond)
		require.True(h, open("r-locked"))
		unlock()
		require.Eventually(h, func() bool { return !open("r-locked") }, lockWait, 10*time.Millisecond)
		stop()
		require.NoError(h, <-ended)
	},
	"isolation/a session that another transaction makes holds up no other": func(h *harness) {
		undo := h.makeSession("made")
		waiting := make(chan error, 5)
		for n := range cap(waiting) {
			go func() {
				_, err := h.store.Do(h.ctx, &runs.CreateRun{
					SessionID: "made", SessionGiven: true, RunID: numbered("made", n), Input: api.JSON(`1`),
				})
				waiting <- err
			}()
		}
		h.othersGoOn()
		require.Empty(h, waiting, "it is not known whether the session is there")
		require.NoError(h, h.store.Ready(h.ctx))
		undo()
		for range cap(waiting) {
			require.NoError(h, <-waiting)
		}
		require.Len(h, h.session("made").QueuedRunIDs, cap(waiting))
	},
	"isolation/a session that stays locked is unavailable": func(h *harness) {
		h.create("locked", "r-0")
		unlock := h.lockSession("locked")
		impatient := h.database.Open(h, Options{Clock: h.clock, LockWait: 100 * time.Millisecond})
		_, err := impatient.Do(h.ctx, &runs.CreateRun{SessionID: "locked", SessionGiven: true, RunID: "r-1", Input: api.JSON(`1`)})
		require.ErrorIs(h, err, runs.ErrUnavailable)
		unlock()
		requireCode(h, api.CodeRunNotFound, h.noRun("r-1"))
		h.create("locked", "r-1")
	},
}

func (h *harness) dueNow() []reads.DueRun {
	h.Helper()
	list, err := h.store.Due(h.ctx, 100)
	require.NoError(h, err)
	return list
}

// othersGoOn sends commands for other sessions. One that waited for a locked session would
// return after lockWait.
func (h *harness) othersGoOn() {
	h.Helper()
	for n := range 40 {
		h.do(&runs.CreateRun{SessionID: numbered("other", n), SessionGiven: true, Input: api.JSON(`1`)})
	}
}

// Breaker is a Database that can reject a session's writes.
type Breaker interface {
	// BreakSession makes the database reject all events of a session, until mend is called.
	BreakSession(ctx context.Context, sessionID string) (mend func() error, err error)
}

func (h *harness) breakSession(sessionID string) (mend func()) {
	h.Helper()
	breaker, ok := h.database.(Breaker)
	require.True(h, ok, "every Database with isolation tests is a Breaker")
	end, err := breaker.BreakSession(h.ctx, sessionID)
	require.NoError(h, err)
	return func() { require.NoError(h, end()) }
}

// Locker is a Database whose sessions a foreign transaction can lock.
type Locker interface {
	// MakeSession inserts a session and does not commit that, until undo is called.
	MakeSession(ctx context.Context, sessionID string) (undo func() error, err error)
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

func (h *harness) makeSession(sessionID string) (undo func()) {
	h.Helper()
	locker, ok := h.database.(Locker)
	require.True(h, ok, "a database with Replicas is a Locker")
	end, err := locker.MakeSession(h.ctx, sessionID)
	require.NoError(h, err)
	return func() { require.NoError(h, end()) }
}

func (h *harness) noRun(runID string) error {
	_, err := h.store.Run(h.ctx, runID)
	return err
}
