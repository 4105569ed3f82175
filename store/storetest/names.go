package storetest

import (
	"sync"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// allowAs allows the request "a" of a run, and names the part that follows.
func allowAs(runID, name, call string) *runs.DecideRequests {
	return &runs.DecideRequests{
		RunID: runID, Approvals: allow("a"), Actor: person, Segment: &runs.SegmentName{SegmentID: name, Call: call},
	}
}

func (h *harness) named(name string) *model.IdempotencyRecord {
	h.Helper()
	record, err := h.store.Named(h.ctx, name)
	require.NoError(h, err)
	return record
}

var nameTests = map[string]func(*harness){
	"names/of a run and of what follows a decision": func(h *harness) {
		h.wait("s-1", "r-1", approvals("a"))
		h.wait("s-2", "r-2", approvals("a", "b"))
		made := h.do(&runs.CreateRun{Input: api.JSON(`1`)}).Run.Run.RunID
		for _, taken := range []string{"r-1", "r-2", made} {
			refused := h.refuse(api.CodeIDConflict, allowAs("r-1", taken, "call"))
			require.Contains(h, refused.Detail, taken)
			h.refuse(api.CodeIDConflict, &runs.NameSegment{RunID: "r-1", Segment: runs.SegmentName{SegmentID: taken, Call: "call"}})
		}
		h.refuse(api.CodeInvalidRequest, allowAs("r-1", "r-1~7", "call"))
		require.True(h, h.run("r-1").Requests[0].Open(), "nothing was decided")

		require.False(h, h.do(allowAs("r-1", "mine", "call")).Replayed)
		require.Equal(h, &model.IdempotencyRecord{
			RecordKey: model.NameKey("mine"), Fingerprint: "call", SessionID: "s-1", RunID: "r-1",
			EventID: h.run("r-1").Run.LastEventID, CreatedAtMs: clockStart,
		}, h.named("mine"))
		again := h.do(allowAs("r-1", "mine", "call"))
		require.True(h, again.Replayed)
		require.Equal(h, "r-1", again.ReplayRunID)
		h.refuse(api.CodeIDConflict, allowAs("r-1", "mine", "another call"))
		h.refuse(api.CodeIDConflict, allowAs("r-2", "mine", "call"))
		h.refuse(api.CodeIDConflict, &runs.CreateRun{RunID: "mine", Input: api.JSON(`1`)})
		h.refuse(api.CodeIDConflict, &runs.CreateRun{SessionID: "s-1", SessionGiven: true, RunID: "mine", Input: api.JSON(`1`)})
		require.Len(h, h.run("r-2").Requests, 2)
		h.do(&runs.CancelRun{RunID: "r-1"})
		require.True(h, h.do(allowAs("r-1", "mine", "call")).Replayed, "even after the run has ended")

		require.Equal(h, "r-2", h.named("r-2").RunID)
		require.Zero(h, h.named("r-2").EventID)
		for _, unknown := range []string{made, "nobody", "", "r-1~7", "nul\x00", "\xff"} {
			_, err := h.store.Named(h.ctx, unknown)
			requireCode(h, api.CodeRunNotFound, err)
		}
	},
	"names/without a decision": func(h *harness) {
		h.wait("s", "r", approvals("a"))
		name := func(id string, after int64) *runs.NameSegment {
			return &runs.NameSegment{RunID: "r", Segment: runs.SegmentName{SegmentID: id, Call: "call"}, AfterEventID: after}
		}
		newest := h.run("r").Run.LastEventID
		require.Equal(h, runs.Reply{LastEventID: newest}, h.do(name("newest", 0)))
		require.Equal(h, int64(2), h.do(name("second", 2)).LastEventID)
		require.Equal(h, newest, h.do(name("later", newest+1)).LastEventID, "no other run's event")
		require.True(h, h.do(name("newest", 0)).Replayed)
		require.Equal(h, newest, h.named("newest").EventID)
		h.refuse(api.CodeRunNotFound, &runs.NameSegment{RunID: "nobody", Segment: runs.SegmentName{SegmentID: "x"}})

		each(h, runs.MaxRunNames-4, func(n int) error { // and the run's own
			_, err := h.store.Do(h.ctx, name(numbered("n", n), 0))
			return err
		})
		require.Equal(h, runs.Reply{More: true}, h.do(name("one-too-many", 0)))
		_, err := h.store.Named(h.ctx, "one-too-many")
		requireCode(h, api.CodeRunNotFound, err)
		h.do(allowAs("r", "decided", "call"))
		require.NotNil(h, h.named("decided"), "a decision is never without its name")
	},
	"names/last as long as their run": func(h *harness) {
		h.wait("s", "r", approvals("a"))
		h.do(allowAs("r", "mine", "call"))
		h.do(&runs.CancelRun{RunID: "r"})
		h.do(keyedRun("k", `1`))
		h.clock.Advance(10)
		swept, err := h.store.SweepIdempotency(h.ctx, h.clock.NowMs(), 100)
		require.NoError(h, err)
		require.Equal(h, 1, swept, "the key alone is old")
		require.NotNil(h, h.named("mine"))
		require.NotNil(h, h.named("r"))
		require.Equal(h, 1, h.trim("s", 100).Runs)
		for _, gone := range []string{"mine", "r"} {
			_, err = h.store.Named(h.ctx, gone)
			requireCode(h, api.CodeRunNotFound, err)
		}
		h.do(&runs.CreateRun{RunID: "mine", Input: api.JSON(`1`)}) // the id is free again
	},
}

// oneNameOnce uses one id for new runs and for parts after decisions concurrently, through all
// stores: one succeeds, and the others have no effect.
func oneNameOnce(h *harness, stores ...runs.Store) {
	const rounds, racers = 6, 8
	for round := range rounds {
		name := numbered("name", round)
		each(h, racers, func(n int) error {
			suspension := approvals("a")
			_, err := h.store.Do(h.ctx, &runs.CreateRun{
				SessionID: numbered(numbered("s", round), n), SessionGiven: true, RunID: numbered(numbered("r", round), n),
				Input: api.JSON(`"do it"`), Suspend: &suspension,
			})
			return err
		})
		errs := make([]error, 2*racers)
		var wait sync.WaitGroup
		for n := range racers {
			runID := numbered(numbered("r", round), n)
			wait.Go(func() { _, errs[2*n] = stores[n%len(stores)].Do(h.ctx, allowAs(runID, name, runID)) })
			wait.Go(func() {
				_, errs[2*n+1] = stores[(n+1)%len(stores)].Do(h.ctx, &runs.CreateRun{RunID: name, Input: api.JSON(`"` + numbered("n", n) + `"`)})
			})
		}
		wait.Wait()
		winners := 0
		record := h.named(name)
		for i, err := range errs {
			runID := numbered(numbered("r", round), i/2)
			if err == nil {
				winners++
				if i%2 == 0 {
					require.Equal(h, runID, record.RunID)
				} else {
					require.Equal(h, name, record.RunID)
				}
				continue
			}
			require.Equal(h, api.CodeIDConflict, refusal.CodeOf(err), "%v", err)
			if i%2 == 0 {
				require.True(h, h.run(runID).Requests[0].Open(), "%s was refused", runID)
			}
		}
		require.Equal(h, 1, winners)
		_, err := h.store.Run(h.ctx, name)
		require.Equal(h, record.EventID == 0, err == nil, "the id is either a run's or a segment's")
	}
}
