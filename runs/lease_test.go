package runs_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// workerCalls are the calls that need a fence.
func workerCalls(runID string, fence int64) map[string]runs.Command {
	return map[string]runs.Command{
		"heartbeat": &runs.Heartbeat{RunID: runID, Fence: fence},
		"suspend":   suspend(runID, fence, approval("fenced")),
		"withdraw":  &runs.Withdraw{RunID: runID, RequestID: "fenced", Fence: fence},
		"append":    &runs.AppendEvents{RunID: runID, Fence: fence, Events: []api.JSON{api.JSON(`{"type":"t"}`)}},
		"complete":  &runs.Complete{RunID: runID, Fence: fence},
		"fail":      &runs.Fail{RunID: runID, Fence: fence, Error: "e"},
		"release":   &runs.Release{RunID: runID, Fence: fence},
	}
}

func TestStaleFences(t *testing.T) {
	t.Parallel()
	for name := range workerCalls("r", 1) {
		inHouse(t, name, func(t *testing.T, h *house) {
			h.create("r")
			h.refused(api.CodeLeaseLost, workerCalls("r", 0)[name])
			h.claim("r")
			h.refused(api.CodeLeaseLost, workerCalls("r", 0)[name])
			h.refused(api.CodeLeaseLost, workerCalls("r", 2)[name])
			h.nowMs += api.DefaultLeaseMs
			require.Equal(t, int64(2), h.claim("r"))
			_, change, err := h.decide(workerCalls("r", 1)[name])
			requireCode(t, api.CodeLeaseLost, err)
			require.True(t, change.Empty())
			// An older fence is stale even if the run is finished.
			h.must(&runs.Complete{RunID: "r", Fence: 2})
			h.refused(api.CodeLeaseLost, workerCalls("r", 1)[name])
		})
	}
}

// A lapsed lease that no other worker has claimed still works.
func TestLapsedLease(t *testing.T) {
	t.Parallel()
	for name := range workerCalls("r", 1) {
		if name == "withdraw" {
			continue // TestAttachedWait
		}
		inHouse(t, name, func(t *testing.T, h *house) {
			h.start("r")
			h.nowMs += 10 * api.DefaultLeaseMs
			reply := h.must(workerCalls("r", 1)[name])
			if name == "heartbeat" {
				require.Equal(t, h.nowMs+api.DefaultLeaseMs, reply.LeaseExpiresAtMs)
				h.refused(api.CodeRunNotClaimable, &runs.ClaimRun{RunID: "r", WorkerID: "w"})
			}
		})
	}
}

func TestLeaseLengths(t *testing.T) {
	h := parallelHouse(t).create("r")
	for _, leaseMs := range []int64{-1, 1, api.MinLeaseMs - 1, api.MaxLeaseMs + 1} {
		refusal := h.refused(api.CodeInvalidRequest, &runs.ClaimRun{RunID: "r", WorkerID: "w", LeaseMs: leaseMs})
		require.Equal(t, []api.Fault{{Pointer: "/lease_ms", Detail: "must be between 1000 and 3600000"}}, refusal.Faults)
		h.refused(api.CodeInvalidRequest, &runs.Heartbeat{RunID: "r", Fence: 1, LeaseMs: leaseMs})
	}
	require.Equal(t, []string{"/worker_id"}, pointersOf(h.refused(api.CodeInvalidRequest, &runs.ClaimRun{RunID: "r"})))
	require.Equal(t, []string{"/settled_after"}, pointersOf(h.refused(api.CodeInvalidRequest, &runs.Heartbeat{RunID: "r", Fence: 1, SettledAfter: ms(-1)})))

	h.must(&runs.ClaimRun{RunID: "r", WorkerID: "w", LeaseMs: api.MinLeaseMs})
	require.Equal(t, int64(startMs+api.MinLeaseMs), h.run("r").LeaseExpiresAtMs)
	h.nowMs += api.MinLeaseMs - 1
	h.refused(api.CodeRunNotClaimable, &runs.ClaimRun{RunID: "r", WorkerID: "w"})
	h.nowMs++ // a lease has lapsed when its end is now
	h.must(&runs.ClaimRun{RunID: "r", WorkerID: "w"})
	require.Equal(t, h.nowMs+api.MaxLeaseMs, h.must(&runs.Heartbeat{RunID: "r", Fence: 2, LeaseMs: api.MaxLeaseMs}).LeaseExpiresAtMs)
}

// Repeating the same call is a no-op; a different call is not.
func TestRepeatedEnds(t *testing.T) {
	t.Parallel()
	type call func() runs.Command
	suspended := func(checkpoint string) call {
		return func() runs.Command {
			command := suspend("r", 1, approval("a"))
			command.SuspensionID, command.Checkpoint = "wait-1", api.JSON(checkpoint)
			return command
		}
	}
	for name, test := range map[string]struct {
		call, other call
		otherCode   api.Code
		after       api.Status
	}{
		"release": {
			func() runs.Command {
				return &runs.Release{RunID: "r", Fence: 1, Checkpoint: api.JSON(`{"a":1,"b":2}`)}
			},
			func() runs.Command {
				return &runs.Release{RunID: "r", Fence: 1, Checkpoint: api.JSON(`{"a":1,"b":3}`)}
			},
			api.CodeLeaseLost, api.StatusRunning,
		},
		"suspend": {suspended(`1`), suspended(`2`), api.CodeIDConflict, api.StatusWaitingForApproval},
		"suspend without an id": {
			func() runs.Command { return suspend("r", 1, approval("a")) },
			func() runs.Command { return suspend("r", 1, approval("a"), approval("b")) },
			api.CodeLeaseLost, api.StatusWaitingForApproval,
		},
		"complete": {
			func() runs.Command { return &runs.Complete{RunID: "r", Fence: 1, Output: api.JSON(`{"x":1}`)} },
			func() runs.Command { return &runs.Complete{RunID: "r", Fence: 1} },
			api.CodeRunStateConflict, api.StatusCompleted,
		},
		"fail": {
			func() runs.Command { return &runs.Fail{RunID: "r", Fence: 1, Error: "e"} },
			func() runs.Command { return &runs.Fail{RunID: "r", Fence: 1, Error: "other"} },
			api.CodeRunStateConflict, api.StatusFailed,
		},
	} {
		inHouse(t, name, func(t *testing.T, h *house) {
			h.start("r")
			first := h.must(test.call())
			require.False(t, first.Existing)
			require.Equal(t, test.after, first.Run.Run.Status)
			for range 2 {
				h.nowMs += 5
				reply, change := h.decided(test.call())
				require.True(t, reply.Existing)
				require.True(t, change.Empty(), "a repeated call wrote something")
				require.Equal(t, first.Run.View(), reply.Run.View())
			}
			_, change, err := h.decide(test.other())
			requireCode(t, test.otherCode, err)
			require.True(t, change.Empty())
			// It is the same call even if another worker has claimed the run, and even if the run is finished.
			// A different call is then stale.
			if test.after == api.StatusWaitingForApproval {
				h.must(allow("r", "a"))
			}
			if model.Terminal(test.after) {
				return
			}
			h.claim("r")
			again := func() {
				reply, change := h.decided(test.call())
				require.True(t, reply.Existing)
				require.True(t, change.Empty(), "a repeated call wrote something")
				require.Equal(t, int64(2), reply.Run.Run.Fence)
				h.refused(api.CodeLeaseLost, test.other())
			}
			again()
			h.must(&runs.Complete{RunID: "r", Fence: 2})
			again()
		})
	}
}

// The order of members does not matter.
func TestRepeatedEndInAnotherOrder(t *testing.T) {
	h := parallelHouse(t).start("r")
	h.must(&runs.Complete{RunID: "r", Fence: 1, Output: api.JSON(`{"a":1,"b":[1,2]}`)})
	require.True(t, h.must(&runs.Complete{RunID: "r", Fence: 1, Output: api.JSON(`{ "b": [1, 2], "a": 1.0 }`)}).Existing)
	h.refused(api.CodeRunStateConflict, &runs.Complete{RunID: "r", Fence: 1, Output: api.JSON(`{"a":1,"b":[2,1]}`)})
}

func TestRepeatedSuspendAfterItsDecision(t *testing.T) {
	h := parallelHouse(t).start("r")
	wait := func() *runs.Suspend {
		command := suspend("r", 1, approval("a"))
		command.SuspensionID = "wait-1"
		return command
	}
	h.must(wait())
	h.must(allow("r", "a"))
	reply := h.must(wait())
	require.True(t, reply.Existing)
	require.Equal(t, api.StatusRunning, reply.Run.Run.Status)
	h.must(&runs.CancelRun{RunID: "r"})
	require.True(t, h.must(wait()).Existing)
	// A fence that was never granted proves nothing.
	ahead := wait()
	ahead.Fence = 2
	h.refused(api.CodeLeaseLost, ahead)
}

// A worker may release under each of its leases, and each release is recognized.
func TestEveryReleaseIsRemembered(t *testing.T) {
	h := parallelHouse(t).create("r")
	for fence := int64(1); fence <= 3; fence++ {
		require.Equal(t, fence, h.claim("r"))
		require.False(t, h.must(&runs.Release{RunID: "r", Fence: fence, Checkpoint: api.JSON(`1`)}).Existing)
	}
	for fence := int64(1); fence <= 3; fence++ {
		require.True(t, h.must(&runs.Release{RunID: "r", Fence: fence, Checkpoint: api.JSON(`1`)}).Existing)
		h.refused(api.CodeLeaseLost, &runs.Release{RunID: "r", Fence: fence, Checkpoint: api.JSON(`2`)})
	}
	h.refused(api.CodeLeaseLost, &runs.Release{RunID: "r", Fence: 4, Checkpoint: api.JSON(`1`)})
}

func TestAttempts(t *testing.T) {
	h := parallelHouse(t).create("r")
	attempt := func() int64 {
		reply := h.must(&runs.ClaimRun{RunID: "r", WorkerID: "w"})
		require.Equal(t, strconv.FormatInt(reply.Run.Run.Fence, 10), reply.Claim.Lease.Fence)
		h.nowMs += api.DefaultLeaseMs
		return reply.Claim.Attempt
	}
	require.Equal(t, []int64{1, 2, 3}, []int64{attempt(), attempt(), attempt()})
	h.must(&runs.Release{RunID: "r", Fence: 3})
	require.Equal(t, int64(3), attempt(), "a release does not count")
	h.must(suspend("r", 4, approval("a")))
	require.Zero(t, h.run("r").Attempt)
	h.must(allow("r", "a"))
	require.Equal(t, []int64{1, 2}, []int64{attempt(), attempt()}, "a suspension starts again")
}

func TestRunWithoutProgressFails(t *testing.T) {
	h := parallelHouse(t).wait("r", approval("a"))
	h.create("next")
	h.must(allow("r", "a"))
	for range runs.DefaultMaxAttempts {
		h.claim("r")
		h.nowMs += api.DefaultLeaseMs
	}
	refusal := h.refused(api.CodeRunNotClaimable, &runs.ClaimRun{RunID: "r", WorkerID: "w"})
	require.Equal(t, "run r was given up after 10 attempts without progress", refusal.Detail)
	require.Equal(t, api.StatusFailed, h.run("r").Status)
	require.Equal(t, "given up after 10 attempts without progress", h.run("r").Error)
	require.Equal(t, api.OutcomeAllowed, h.request("r", "a").Outcome, "what was decided stays on record")
	require.NotZero(t, h.run("next").ClaimableAtMs)
	h.refused(api.CodeRunStateConflict, &runs.Complete{RunID: "r", Fence: 11})
	h.refused(api.CodeRunNotClaimable, &runs.ClaimRun{RunID: "r", WorkerID: "w"})
}

func TestProgressResetsTheAttempts(t *testing.T) {
	t.Parallel()
	for name, progress := range map[string]func(fence int64) runs.Command{
		"checkpoint": func(fence int64) runs.Command {
			return &runs.Heartbeat{RunID: "r", Fence: fence, Checkpoint: api.JSON(`1`)}
		},
		"event": func(fence int64) runs.Command {
			return &runs.AppendEvents{RunID: "r", Fence: fence, Events: []api.JSON{api.JSON(`{"type":"delta"}`)}}
		},
	} {
		inHouse(t, name, func(t *testing.T, h *house) {
			h.create("r")
			for range 3 {
				h.must(&runs.ClaimRun{RunID: "r", WorkerID: "w", MaxAttempts: 3})
				h.nowMs += api.DefaultLeaseMs
			}
			h.must(progress(3))
			h.nowMs += api.DefaultLeaseMs
			reply := h.must(&runs.ClaimRun{RunID: "r", WorkerID: "w", MaxAttempts: 3})
			require.Equal(t, int64(4), reply.Claim.Attempt)
			// A heartbeat alone does not count as progress.
			for range 2 {
				h.must(&runs.Heartbeat{RunID: "r", Fence: h.run("r").Fence})
				h.nowMs += api.DefaultLeaseMs
				h.must(&runs.ClaimRun{RunID: "r", WorkerID: "w", MaxAttempts: 3})
				h.nowMs += api.DefaultLeaseMs
			}
			h.refused(api.CodeRunNotClaimable, &runs.ClaimRun{RunID: "r", WorkerID: "w", MaxAttempts: 3})
		})
	}
}

// The errors for the holder of an old or ended lease: docs/spec/v1.md#lease-and-fence.
func TestHeartbeatAfterCancel(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]runs.Command{
		"cancel": &runs.CancelRun{RunID: "r"}, "interrupt": &runs.InterruptSession{SessionID: "s"}, "end": &runs.EndSession{SessionID: "s"},
	} {
		inHouse(t, name, func(t *testing.T, h *house) {
			h.start("r")
			h.must(stop)
			reply, change := h.decided(&runs.Heartbeat{RunID: "r", Fence: 1})
			require.True(t, reply.CancelRequested)
			require.True(t, change.Empty())
			h.refused(api.CodeLeaseLost, &runs.Heartbeat{RunID: "r"})
			h.refused(api.CodeLeaseLost, &runs.Complete{RunID: "r", Fence: 1})

			// A worker that ended its lease earlier is not the holder and is not notified.
			h = newHouse(t).start("r")
			h.must(suspend("r", 1, approval("a")))
			h.must(stop)
			h.refused(api.CodeLeaseLost, &runs.Heartbeat{RunID: "r", Fence: 1})
			require.True(t, h.must(suspend("r", 1, approval("a"))).Existing, "the very same suspend")
		})
	}
}

// A run whose lease expires is claimable again with the same resolutions and the last stored
// checkpoint.
func TestClaimAfterACrash(t *testing.T) {
	h := parallelHouse(t).start("r")
	wait := suspend("r", 1, approval("a"), question("q"))
	wait.Checkpoint = api.JSON(`{"step":1}`)
	h.must(wait)
	h.must(answer("r", "q", "north"))
	h.must(deny("r", "a"))
	first := h.must(&runs.ClaimRun{RunID: "r", WorkerID: "w1"}).Claim
	require.Len(t, first.Resume.Approvals, 1)
	require.Len(t, first.Resume.Questions, 1)
	require.Equal(t, `{"step":1}`, string(first.Checkpoint))
	require.Equal(t, `"go"`, string(first.Input))

	h.must(&runs.Heartbeat{RunID: "r", Fence: 2, Checkpoint: api.JSON(`{"step":2}`)})
	h.nowMs += api.DefaultLeaseMs
	second := h.must(&runs.ClaimRun{RunID: "r", WorkerID: "w2"}).Claim
	require.Equal(t, first.Resume, second.Resume)
	require.Equal(t, `{"step":2}`, string(second.Checkpoint))
	require.Equal(t, int64(2), second.Attempt)

	// The next plain suspension starts a new Resume.
	h.must(suspend("r", 3, approval("b")))
	h.must(allow("r", "b"))
	third := h.must(&runs.ClaimRun{RunID: "r", WorkerID: "w3"}).Claim
	require.Empty(t, third.Resume.Questions)
	require.Len(t, third.Resume.Approvals, 1)
	require.Equal(t, "b", third.Resume.Approvals[0].Request.ID)
	require.Equal(t, `{"step":2}`, string(third.Checkpoint))
}

func TestAppendedEvents(t *testing.T) {
	h := parallelHouse(t).start("r")
	appended := func(events ...string) *runs.AppendEvents {
		command := &runs.AppendEvents{RunID: "r", Fence: 1, Events: []api.JSON{}}
		for _, event := range events {
			command.Events = append(command.Events, api.JSON(event))
		}
		return command
	}
	reply := h.must(appended(`{"type":"delta","text":"a"}`, `{"type":"output","content":"hi","parts":[{"a":1}],"more":1}`))
	require.Equal(t, h.states["s"].Session.LastEventID, reply.LastEventID)
	require.Equal(t, int64(1), h.run("r").OutputCount)
	last := h.events["s"][reply.LastEventID-1]
	require.JSONEq(t, `{"type":"output","output":{"session_id":"s","run_id":"r","content":"hi","parts":[{"a":1}],"created_at_ms":1000000}}`, string(last.Body))
	// What was read can be appended. The service writes its own members.
	reply = h.must(appended(`{"type":"output","output":{"session_id":"other","run_id":"x","content":"hi","parts":[{"a":1}],"created_at_ms":7}}`,
		`{"type":"note","output":"any value"}`))
	require.Equal(t, last.Body, h.events["s"][reply.LastEventID-2].Body)
	require.Equal(t, int64(2), h.run("r").OutputCount)

	for _, test := range []struct {
		event, pointer string
	}{
		{`7`, "/events/1"},
		{`{}`, "/events/1/type"},
		{`{"type":7}`, "/events/1/type"},
		{`{"type":"output","content":"hi","parts":{}}`, "/events/1/parts"},
		{`{"type":"completed","Type":"note"}`, "/events/1/type"},
		{`{"Type":"note"}`, "/events/1/type"},
		{`{"type":"note","a":1,"a":2}`, "/events/1/a"},
		{`{"type":"a b"}`, "/events/1/type"},
		{`{"type":"output"}`, "/events/1/content"},
		{`{"type":"output","content":7}`, "/events/1/content"},
		{`{"type":"output","output":{"content":7}}`, "/events/1/output/content"},
		{`{"type":"output","output":{"content":"hi","parts":{}}}`, "/events/1/output/parts"},
		{`{"type":"output","output":{}}`, "/events/1/content"},
		{`{"type":"output","output":"hi"}`, "/events/1/content"},
		{`{"type":"completed"}`, "/events/1/type"},
		{`{"type":"snapshot"}`, "/events/1/type"},
		{`{"type":"stream_gap"}`, "/events/1/type"},
		{`{"type":"grant_redeemed"}`, "/events/1/type"},
		{`{"type":"parent_clarification_resolved"}`, "/events/1/type"},
		{`{"type":"approval_resolved"}`, "/events/1/type"},
	} {
		refusal := h.refused(api.CodeInvalidRequest, appended(`{"type":"ok"}`, test.event))
		require.Equal(t, []string{test.pointer}, pointersOf(refusal), test.event)
	}
	require.Equal(t, []string{"/events"}, pointersOf(h.refused(api.CodeInvalidRequest, appended())))
	require.Equal(t, []string{"/error"}, pointersOf(h.refused(api.CodeInvalidRequest, &runs.Fail{RunID: "r", Fence: 1})))
}

// TestAnAppendIsBounded tries appends at both limits and one beyond.
func TestAnAppendIsBounded(t *testing.T) {
	h := parallelHouse(t).start("r")
	event := func(bytes int) api.JSON {
		const empty = len(`{"type":"note","text":""}`)
		return api.JSON(`{"type":"note","text":"` + strings.Repeat("x", bytes-empty) + `"}`)
	}
	many := slices.Repeat([]api.JSON{event(30)}, api.MaxEventsPerCall+1)
	half := event(api.MaxEventBytesPerCall / 2)
	for _, test := range []struct {
		events  []api.JSON
		pointer string
	}{
		{many, "/events/256"},
		{[]api.JSON{half, half, event(30)}, "/events/2"},
		{[]api.JSON{half, event(api.MaxEventBytesPerCall/2 + 1)}, "/events/1"},
		{[]api.JSON{event(api.MaxEventBytesPerCall + 1), event(30)}, "/events/0"},
		{append(slices.Clone(many), api.JSON(`no JSON`)), "/events/256"},
	} {
		for _, key := range []string{"", "k"} {
			refused := h.refused(api.CodeAppendTooLarge, &runs.AppendEvents{RunID: "r", Fence: 1, Events: test.events, IdempotencyKey: key})
			require.Equal(t, []string{test.pointer}, pointersOf(refused))
		}
	}
	before := h.states["s"].Session.LastEventID
	for _, events := range [][]api.JSON{many[1:], {half, half}, {event(api.MaxEventBytesPerCall)}} {
		reply := h.must(&runs.AppendEvents{RunID: "r", Fence: 1, Events: events})
		before += int64(len(events))
		require.Equal(t, before, reply.LastEventID, "what was refused appended nothing")
	}
}
