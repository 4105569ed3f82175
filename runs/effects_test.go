package runs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// owing creates a family with one pending effect and returns the effect's id.
func (h *house) owing() string {
	h.t.Helper()
	h.family()
	return "open_clarification:" + h.must(ask("q")).Clarification.RunID
}

// attempt claims an effect and reports the result; an empty text means success.
func (h *house) attempt(effectID, failure string) *model.Effect {
	h.t.Helper()
	claimed := h.must(&runs.ClaimEffect{SessionID: "s", EffectID: effectID}).Effect
	require.NotNil(h.t, claimed, "it is not due")
	return h.must(&runs.FinishEffect{SessionID: "s", EffectID: effectID, Attempt: claimed.Attempts, Error: failure}).Effect
}

// Only the claimer can work on an effect until its lease lapses. A late report by an earlier
// claimer changes nothing, unless it is a success.
func TestEffectLease(t *testing.T) {
	h := parallelHouse(t)
	effectID := h.owing()
	claim := &runs.ClaimEffect{SessionID: "s", EffectID: effectID}
	finish := func(attempt int64, failure string) *runs.FinishEffect {
		return &runs.FinishEffect{SessionID: "s", EffectID: effectID, Attempt: attempt, Error: failure}
	}
	reply := h.must(claim)
	require.Equal(t, int64(1), reply.Effect.Attempts)
	require.Equal(t, h.nowMs+model.EffectLeaseMs, reply.Effect.DueAtMs)
	require.Equal(t, h.nowMs, reply.NowMs)
	require.Nil(t, h.requireUnchanged(claim).Effect)
	h.nowMs += model.EffectLeaseMs - 1
	h.requireUnchanged(claim)
	h.nowMs++
	require.Equal(t, int64(2), h.must(claim).Effect.Attempts)

	h.requireUnchanged(finish(1, "too late"))
	require.Empty(t, h.effect(effectID).LastError)
	done := h.must(finish(1, "")).Effect
	require.Equal(t, api.EffectDone, done.State, "what was done is done, whichever process reports it")
	require.Zero(t, done.DueAtMs)
	require.Equal(t, h.nowMs, done.FinishedAtMs)
	h.nowMs += model.EffectLeaseMs
	h.requireUnchanged(finish(2, "the second fails"))
	h.requireUnchanged(finish(2, ""))
	h.requireUnchanged(claim)
	h.requireUnchanged(&runs.RetryEffect{SessionID: "s", EffectID: effectID})
	require.Equal(t, h.nowMs-model.EffectLeaseMs, h.effect(effectID).FinishedAtMs)
}

// Each failed attempt doubles the pause, and the last one has none.
func TestEffectFails(t *testing.T) {
	h := parallelHouse(t)
	effectID := h.owing()
	pauses := map[int64]int64{1: 1_000, 2: 2_000, 3: 4_000, 8: 128_000, 9: 256_000, 10: 300_000, 19: 300_000}
	for attempt := int64(1); attempt < model.MaxEffectAttempts; attempt++ {
		effect := h.attempt(effectID, "no luck\x00")
		require.Equal(t, api.EffectPending, effect.State)
		require.Equal(t, attempt, effect.Attempts)
		require.Equal(t, "no luck", effect.LastError, "no database stores NUL in a text")
		require.Zero(t, effect.FinishedAtMs)
		if pause := pauses[attempt]; pause != 0 {
			require.Equal(t, pause, effect.DueAtMs-h.nowMs, "after attempt %d", attempt)
		}
		h.nowMs = effect.DueAtMs - 1
		h.requireUnchanged(&runs.ClaimEffect{SessionID: "s", EffectID: effectID})
		h.nowMs++
	}
	given := h.attempt(effectID, "no luck")
	require.Equal(t, api.EffectFailed, given.State)
	require.Zero(t, given.DueAtMs)
	require.Equal(t, h.nowMs, given.FinishedAtMs)
	requireJSON(t, `{"effect_id":"`+effectID+`","session_id":"s","run_id":"r","kind":"open_clarification","state":"failed","target_session_id":"p",
		"created_at_ms":1000000,"attempts":20,"last_error":"no luck","finished_at_ms":`+model.FenceText(h.nowMs)+`}`, given.View())
	h.nowMs += 1_000_000
	h.requireUnchanged(&runs.ClaimEffect{SessionID: "s", EffectID: effectID})
	// A repeated or different report of that attempt leaves the effect failed.
	h.requireUnchanged(&runs.FinishEffect{SessionID: "s", EffectID: effectID, Attempt: 20, Error: "again"})
	h.requireUnchanged(&runs.FinishEffect{SessionID: "s", EffectID: effectID, Attempt: 20, Error: "again", Permanent: true})

	// An operator can retry it any number of times, one attempt each.
	for attempt := int64(21); attempt < 23; attempt++ {
		retried := h.must(&runs.RetryEffect{SessionID: "s", EffectID: effectID})
		require.False(t, retried.Existing)
		require.Equal(t, api.EffectPending, retried.Effect.State)
		require.Equal(t, h.nowMs, retried.Effect.DueAtMs)
		require.Zero(t, retried.Effect.FinishedAtMs)
		h.requireUnchanged(&runs.RetryEffect{SessionID: "s", EffectID: effectID})
		failed := h.attempt(effectID, "still no luck")
		require.Equal(t, api.EffectFailed, failed.State)
		require.Equal(t, attempt, failed.Attempts)
	}
	h.must(&runs.RetryEffect{SessionID: "s", EffectID: effectID})
	done := h.attempt(effectID, "")
	require.Equal(t, api.EffectDone, done.State)
	require.Empty(t, done.LastError)
}

func TestEffectThatCannotSucceed(t *testing.T) {
	h := parallelHouse(t)
	effectID := h.owing()
	h.must(&runs.ClaimEffect{SessionID: "s", EffectID: effectID})
	reply := h.must(&runs.FinishEffect{SessionID: "s", EffectID: effectID, Attempt: 1, Error: "id_conflict", Permanent: true})
	require.Equal(t, api.EffectFailed, reply.Effect.State)
	h.requireUnchanged(&runs.FinishEffect{SessionID: "s", EffectID: effectID, Attempt: 1, Error: "a pause?"})
	// A later report says that the work was done after all.
	reply = h.must(&runs.FinishEffect{SessionID: "s", EffectID: effectID, Attempt: 1})
	require.Equal(t, api.EffectDone, reply.Effect.State)
	require.Empty(t, reply.Effect.LastError)
}

// A retry ignores the pause and another worker's lease.
func TestRetryEffectAtOnce(t *testing.T) {
	h := parallelHouse(t)
	effectID := h.owing()
	retry := &runs.RetryEffect{SessionID: "s", EffectID: effectID}
	h.requireUnchanged(retry)
	h.attempt(effectID, "broken")
	require.Equal(t, h.nowMs, h.must(retry).Effect.DueAtMs)
	require.Equal(t, int64(2), h.must(&runs.ClaimEffect{SessionID: "s", EffectID: effectID}).Effect.Attempts)
	h.must(retry)
	require.Equal(t, int64(3), h.must(&runs.ClaimEffect{SessionID: "s", EffectID: effectID}).Effect.Attempts)
	h.requireUnchanged(&runs.FinishEffect{SessionID: "s", EffectID: effectID, Attempt: 2, Error: "lost its lease"})
	require.Equal(t, "broken", h.effect(effectID).LastError)
}

func TestUnknownEffects(t *testing.T) {
	h := parallelHouse(t)
	h.owing()
	for name, command := range map[string]func(sessionID, effectID string) runs.Command{
		"claim": func(sessionID, effectID string) runs.Command {
			return &runs.ClaimEffect{SessionID: sessionID, EffectID: effectID}
		},
		"finish": func(sessionID, effectID string) runs.Command {
			return &runs.FinishEffect{SessionID: sessionID, EffectID: effectID}
		},
		"retry": func(sessionID, effectID string) runs.Command {
			return &runs.RetryEffect{SessionID: sessionID, EffectID: effectID}
		},
	} {
		require.Equal(t, "unknown effect x in session s", h.refused(api.CodeEffectNotFound, command("s", "x")).Detail, name)
		// An effect changes only under its own session's lock.
		h.refused(api.CodeEffectNotFound, command("p", h.effectIDs("s")[0]))
	}
	h.refused(api.CodeSessionNotFound, &runs.RetryEffect{SessionID: "x", EffectID: "x"})
	h.refused(api.CodeEffectNotFound, &runs.ClaimEffect{SessionID: "x", EffectID: "x"})
	for _, state := range []api.EffectState{api.EffectPending, api.EffectDone, api.EffectFailed} {
		require.True(t, model.KnownEffectState(state))
	}
	require.False(t, model.KnownEffectState(api.EffectState("lost")))
}

// A process died before or after it carried out the effect. The next attempt finds the existing
// result, and the work happens once.
func TestEffectIsTriedAgainAfterACrash(t *testing.T) {
	t.Parallel()
	for _, done := range []bool{false, true} {
		h := newHouse(t)
		effectID := h.owing()
		effect := h.must(&runs.ClaimEffect{SessionID: "s", EffectID: effectID}).Effect
		if done {
			h.must(commandOf(effect))
		}
		require.Zero(t, h.carryOut(), "somebody is at it")
		h.nowMs += model.EffectLeaseMs
		require.Equal(t, 1, h.carryOut())
		require.Len(t, h.states["p"].Runs, 1)
		require.Equal(t, int64(2), h.effect(effectID).Attempts)
	}
}
