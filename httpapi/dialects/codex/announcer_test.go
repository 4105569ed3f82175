package codex

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/store/sqlite"
)

// A database that lost events reuses their ids. Frames show the event itself, not an earlier one
// with its id.
func TestAnEventOfAnotherHistoryIsShownAsItIs(t *testing.T) {
	t.Parallel()
	a := newAnnouncer(kit.Services{})
	for _, command := range []string{"make test", "make deploy", "make test"} {
		event := &model.Event{SessionID: "s", EventID: 3, RunID: "r", Type: api.EventWaitingForApproval, Body: api.JSON(fmt.Sprintf(
			`{"type":"waiting_for_approval","requests":[{"id":"q","tool_name":"bash","handle":"h","input":{"command":%q}}]}`, command))}
		var err error
		event.BodyDigest, err = event.DigestOfBody()
		require.NoError(t, err)
		frames, err := a.frames(event)
		require.NoError(t, err)
		require.Len(t, frames, 2)
		for _, frame := range frames {
			require.Contains(t, string(frame), command)
		}
	}
	require.Equal(t, 2, a.announcements.Len(), "the same event is put into words once")
}

// unlimited is the service of a caller that may read everything.
type unlimited struct{ runs.Store }

func (u unlimited) Reader(context.Context) reads.Reader { return u.Store }

// A run id may be used again after its run was deleted. Its request is announced as settled by its own handle, and not
// by the one that was cached for the earlier run.
func TestARunIDThatIsUsedAgain(t *testing.T) {
	t.Parallel()
	store, err := sqlite.Open(t.Context(), sqlite.Memory, sqlite.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	a := newAnnouncer(kit.Services{Store: unlimited{store}, Draining: t.Context()})
	earlier := &model.Event{SessionID: "s", EventID: 3, RunID: "r", Type: api.EventWaitingForApproval, TimestampMs: 1, Body: api.JSON(
		`{"type":"waiting_for_approval","requests":[{"id":"q","tool_name":"bash","handle":"earlier","input":1}]}`)}
	_, err = a.frames(earlier)
	require.NoError(t, err)

	do := func(command runs.Command) runs.Reply {
		reply, err := store.Do(t.Context(), command)
		require.NoError(t, err)
		return reply
	}
	do(&runs.CreateRun{SessionID: "s", SessionGiven: true, RunID: "r", Input: api.JSON(`1`)})
	do(&runs.ClaimRun{RunID: "r", WorkerID: "w"})
	handle := do(&runs.Suspend{RunID: "r", Fence: 1, Suspension: api.Suspension{Approvals: []api.ApprovalRequest{
		{ID: "q", ToolCallID: "c", ToolName: "bash", Input: api.JSON(`1`)},
	}}}).Run.Requests[0].Handle
	do(&runs.ResolveApprovals{RunID: "r", Resolutions: []runs.ApprovalDecision{{RequestID: "q", Behavior: api.BehaviorAllow}}})
	log, _, err := store.EventsWithin(t.Context(), reads.EventQuery{SessionID: "s", Limit: 100, MaxBytes: api.MaxReplyBytes})
	require.NoError(t, err)
	settled := 0
	for i := range log {
		if log[i].Type != api.EventApprovalResolved {
			continue
		}
		settled++
		frames, err := a.frames(&log[i])
		require.NoError(t, err)
		require.Len(t, frames, 1)
		require.Contains(t, string(frames[0]), handle)
	}
	require.Equal(t, 1, settled)
}

// starts counts how often the start of a run is read.
type starts struct {
	reads.Reader
	read *int
}

func (s starts) SettledAfter(ctx context.Context, runID string, after int64) (*model.Run, []model.Request, error) {
	*s.read++
	return s.Reader.SettledAfter(ctx, runID, after)
}

type countsStarts struct {
	unlimited
	read int
}

func (c *countsStarts) Reader(ctx context.Context) reads.Reader {
	return starts{c.unlimited.Reader(ctx), &c.read}
}

// The settled requests of a run that was deleted meanwhile are announced by their cached handles. The run is read once
// for an event, and not at all without a cached handle to check.
func TestTheRunOfASettledRequestWasDeleted(t *testing.T) {
	t.Parallel()
	database, err := sqlite.Open(t.Context(), sqlite.Memory, sqlite.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, database.Close()) })
	store := &countsStarts{unlimited: unlimited{database}}
	a := newAnnouncer(kit.Services{Store: store, Draining: t.Context()})
	raised := &model.Event{SessionID: "s", EventID: 3, RunID: "r", Type: api.EventWaitingForApproval, TimestampMs: 1, Body: api.JSON(
		`{"type":"waiting_for_approval","requests":[{"id":"a","tool_name":"bash","handle":"first","input":1},{"id":"b","tool_name":"bash","handle":"second","input":1}]}`)}
	_, err = a.frames(raised)
	require.NoError(t, err)
	require.Zero(t, store.read)
	settled := &model.Event{SessionID: "s", EventID: 4, RunID: "r", Type: api.EventApprovalResolved, TimestampMs: 2, Body: api.JSON(
		`{"type":"approval_resolved","resolutions":[{"request_id":"a","outcome":"allowed"},{"request_id":"b","outcome":"denied"}]}`)}
	frames, err := a.frames(settled)
	require.NoError(t, err)
	require.Len(t, frames, 2)
	require.Contains(t, string(frames[0]), "first")
	require.Contains(t, string(frames[1]), "second")
	require.Equal(t, 1, store.read)

	_, err = newAnnouncer(a.services).frames(settled)
	require.Error(t, err, "without the handles the lists must be read again")
	require.Equal(t, 1, store.read)
}

// The inbox repeats the events after one that it delivers late. They are sent again, or what they settle
// would stay open at the client.
func TestAnEventThatIsDeliveredLate(t *testing.T) {
	t.Parallel()
	s := &socket{}
	sent := func(eventID int64) bool {
		return !s.sentBefore(&model.Event{SessionID: "s", EventID: eventID, TimestampMs: 1_000})
	}
	require.True(t, sent(5))
	require.True(t, sent(7))
	require.True(t, sent(3), "it was never sent")
	require.True(t, sent(5))
	require.True(t, sent(7))
	for _, again := range []int64{3, 5, 7} {
		require.False(t, sent(again))
	}
	for next := range int64(2 * maxSent) {
		require.True(t, sent(8+next))
		require.False(t, sent(8+next))
	}
	require.LessOrEqual(t, len(s.seen["s"]), maxSent)
}

// A socket sends no event twice, but all of a session that has the id of an earlier one.
func TestASessionIDThatIsUsedAgain(t *testing.T) {
	t.Parallel()
	s := &socket{}
	sent := func(eventID, timestampMs int64) bool {
		return !s.sentBefore(&model.Event{SessionID: "s", EventID: eventID, TimestampMs: timestampMs})
	}
	require.True(t, sent(56, 1_000))
	require.True(t, sent(57, 1_000))
	require.False(t, sent(56, 1_000))
	require.False(t, sent(57, 1_000))
	require.True(t, sent(3, 9_000), "of a later session")
	require.True(t, sent(4, 9_000))
	require.False(t, sent(3, 9_000))
}
