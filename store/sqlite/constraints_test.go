package sqlite

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/store/door"
)

// legal returns the rows of a waiting run, which each case below spoils.
func legal() runs.Writes {
	return runs.Writes{
		NewSessions: []*model.Session{{SessionID: "s", AgentID: "a", ActiveRunID: "r", LastEventID: 1, CreatedAtMs: 1, UpdatedAtMs: 1}},
		Rows: runs.Rows{
			NewRuns: []*model.Run{{
				RunID: "r", SessionID: "s", AgentID: "a", Kind: api.KindInput, Status: api.StatusWaitingForApproval, Input: api.JSON(`1`),
				SubmittedAtMs: 1, StartedAtMs: 1, UpdatedAtMs: 1, FirstEventID: 1, LastEventID: 1, Fence: 1, WorkerID: "w", RaisedCount: 1,
			}},
			NewRequests: []*model.Request{{
				SessionID: "s", RunID: "r", RequestID: "q", Handle: "h", SuspensionID: "p", Number: 1,
				Kind: model.KindApproval, Body: api.JSON(`{}`), DueAtMs: 9, CreatedAtMs: 1,
			}},
			Events:  []*model.Event{{SessionID: "s", EventID: 1, RunID: "r", AgentID: "a", Type: api.EventAccepted, TimestampMs: 1, Body: api.JSON(`{}`)}},
			Records: []*model.IdempotencyRecord{{RecordKey: model.RecordKey{Operation: model.OperationCreateRun, Scope: "s", IdempotencyKey: "k"}, CreatedAtMs: 1}},
			NewEffects: []*model.Effect{{
				SessionID: "s", EffectID: "e", RunID: "r", Kind: api.EffectOpenClarification, State: api.EffectPending,
				TargetSessionID: "p", Payload: api.JSON(`{}`), CreatedAtMs: 1, DueAtMs: 1,
			}},
			NewMessages: []*model.Message{{
				SessionID: "s", MessageID: "m", RunID: "r", FromSessionID: "p", State: api.MessagePending, Subject: "t",
				Payload: api.JSON(`{}`), CreatedAtMs: 1,
			}},
		},
	}
}

func settled(w *runs.Writes, outcome api.Outcome) {
	request := w.NewRequests[0]
	request.Outcome, request.SettledNumber, request.Resolution, request.SettledAtMs, request.DueAtMs = outcome, 1, api.JSON(`{}`), 1, 0
}

func TestIllegalStatesAreRefusedByName(t *testing.T) {
	t.Parallel()
	cases := map[string]func(w *runs.Writes){
		"sessions_session_id_given":          func(w *runs.Writes) { w.NewSessions = append(w.NewSessions, &model.Session{AgentID: "a"}) },
		"sessions_queued_count_not_negative": func(w *runs.Writes) { w.NewSessions[0].QueuedCount = -1 },
		"sessions_ended_is_idle":             func(w *runs.Writes) { w.NewSessions[0].EndedAtMs = 1 },
		"runs_status_known":                  func(w *runs.Writes) { w.NewRuns[0].Status = "paused" },
		"runs_lease_end_known":               func(w *runs.Writes) { w.NewRuns[0].LeaseEnd = "lost" },
		"runs_counts_not_negative":           func(w *runs.Writes) { w.NewRuns[0].Attempt = -1 },
		"runs_events_in_order":               func(w *runs.Writes) { w.NewRuns[0].FirstEventID = 2 },
		"runs_settled_were_raised":           func(w *runs.Writes) { w.NewRuns[0].SettledCount = 2 },
		"runs_resume_of_settled":             func(w *runs.Writes) { w.NewRuns[0].ResumeAfter = 1 },
		"runs_finished_when_over":            func(w *runs.Writes) { w.NewRuns[0].FinishedAtMs = 1 },
		"runs_output_of_completed":           func(w *runs.Writes) { w.NewRuns[0].Output = api.JSON(`1`) },
		"runs_over_is_not_held": func(w *runs.Writes) {
			w.NewRuns[0].Status, w.NewRuns[0].FinishedAtMs, w.NewRuns[0].ClaimableAtMs = api.StatusCompleted, 1, 1
		},
		"runs_queued_was_never_held":    func(w *runs.Writes) { w.NewRuns[0].Status = api.StatusQueued },
		"runs_running_is_claimable":     func(w *runs.Writes) { w.NewRuns[0].Status = api.StatusRunning },
		"runs_waiting_is_not_claimable": func(w *runs.Writes) { w.NewRuns[0].ClaimableAtMs = 1 },
		"runs_lease_has_holder": func(w *runs.Writes) {
			w.NewRuns[0].Attached, w.NewRuns[0].LeaseExpiresAtMs, w.NewRuns[0].WorkerID = true, 9, ""
		},
		"requests_request_id_given":  func(w *runs.Writes) { w.NewRequests[0].RequestID = "" },
		"requests_number_positive":   func(w *runs.Writes) { w.NewRequests[0].Number = 0 },
		"requests_kind_known":        func(w *runs.Writes) { w.NewRequests[0].Kind = "wish" },
		"requests_outcome_known":     func(w *runs.Writes) { settled(w, "superseded") },
		"requests_outcome_fits_kind": func(w *runs.Writes) { settled(w, api.OutcomeAnswered) },
		"requests_settled_whole":     func(w *runs.Writes) { settled(w, api.OutcomeAllowed); w.NewRequests[0].Resolution = nil },
		"requests_due_while_open":    func(w *runs.Writes) { settled(w, api.OutcomeAllowed); w.NewRequests[0].DueAtMs = 1 },
		"events_event_id_positive":   func(w *runs.Writes) { w.Events[0].EventID = 0 },
		"events_type_given":          func(w *runs.Writes) { w.Events[0].Type = "" },
		"operation_known":            func(w *runs.Writes) { w.Records[0].Operation = "other" },
		"effects_effect_id_given":    func(w *runs.Writes) { w.NewEffects[0].EffectID = "" },
		"effects_kind_known":         func(w *runs.Writes) { w.NewEffects[0].Kind = "other" },
		"effects_state_known": func(w *runs.Writes) {
			w.NewEffects[0].State, w.NewEffects[0].DueAtMs, w.NewEffects[0].FinishedAtMs = "claimed", 0, 1
		},
		"effects_due_while_pending": func(w *runs.Writes) { w.NewEffects[0].DueAtMs = 0 },
		"effects_finished_when_over": func(w *runs.Writes) {
			w.NewEffects[0].State, w.NewEffects[0].DueAtMs = api.EffectDone, 0
		},
		"effects_attempts_not_negative":           func(w *runs.Writes) { w.NewEffects[0].Attempts = -1 },
		"messages_message_id_given":               func(w *runs.Writes) { w.NewMessages[0].MessageID = "" },
		"messages_state_known":                    func(w *runs.Writes) { w.NewMessages[0].State = "read" },
		"messages_acknowledged_whole":             func(w *runs.Writes) { w.NewMessages[0].AcknowledgedAtMs = 1 },
		"messages_delivery_attempts_not_negative": func(w *runs.Writes) { w.NewMessages[0].DeliveryAttempts = -1 },
		"effects.session_id, effects.effect_id":   func(w *runs.Writes) { w.NewEffects = append(w.NewEffects, w.NewEffects[0]) },
		"messages.session_id, messages.message_id": func(w *runs.Writes) {
			w.NewMessages = append(w.NewMessages, w.NewMessages[0])
		},
		"events.session_id, events.event_id": func(w *runs.Writes) { w.Events = append(w.Events, w.Events[0]) },
		"requests.handle": func(w *runs.Writes) {
			other := *w.NewRequests[0]
			other.RequestID = "other"
			w.NewRequests = append(w.NewRequests, &other)
		},
		"runs.session_id": func(w *runs.Writes) {
			other := *w.NewRuns[0]
			other.RunID = "other"
			w.NewRuns = append(w.NewRuns, &other)
		},
		"requests has no row s/r/q to update while outcome IS NULL": func(w *runs.Writes) { settled(w, api.OutcomeAllowed); w.SettledRequests = w.NewRequests },
		"runs has no row /nobody to update":                         func(w *runs.Writes) { w.UpdatedRuns = []*model.Run{{RunID: "nobody"}} },
		// The same constraint under a longer name.
		"CHECK constraint failed: requests_outcome_fits_kind": func(w *runs.Writes) {
			w.NewRequests[0].Kind = model.KindClarification
			settled(w, api.OutcomeAllowed)
		},
		"effects has no row s/none to update":  func(w *runs.Writes) { w.UpdatedEffects = []*model.Effect{{SessionID: "s", EffectID: "none"}} },
		"messages has no row s/none to update": func(w *runs.Writes) { w.UpdatedMessages = []*model.Message{{SessionID: "s", MessageID: "none"}} },
	}
	store, err := Open(t.Context(), Memory, Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	for name, spoil := range cases {
		writes := legal()
		spoil(&writes)
		err := commit(t.Context(), store, writes)
		require.ErrorIs(t, err, door.ErrRefused, name)
		require.ErrorContains(t, err, name)
	}
	require.NoError(t, commit(t.Context(), store, legal()), "what is left is legal, and nothing of the others was written")
}

func commit(ctx context.Context, store *Store, writes runs.Writes) error {
	batch, err := (&engine{store: store}).Begin(ctx, nil)
	if err != nil {
		return err
	}
	defer batch.Rollback(ctx)
	return batch.Commit(ctx, writes)
}

func TestACancelledReadLeavesTheStoreWell(t *testing.T) {
	t.Parallel()
	store, err := Open(t.Context(), Memory, Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	_, err = store.Do(t.Context(), &runs.CreateSession{SessionID: "s"})
	require.NoError(t, err)
	gone := errors.New("the caller has gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	for range 20 {
		_, err = store.Session(ctx, "s")
		require.ErrorIs(t, err, gone)
	}
	record, err := store.Session(t.Context(), "s")
	require.NoError(t, err)
	require.Equal(t, "s", record.Session.SessionID)
}
