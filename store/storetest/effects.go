package storetest

import (
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// askers creates runs in separate sessions, each of which has asked its parent. It returns the
// sorted ids of the effects that create the clarifications.
func (h *harness) askers(names ...string) []string {
	h.Helper()
	h.do(&runs.CreateSession{SessionID: "parent"})
	ids := make([]string, len(names))
	for i, name := range names {
		fence := h.childIn("session-of-"+name, name)
		ids[i] = openID(h.ask(name, fence, "q", true))
	}
	slices.Sort(ids)
	return ids
}

func (h *harness) claimEffect(sessionID, effectID string) *model.Effect {
	h.Helper()
	return h.do(&runs.ClaimEffect{SessionID: sessionID, EffectID: effectID}).Effect
}

var effectTests = map[string]func(*harness){
	"effect/written with the decision": func(h *harness) {
		fence := h.child("asker")
		h.refuse(api.CodeLeaseLost, &runs.AskClarification{RunID: "asker", Fence: fence + 1, Request: question("q")})
		require.Empty(h, h.effects(reads.EffectQuery{Limit: 10}), "a refused decision has no effects")
		clarificationID := h.ask("asker", fence, "q", true)
		require.Equal(h, []string{openID(clarificationID)}, h.dueEffects(10))
		list := h.effects(reads.EffectQuery{Limit: 10})
		require.Len(h, list, 1)
		require.Equal(h, "child", list[0].SessionID)
		require.Equal(h, "asker", list[0].RunID)
		require.Equal(h, api.EffectOpenClarification, list[0].Kind)
		require.Equal(h, api.EffectPending, list[0].State)
		require.Equal(h, "parent", list[0].TargetSessionID)
		require.Equal(h, int64(clockStart), list[0].CreatedAtMs)
		require.Equal(h, int64(clockStart), list[0].DueAtMs)
		require.Zero(h, list[0].Attempts)

		effect := h.claimEffect("child", list[0].EffectID)
		require.Equal(h, string(list[0].Payload), string(effect.Payload))
		h.do(commandOf(effect))
		require.Equal(h, api.StatusWaitingForUserQuestion, h.run(clarificationID).Run.Status)
	},
	"effect/a watch over a worker is due when it may be gone": func(h *harness) {
		fence := h.started("s", "r")
		h.do(&runs.Suspend{RunID: "r", Fence: fence, Suspension: api.Suspension{
			Hold: true, CancelWhenAbandoned: true, Approvals: []api.ApprovalRequest{approval("a")},
		}})
		require.Empty(h, h.dueEffects(10))
		look := func() *model.Effect {
			due := h.dueEffects(10)
			require.Len(h, due, 1)
			abandoned := commandOf(h.claimEffect("s", due[0])).(*runs.CancelAbandoned)
			abandoned.ServingForMs = 1_000_000
			return h.do(abandoned).Effect
		}
		h.clock.Advance(api.DefaultLeaseMs)
		h.do(&runs.Heartbeat{RunID: "r", Fence: fence})
		h.clock.Advance(api.DefaultLeaseMs)
		require.Equal(h, api.EffectPending, look().State)
		require.Empty(h, h.dueEffects(10), "it is looked at again when it may be time")
		h.clock.Advance(api.DefaultLeaseMs)
		require.Equal(h, api.EffectDone, look().State)
		require.Equal(h, api.StatusCancelled, h.run("r").Run.Status)
	},
	"effect/a lease lasts as long as the engine's clock says": func(h *harness) {
		id := h.askers("asker")[0]
		const session = "session-of-asker"
		first := h.claimEffect(session, id)
		require.Equal(h, int64(1), first.Attempts)
		require.Empty(h, h.dueEffects(10))
		require.Nil(h, h.claimEffect(session, id))
		h.clock.Advance(model.EffectLeaseMs - 1)
		require.Empty(h, h.dueEffects(10))
		require.Nil(h, h.claimEffect(session, id))
		h.clock.Advance(1)
		require.Equal(h, []string{id}, h.dueEffects(10), "its worker is gone")
		second := h.claimEffect(session, id)
		require.Equal(h, int64(2), second.Attempts)

		stale := h.do(&runs.FinishEffect{SessionID: session, EffectID: id, Attempt: 1, Error: "too late"})
		require.True(h, stale.Existing)
		require.Empty(h, h.effects(reads.EffectQuery{Limit: 1})[0].LastError)
		h.do(&runs.FinishEffect{SessionID: session, EffectID: id, Attempt: 2})
		done := h.effects(reads.EffectQuery{Limit: 1})[0]
		require.Equal(h, api.EffectDone, done.State)
		require.Equal(h, h.clock.NowMs(), done.FinishedAtMs)
		require.Zero(h, done.DueAtMs)
		h.clock.Advance(10 * model.EffectLeaseMs)
		require.Empty(h, h.dueEffects(10), "a finished effect is no longer pending")
		require.Nil(h, h.claimEffect(session, id))
		require.True(h, h.do(&runs.RetryEffect{SessionID: session, EffectID: id}).Existing)
	},
	"effect/a pause after a failure, and the end of trying": func(h *harness) {
		id := h.askers("asker")[0]
		const session = "session-of-asker"
		for attempt := int64(1); attempt <= model.MaxEffectAttempts; attempt++ {
			require.Equal(h, []string{id}, h.dueEffects(10))
			require.Equal(h, attempt, h.claimEffect(session, id).Attempts)
			failed := h.do(&runs.FinishEffect{SessionID: session, EffectID: id, Attempt: attempt, Error: "no answer"}).Effect
			require.Equal(h, "no answer", failed.LastError)
			require.Empty(h, h.dueEffects(10))
			if failed.State == api.EffectPending {
				h.clock.Advance(failed.DueAtMs - h.clock.NowMs() - 1)
				require.Empty(h, h.dueEffects(10), "attempt %d is not due yet", attempt+1)
				h.clock.Advance(1)
			}
		}
		given := h.effects(reads.EffectQuery{State: api.EffectFailed, Limit: 10})
		require.Len(h, given, 1)
		require.Equal(h, "no answer", given[0].LastError)
		require.Equal(h, h.clock.NowMs(), given[0].FinishedAtMs)
		h.clock.Advance(1_000_000)
		require.Empty(h, h.dueEffects(10), "it was given up")

		require.False(h, h.do(&runs.RetryEffect{SessionID: session, EffectID: id}).Existing)
		require.Equal(h, []string{id}, h.dueEffects(10))
		retried := h.effects(reads.EffectQuery{State: api.EffectPending, Limit: 10})
		require.Len(h, retried, 1)
		require.Zero(h, retried[0].FinishedAtMs)
		h.carryOut()
		require.Len(h, h.effects(reads.EffectQuery{State: api.EffectDone, Limit: 10}), 1)
	},
	"effect/a failure that is for good": func(h *harness) {
		id := h.askers("asker")[0]
		h.claimEffect("session-of-asker", id)
		h.do(&runs.FinishEffect{SessionID: "session-of-asker", EffectID: id, Attempt: 1, Error: "never", Permanent: true})
		require.Empty(h, h.dueEffects(10))
		require.Len(h, h.effects(reads.EffectQuery{State: api.EffectFailed, Limit: 10}), 1)
	},
	"effect/due the longest first": func(h *harness) {
		first := h.askers("z")
		h.clock.Advance(1)
		second := h.askers("c", "a", "b")
		h.clock.Advance(1)
		third := h.askers("y")
		due := h.dueEffects(10)
		require.Len(h, due, 5)
		require.Equal(h, first[0], due[0])
		require.ElementsMatch(h, second, due[1:4])
		require.Equal(h, third[0], due[4])
		for _, limit := range []int{1, 2, 4} {
			require.Equal(h, due[:limit], h.dueEffects(limit), "the limit leaves the later ones out")
		}
		// A failure moves to the end of the queue.
		h.claimEffect("session-of-z", first[0])
		h.do(&runs.FinishEffect{SessionID: "session-of-z", EffectID: first[0], Attempt: 1, Error: "busy"})
		h.clock.Advance(60_000)
		require.Equal(h, append(slices.Clone(due[1:]), first[0]), h.dueEffects(10))
	},
	"effect/one of many who claim it gets it": func(h *harness) { oneHasIt(h, h.store) },
	"effect/unknown": func(h *harness) {
		id := h.askers("asker")[0]
		for _, test := range [][2]string{
			{"parent", id},
			{"session-of-asker", "open_clarification:other"},
			{"nobody", id},
			{"session-of-asker", ""},
			{"session-of-asker", "nul \x00 and \xff"},
		} {
			h.refuse(api.CodeEffectNotFound, &runs.ClaimEffect{SessionID: test[0], EffectID: test[1]})
			h.refuse(api.CodeEffectNotFound, &runs.FinishEffect{SessionID: test[0], EffectID: test[1], Attempt: 1})
		}
		h.refuse(api.CodeEffectNotFound, &runs.RetryEffect{SessionID: "parent", EffectID: id})
		h.refuse(api.CodeSessionNotFound, &runs.RetryEffect{SessionID: "nobody", EffectID: id})
		require.Equal(h, []string{id}, h.dueEffects(10))
		require.Empty(h, h.effects(reads.EffectQuery{SessionID: "nul \x00 and \xff", Limit: 10}))
	},
	"effect/the list, page by page": func(h *harness) {
		var names []string
		for n := range 12 {
			names = append(names, numbered("run", n))
		}
		same := h.askers(names[:8]...)
		h.clock.Advance(1)
		later := h.askers(names[8:]...)
		all := append(slices.Clone(same), later...)
		h.claimEffect("session-of-run-002", h.effectIDOf("run-002"))
		h.do(&runs.FinishEffect{SessionID: "session-of-run-002", EffectID: h.effectIDOf("run-002"), Attempt: 1})
		failed := []string{h.effectIDOf("run-003"), h.effectIDOf("run-008")} // in the order of the list: one of each moment
		for i, name := range []string{"run-003", "run-008"} {
			h.claimEffect("session-of-"+name, failed[i])
			h.do(&runs.FinishEffect{SessionID: "session-of-" + name, EffectID: failed[i], Attempt: 1, Error: "refused", Permanent: true})
		}
		for _, limit := range []int{1, 2, 5, 11, 12, 13} {
			require.Equal(h, all, h.pageEffects(reads.EffectQuery{Limit: limit}, nil))
			require.Equal(h, []string{h.effectIDOf("run-002")}, h.pageEffects(reads.EffectQuery{Limit: limit, State: api.EffectDone}, nil))
			require.Equal(h, []string{h.effectIDOf("run-009")}, h.pageEffects(reads.EffectQuery{Limit: limit, SessionID: "session-of-run-009"}, nil))
			require.Empty(h, h.pageEffects(reads.EffectQuery{Limit: limit, SessionID: "session-of-run-009", State: api.EffectFailed}, nil))
			require.Equal(h, []string{h.effectIDOf("run-009")}, h.pageEffects(reads.EffectQuery{Limit: limit, SessionID: "session-of-run-009", State: api.EffectPending}, nil))
			require.Len(h, h.pageEffects(reads.EffectQuery{Limit: limit, State: api.EffectPending}, nil), 9)
			require.Equal(h, failed, h.pageEffects(reads.EffectQuery{Limit: limit, State: api.EffectFailed}, nil))
			require.Equal(h, failed[:1], h.pageEffects(reads.EffectQuery{Limit: limit, SessionID: "session-of-run-003", State: api.EffectFailed}, nil))
		}
		newestFailed := h.effects(reads.EffectQuery{Limit: 2, State: api.EffectFailed, Newest: true})
		require.Len(h, newestFailed, 2)
		require.Equal(h, []string{failed[1], failed[0]}, []string{newestFailed[0].EffectID, newestFailed[1].EffectID})
		require.Empty(h, h.effects(reads.EffectQuery{Limit: 10, State: "unknown"}))
		newest := h.effects(reads.EffectQuery{Limit: 2, State: api.EffectPending, Newest: true})
		require.Len(h, newest, 2)
		pending := slices.DeleteFunc(slices.Clone(later), func(id string) bool { return id == failed[1] })
		require.Equal(h, []string{pending[2], pending[1]}, []string{newest[0].EffectID, newest[1].EffectID})
		// Changes meanwhile neither hide a row nor repeat one.
		page := 0
		shown := h.pageEffects(reads.EffectQuery{Limit: 2}, func() {
			page++
			if page <= 4 {
				h.clock.Advance(1)
				h.askers(numbered("new", page))
				name := names[3*page-1]
				h.claimEffect("session-of-"+name, h.effectIDOf(name))
			}
		})
		require.Equal(h, all, shown[:len(all)])
		require.Len(h, shown, len(all)+4)
	},
	"effect/told of after the commit, to this process": func(h *harness) {
		notices := make(chan reads.Notice, 1_000)
		defer h.store.Subscribe(func(notice reads.Notice) {
			if notice.SessionID == "child" || notice.SessionID == "parent" {
				notices <- notice
			}
		})()
		fence := h.child("asker")
		clarificationID := h.ask("asker", fence, "q", true)
		notice := firstOwed(notices)
		require.Equal(h, []reads.DueEffect{{SessionID: "child", EffectID: openID(clarificationID)}}, notice.Owed)
		require.Equal(h, []string{openID(clarificationID)}, h.dueEffects(10), "who is told finds it")
		require.Equal(h, h.session("child").Session.LastEventID, notice.LastEventID)

		// An attempt adds no effect. A failed one is due later; a retried one immediately.
		effect := h.claimEffect("child", openID(clarificationID))
		h.do(&runs.FinishEffect{SessionID: "child", EffectID: effect.EffectID, Attempt: 1, Error: "busy"})
		h.do(&runs.RetryEffect{SessionID: "child", EffectID: effect.EffectID})
		require.Equal(h, []reads.DueEffect{{SessionID: "child", EffectID: effect.EffectID}}, firstOwed(notices).Owed)
		h.carryOut()
		h.do(&runs.AnswerQuestion{RunID: clarificationID, Resolution: answer("q", "left"), Actor: person})
		require.Equal(h, []reads.DueEffect{{SessionID: "parent", EffectID: deliverID(clarificationID)}}, firstOwed(notices).Owed,
			"opening it announced no pending effect")
	},
}

func firstOwed(notices <-chan reads.Notice) reads.Notice {
	for notice := range notices {
		if len(notice.Owed) > 0 {
			return notice
		}
	}
	return reads.Notice{}
}

// effectIDOf returns the id of the one effect of a run that asked.
func (h *harness) effectIDOf(name string) string {
	h.Helper()
	list := h.effects(reads.EffectQuery{SessionID: "session-of-" + name, Limit: 2})
	require.Len(h, list, 1)
	return list[0].EffectID
}

// pageEffects walks a list of effects by its cursor, and calls between, if set, after each page.
func (h *harness) pageEffects(q reads.EffectQuery, between func()) []string {
	h.Helper()
	var ids []string
	for range 100 {
		page := h.effects(q)
		require.LessOrEqual(h, len(page), q.Limit)
		for i := range page {
			ids = append(ids, page[i].EffectID)
		}
		if len(page) < q.Limit {
			return ids
		}
		last := page[len(page)-1]
		q.After = &reads.EffectPosition{CreatedAtMs: last.CreatedAtMs, EffectID: last.EffectID}
		if between != nil {
			between()
		}
	}
	require.Fail(h, "the list does not end")
	return nil
}

// oneHasIt has many callers claim the same effects concurrently, on any of the stores.
func oneHasIt(h *harness, stores ...runs.Store) {
	h.Helper()
	for _, id := range h.askers("a", "b", "c", "d", "e", "f", "g", "h") {
		effects := h.effects(reads.EffectQuery{Limit: 100})
		at := slices.IndexFunc(effects, func(e model.Effect) bool { return e.EffectID == id })
		got := make([]*model.Effect, 8)
		each(h, len(got), func(n int) error {
			reply, err := stores[n%len(stores)].Do(h.ctx, &runs.ClaimEffect{SessionID: effects[at].SessionID, EffectID: id})
			got[n] = reply.Effect
			return err
		})
		got = slices.DeleteFunc(got, func(e *model.Effect) bool { return e == nil })
		require.Len(h, got, 1)
		require.Equal(h, int64(1), got[0].Attempts)
	}
}
