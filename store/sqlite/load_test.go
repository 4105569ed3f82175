package sqlite

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/store/door"
)

// parentAndChild writes a parent's session, in which a run is queued, two
// clarifications wait and a third is over, and a child's session with a run that asked
// them all, its effects and its mailbox.
func parentAndChild(t *testing.T, store *Store) {
	t.Helper()
	var w runs.Writes
	for _, sessionID := range []string{"child", "parent"} {
		w.NewSessions = append(w.NewSessions, &model.Session{SessionID: sessionID, AgentID: "a", LastEventID: 1, CreatedAtMs: 1, UpdatedAtMs: 1})
	}
	w.NewSessions[0].ActiveRunID, w.NewSessions[1].QueuedCount = "asking", 1
	run := func(sessionID, runID string, status api.Status) *model.Run {
		r := &model.Run{
			RunID: runID, SessionID: sessionID, AgentID: "a", Kind: api.KindInput, Status: status,
			SubmittedAtMs: 1, UpdatedAtMs: 1, FirstEventID: 1, LastEventID: 1,
		}
		w.NewRuns = append(w.NewRuns, r)
		return r
	}
	request := func(r *model.Run, requestID string, kind model.RequestKind) {
		r.RaisedCount++
		w.NewRequests = append(w.NewRequests, &model.Request{
			SessionID: r.SessionID, RunID: r.RunID, RequestID: requestID, Handle: r.RunID + requestID, SuspensionID: "p",
			Number: r.RaisedCount, Kind: kind, Body: api.JSON(`{}`), CreatedAtMs: 1,
		})
	}
	message := func(messageID, runID string, createdAtMs, acknowledgedAtMs int64) {
		m := &model.Message{
			SessionID: "child", MessageID: messageID, RunID: runID, FromSessionID: "parent", State: api.MessagePending,
			Subject: "t", Payload: api.JSON(`{}`), CreatedAtMs: createdAtMs, AcknowledgedAtMs: acknowledgedAtMs,
		}
		if acknowledgedAtMs != 0 {
			m.State = api.MessageAcknowledged
		}
		w.NewMessages = append(w.NewMessages, m)
	}
	asking := run("child", "asking", api.StatusWaitingForUserQuestion)
	run("parent", "queued", api.StatusQueued)
	for _, runID := range []string{"c-2", "c-1", "c-over"} {
		clarification := run("parent", runID, api.StatusWaitingForUserQuestion)
		clarification.Kind, clarification.Requester = api.KindParentClarification, api.JSON(`{"requester_run_id":"asking"}`)
		request(clarification, "q-"+runID, model.KindQuestion)
		request(asking, "q-"+runID, model.KindClarification)
		w.NewEffects = append(w.NewEffects, &model.Effect{
			SessionID: "child", EffectID: "open:" + runID, RunID: "asking", Kind: api.EffectOpenClarification,
			State: api.EffectPending, TargetSessionID: "parent", Payload: api.JSON(`{}`), CreatedAtMs: 1, DueAtMs: 5,
		})
	}
	over, settled := w.NewRuns[len(w.NewRuns)-1], w.NewRequests[len(w.NewRequests)-2]
	over.Status, over.FinishedAtMs, over.SettledCount, over.ResumeAfter = api.StatusCompleted, 1, 1, 1
	settled.Outcome, settled.SettledNumber, settled.Resolution, settled.SettledAtMs = api.OutcomeAnswered, 1, api.JSON(`{}`), 1
	message("m-2", "asking", 2, 0)
	message("m-1", "other", 1, 0)
	message("m-over", "asking", 1, 1)
	require.NoError(t, commit(t.Context(), store, w))
}

func openInMemory(t *testing.T, options Options) *Store {
	t.Helper()
	store, err := Open(t.Context(), Memory, options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

// loaded names the loaded rows, besides the active run.
func loaded(t *testing.T, store *Store, load door.Load) (runIDs, requestIDs, effectIDs, messageIDs []string) {
	t.Helper()
	batch, err := (&engine{store: store}).Begin(t.Context(), []door.Load{load})
	require.NoError(t, err)
	defer batch.Rollback(t.Context())
	state := batch.State(load.SessionID)
	for key := range state.Requests {
		requestIDs = append(requestIDs, key.RunID+" "+key.RequestID)
	}
	slices.Sort(requestIDs)
	return slices.Sorted(maps.Keys(state.Runs)), requestIDs, slices.Sorted(maps.Keys(state.Effects)), slices.Sorted(maps.Keys(state.Messages))
}

func TestLoadBringsWhatIsAskedFor(t *testing.T) {
	t.Parallel()
	store := openInMemory(t, Options{})
	parentAndChild(t, store)

	runIDs, requestIDs, _, _ := loaded(t, store, door.Load{SessionID: "parent", Needs: []runs.Needs{{Clarifications: true}}})
	require.Equal(t, []string{"c-1", "c-2", "queued"}, runIDs)
	require.Equal(t, []string{"c-1 q-c-1", "c-2 q-c-2"}, requestIDs)

	named := runs.Needs{SessionRequestIDs: []string{"q-c-over", "q-none"}, SessionRequestKind: model.KindQuestion}
	runIDs, requestIDs, _, _ = loaded(t, store, door.Load{SessionID: "parent", Needs: []runs.Needs{named}})
	require.Equal(t, []string{"queued"}, runIDs)
	require.Equal(t, []string{"c-over q-c-over"}, requestIDs)
	named.Clarifications = true
	runIDs, requestIDs, _, _ = loaded(t, store, door.Load{SessionID: "parent", Needs: []runs.Needs{named}})
	require.Equal(t, []string{"c-1", "c-2", "c-over", "queued"}, runIDs, "a request is loaded with its run, even a finished one")
	require.Equal(t, []string{"c-1 q-c-1", "c-2 q-c-2", "c-over q-c-over"}, requestIDs)

	_, requestIDs, effectIDs, messageIDs := loaded(t, store, door.Load{SessionID: "child", Needs: make([]runs.Needs, 1)})
	require.Equal(t, []string{"asking q-c-1", "asking q-c-2", "asking q-c-over"}, requestIDs)
	require.Empty(t, effectIDs)
	require.Empty(t, messageIDs)

	_, _, effectIDs, messageIDs = loaded(t, store, door.Load{
		SessionID: "child", Needs: []runs.Needs{{EffectID: "open:c-1", MessageID: "m-over"}, {EffectID: "none", MessageID: "none"}},
	})
	require.Equal(t, []string{"open:c-1"}, effectIDs)
	require.Equal(t, []string{"m-over"}, messageIDs)

	_, _, _, messageIDs = loaded(t, store, door.Load{SessionID: "child", Needs: []runs.Needs{{RunID: "asking", RunMessages: true}}})
	require.Equal(t, []string{"m-2"}, messageIDs, "what the run has not acknowledged")

	_, _, _, messageIDs = loaded(t, store, door.Load{SessionID: "child", Needs: []runs.Needs{{Mailbox: true}}})
	require.Equal(t, []string{"m-1", "m-2"}, messageIDs)
	_, _, effectIDs, messageIDs = loaded(t, store, door.Load{
		SessionID: "parent", Needs: []runs.Needs{{Mailbox: true, EffectID: "open:c-1", MessageID: "m-1", RunID: "asking", RunMessages: true}},
	})
	require.Empty(t, effectIDs, "another session's")
	require.Empty(t, messageIDs, "another session's")
}

// Workers may give the requests of all runs of a session the same id. A decision about the id loads few of them.
func TestSettledRequestsWithTheSameIDAreNotLoaded(t *testing.T) {
	t.Parallel()
	store := openInMemory(t, Options{})
	w := runs.Writes{NewSessions: []*model.Session{{SessionID: "s", AgentID: "a", ActiveRunID: "active", LastEventID: 1, CreatedAtMs: 1, UpdatedAtMs: 1}}}
	add := func(runID string, kind model.RequestKind, createdAtMs int64, open bool) {
		run := &model.Run{
			RunID: runID, SessionID: "s", AgentID: "a", Kind: api.KindCall, Status: api.StatusWaitingForApproval, RaisedCount: 1,
			SubmittedAtMs: 1, UpdatedAtMs: 1, FirstEventID: 1, LastEventID: 1,
		}
		request := &model.Request{
			SessionID: "s", RunID: runID, RequestID: "same", Handle: runID, SuspensionID: "p", Number: 1, Kind: kind, Body: api.JSON(`{}`), CreatedAtMs: createdAtMs,
		}
		if !open {
			run.Status, run.FinishedAtMs, run.SettledCount, run.ResumeAfter = api.StatusCancelled, 1, 1, 1
			request.Outcome, request.SettledNumber, request.Resolution, request.SettledAtMs = api.OutcomeCancelled, 1, api.JSON(`{}`), 1
		}
		w.NewRuns, w.NewRequests = append(w.NewRuns, run), append(w.NewRequests, request)
	}
	for n := range 100 {
		add(fmt.Sprintf("approval-%02d", n), model.KindApproval, 10+int64(n)/2, false)
		add(fmt.Sprintf("question-%02d", n), model.KindQuestion, 10-int64(n)/2, false)
	}
	add("call", model.KindApproval, 1, true)
	add("active", model.KindApproval, 1, false)
	require.NoError(t, commit(t.Context(), store, w))

	needs := runs.Needs{SessionRequestIDs: []string{"same"}, SessionRequestKind: model.KindApproval}
	runIDs, requestIDs, _, _ := loaded(t, store, door.Load{SessionID: "s", Needs: []runs.Needs{needs}})
	require.Equal(t, []string{"active same", "approval-99 same", "call same"}, requestIDs)
	require.Equal(t, []string{"active"}, runIDs)
	needs.SessionRequestRuns = true
	runIDs, _, _, _ = loaded(t, store, door.Load{SessionID: "s", Needs: []runs.Needs{needs}})
	require.Equal(t, []string{"active", "approval-99", "call"}, runIDs)
	needs.SessionRequestRuns = false
	needs.SessionRequestKind, needs.Clarifications = model.KindQuestion, true
	runIDs, requestIDs, _, _ = loaded(t, store, door.Load{SessionID: "s", Needs: []runs.Needs{needs}})
	require.Equal(t, []string{"active same", "question-01 same"}, requestIDs)
	require.Equal(t, []string{"active", "question-01"}, runIDs)
}

// What a call asks its parent's session is decided there, and counts there.
func TestOpenCallsAreCountedWithoutClarifications(t *testing.T) {
	t.Parallel()
	store := openInMemory(t, Options{})
	w := runs.Writes{NewSessions: []*model.Session{{SessionID: "s", AgentID: "a", LastEventID: 1, CreatedAtMs: 1, UpdatedAtMs: 1}}}
	w.NewRuns = []*model.Run{{
		RunID: "call", SessionID: "s", AgentID: "a", Kind: api.KindCall, Status: api.StatusWaitingForApproval, RaisedCount: 3,
		SubmittedAtMs: 1, UpdatedAtMs: 1, FirstEventID: 1, LastEventID: 1,
	}}
	for n, kind := range []model.RequestKind{model.KindApproval, model.KindQuestion, model.KindClarification} {
		w.NewRequests = append(w.NewRequests, &model.Request{
			SessionID: "s", RunID: "call", RequestID: string(kind), Handle: string(kind), SuspensionID: "p", Number: int64(n + 1),
			Kind: kind, Body: api.JSON(`{}`), CreatedAtMs: 1,
		})
	}
	require.NoError(t, commit(t.Context(), store, w))
	batch, err := (&engine{store: store}).Begin(t.Context(), []door.Load{{SessionID: "s", Needs: []runs.Needs{{CountCalls: true}}}})
	require.NoError(t, err)
	defer batch.Rollback(t.Context())
	require.Equal(t, &runs.Held{Rows: 2, Bytes: 4}, batch.State("s").OpenCalls)
}

func TestMailboxIsReadFromItsOldEnd(t *testing.T) {
	t.Parallel()
	store := openInMemory(t, Options{})
	parentAndChild(t, store)
	var w runs.Writes
	for n := range model.MaxMailboxMessages + 1 {
		w.NewMessages = append(w.NewMessages, &model.Message{
			SessionID: "child", MessageID: fmt.Sprintf("n-%04d", n), RunID: "asking", FromSessionID: "parent", State: api.MessageDeadLetter,
			Subject: "t", Payload: api.JSON(`{}`), CreatedAtMs: 2, LastError: "closed",
		})
	}
	require.NoError(t, commit(t.Context(), store, w))
	_, _, _, messageIDs := loaded(t, store, door.Load{SessionID: "child", Needs: []runs.Needs{{Mailbox: true}}})
	require.Equal(t, []string{"m-1", "m-2"}, messageIDs, "dead letters do not stand in the way")
	_, _, _, messageIDs = loaded(t, store, door.Load{SessionID: "child", Needs: []runs.Needs{{DeadLetters: true}}})
	require.Len(t, messageIDs, model.MaxMailboxMessages)
	require.Contains(t, messageIDs, "n-0999")
	require.NotContains(t, messageIDs, "n-1000")
}
