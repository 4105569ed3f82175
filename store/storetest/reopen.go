package storetest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/loop"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// reopen closes the store and reopens the database.
func (h *harness) reopen() {
	h.Helper()
	require.NoError(h, h.store.Close())
	h.store = h.open()
}

// restartAfter closes the store, reopens it after a while as the store of a service that notifies people, and makes
// one pass of its effects loop.
func (h *harness) restartAfter(forMs int64) {
	h.Helper()
	require.NoError(h, h.store.Close())
	h.clock.Advance(forMs)
	h.store = h.database.Open(h, Options{Clock: h.clock, LockWait: lockWait, NotifyAfter: time.Second})
	effects := loop.NewEffects(h.store, loop.EffectsOptions{Recipients: func(_ context.Context, advance *runs.AdvanceRequest) error {
		for step, who := range []string{"user:ada", "user:ben"} {
			advance.Steps = append(advance.Steps, runs.DueStep{Step: int64(step), To: []runs.Recipient{{Principal: who, Channel: "mail"}}})
		}
		return nil
	}})
	result, err := effects.RunOnce(h.ctx)
	require.NoError(h, err)
	require.Zero(h, result.Failed)
}

// notified returns the messages to people, sorted, with the time since the start of the test.
func (h *harness) notified() (messages []string) {
	h.Helper()
	for _, effect := range h.effects(reads.EffectQuery{WebhookID: model.NoticeWebhookID("mail"), Limit: 10}) {
		notice, err := model.NoticeOf(&effect)
		require.NoError(h, err)
		messages = append(messages, fmt.Sprintf("%s after %d", notice.Principal, effect.CreatedAtMs-clockStart))
	}
	slices.Sort(messages)
	return messages
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
	"reopen/what became of messages": func(h *harness) {
		require.NoError(h, h.store.Close())
		h.store = h.database.Open(h, Options{Clock: h.clock, LockWait: lockWait, NotifyAfter: time.Second})
		raised := approvals("a", "b")
		raised.Approvals[0].Escalation = &api.Escalation{Steps: []api.EscalationStep{{Notify: []string{"role:admin"}}}}
		h.wait("s", "r", raised)
		handle, other := h.run("r").Requests[0].Handle, h.run("r").Requests[1].Handle
		advance := commandOf(h.claimEffect("s", model.EffectID(api.EffectAdvanceRequest, handle))).(*runs.AdvanceRequest)
		advance.Steps = []runs.DueStep{{To: []runs.Recipient{{Principal: "user:ada", Channel: "mail"}, {Principal: "user:ben", Channel: "push"}}}}
		h.do(advance)
		of := func(limit int, channels ...string) ([]reads.PersonMessage, bool) {
			messages, whole, err := h.store.PersonMessages(h.ctx, channels, []string{handle, other, "unknown"}, limit)
			require.NoError(h, err)
			return messages, whole
		}
		to := func(channel, principal string, state api.EffectState, attempts int64, atInbox bool) reads.PersonMessage {
			return reads.PersonMessage{
				Handle: handle, Channel: channel, NoticePlace: model.NoticePlace{Person: model.PersonInID(principal)},
				State: state, Attempts: attempts, AtInbox: atInbox,
			}
		}
		messages, whole := of(10, "mail", "push", "slack")
		require.Equal(h, []reads.PersonMessage{to("mail", "user:ada", api.EffectPending, 0, false), to("push", "user:ben", api.EffectPending, 0, false)}, messages)
		require.True(h, whole)

		finish := func(channel, principal string, change func(*runs.FinishEffect)) {
			effect := h.claimEffect("s", model.NoticeEffectID(channel, handle, principal, 0))
			done := &runs.FinishEffect{SessionID: "s", EffectID: effect.EffectID, Attempt: effect.Attempts, RunID: "r"}
			change(done)
			h.do(done)
		}
		finish("mail", "user:ada", func(*runs.FinishEffect) {})
		finish("push", "user:ben", func(f *runs.FinishEffect) { f.PutOffMs, f.Error = 1_000, model.HeldAtInbox })
		messages, _ = of(10, "mail", "push")
		require.Equal(h, []reads.PersonMessage{to("mail", "user:ada", api.EffectDone, 1, false), to("push", "user:ben", api.EffectPending, 0, true)}, messages)
		messages, whole = of(0, "push")
		require.Empty(h, messages)
		require.False(h, whole, "there is one more than the limit")
		messages, whole = of(10)
		require.Empty(h, messages)
		require.True(h, whole)
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
		count, err := h.store.CountSessions(h.ctx, reads.SessionQuery{})
		require.NoError(h, err)
		require.Equal(h, accepted.Load(), count)
	},
	"reopen/pending and finished deliveries are kept": func(h *harness) {
		fence := h.child("asker")
		unparked := h.ask("asker", fence, "q-1", false)
		parked := h.ask("asker", fence, "q-2", true)
		h.claimEffect("child", openID(unparked))
		h.reopen()
		require.Equal(h, []string{openID(parked)}, h.dueEffects(10), "the lease of the other one goes on")
		require.Equal(h, unparked, h.run("asker").Requests[0].Clarification().WaitingOn.RunID)
		h.clock.Advance(model.EffectLeaseMs)
		h.carryOut()
		h.reopen()
		require.Len(h, h.session("parent").Besides, 2)
		h.do(&runs.AnswerQuestion{RunID: unparked, Resolution: answer("q-1", "left"), Actor: person})
		h.do(&runs.AnswerQuestion{RunID: parked, Resolution: answer("q-2", "left"), Actor: person})
		effects := h.effects(reads.EffectQuery{Limit: 10})
		h.reopen()
		require.Equal(h, effects, h.effects(reads.EffectQuery{Limit: 10}))
		h.carryOut()
		require.Len(h, h.mailbox("child"), 2)
		h.reopen()
		require.Empty(h, h.dueEffects(10))
		require.Empty(h, h.mailbox("child"), "the reading has them")
		h.claim("asker")
		h.clock.Advance(model.MessageLeaseMs)
		require.Equal(h, []string{model.MessageIDOf("q-1")}, h.mailbox("child"))
	},
	"reopen/rules and answers in part are there": func(h *harness) {
		h.addRule("", "l", anyInput)
		h.addRule("s", "revoked", anyInput)
		h.do(&runs.RevokeRule{SessionID: "s", RuleID: "revoked"})
		h.wait("s", "r", twoQuestions("q"))
		h.do(part("route"))
		before := h.run("r")
		h.reopen()
		require.Equal(h, before, h.run("r"))
		h.refuse(api.CodeQuestionStateConflict, part("route"))
		h.do(part("speed"))
		require.Equal(h, []string{"r"}, h.claimable())
		require.Equal(h, "l", h.settledBy("other", "r-2", approval("a")))
		h.do(&runs.RevokeRule{RuleID: "l"})
		h.reopen()
		require.Empty(h, h.settledBy("other", "r-3", approval("a")))
		require.Equal(h, []string{"l 1", "revoked 0"}, h.rules(reads.RuleQuery{Limit: 10}))
	},
	"reopen/the steps of an escalation keep their times": func(h *harness) {
		const lateMs, secondMs = 60_000, 3_600_000
		request := approval("a")
		request.Escalation = &api.Escalation{Steps: []api.EscalationStep{
			{Notify: []string{"user:ada"}}, {AfterMs: secondMs, Notify: []string{"user:ben"}},
		}}
		h.restartAfter(0)
		h.wait("s", "r", api.Suspension{Approvals: []api.ApprovalRequest{request}})
		h.restartAfter(lateMs)
		first := []string{"user:ada after 60000"}
		require.Equal(h, first, h.notified(), "late, but the second step counts from the request")
		const downMs = (secondMs - lateMs) / 4
		for range 3 {
			h.restartAfter(downMs)
			require.Equal(h, first, h.notified())
		}
		h.restartAfter(downMs - 1)
		require.Equal(h, first, h.notified(), "a moment before its time")
		both := []string{first[0], "user:ben after 3600000"}
		for _, forMs := range []int64{1, 0, secondMs, secondMs} {
			h.restartAfter(forMs)
			require.Equal(h, both, h.notified(), "exactly once")
		}
	},
	"reopen/a message that is held back ages from the moment it is due": func(h *harness) {
		const heldMs = 3_600_000
		request := approval("a")
		request.Escalation = &api.Escalation{Steps: []api.EscalationStep{{Notify: []string{"user:ada"}}}}
		h.restartAfter(0)
		h.wait("s", "r", api.Suspension{Approvals: []api.ApprovalRequest{request}})
		h.restartAfter(0)
		id := h.effects(reads.EffectQuery{WebhookID: model.NoticeWebhookID("mail"), Limit: 10})[0].EffectID
		pending := func() []model.EffectTally {
			found, err := h.store.Vitals(h.ctx, 10)
			require.NoError(h, err)
			return found.Effects
		}
		since := func(ms int64) []model.EffectTally {
			return []model.EffectTally{{Kind: api.EffectNotify, State: api.EffectPending, Tally: model.Tally{Count: 1, OldestMs: ms}}}
		}
		require.Equal(h, since(clockStart), pending())
		h.clock.Advance(10)
		attempt := h.claimEffect("s", id).Attempts
		h.do(&runs.FinishEffect{SessionID: "s", EffectID: id, Attempt: attempt, PutOffMs: heldMs})
		require.Equal(h, since(clockStart+10+heldMs), pending())
		h.clock.Advance(heldMs + 5)
		require.Equal(h, since(clockStart+10+heldMs), pending(), "five milliseconds late")

		h.claimEffect("s", id)
		require.Equal(h, since(clockStart), pending(), "an attempt is under way")
		h.clock.Advance(model.WebhookLeaseMs) // it was interrupted
		for _, hold := range []runs.FinishEffect{
			{PutOffMs: heldMs}, {PutOffMs: 30_000, Error: model.HeldAtInbox}, {PutOffMs: heldMs, Error: model.HeldByFlood},
		} {
			hold.SessionID, hold.EffectID, hold.Attempt = "s", id, h.claimEffect("s", id).Attempts
			require.EqualValues(h, 2, hold.Attempt)
			h.do(&hold)
			require.Equal(h, since(h.clock.NowMs()+hold.PutOffMs), pending(), hold.Error)
			h.clock.Advance(hold.PutOffMs)
		}
		attempt = h.claimEffect("s", id).Attempts
		h.do(&runs.FinishEffect{SessionID: "s", EffectID: id, Attempt: attempt, Error: "nobody answers"})
		require.Equal(h, since(clockStart), pending(), "it was attempted")
	},
	"reopen/a notification that is late or fails is pending": func(h *harness) {
		require.NoError(h, h.store.Close())
		h.store = h.database.Open(h, Options{Clock: h.clock, LockWait: lockWait, NotifyAfter: time.Second})
		h.wait("s", "r", approvals("a"))
		handle := h.run("r").Requests[0].Handle
		id := model.EffectID(api.EffectAdvanceRequest, handle)
		pending := func() []model.EffectTally {
			found, err := h.store.Vitals(h.ctx, 10)
			require.NoError(h, err)
			return found.Effects
		}
		since := func(ms int64) []model.EffectTally {
			return []model.EffectTally{{Kind: api.EffectAdvanceRequest, State: api.EffectPending, Tally: model.Tally{Count: 1, OldestMs: ms}}}
		}
		fail := func() {
			effect := h.claimEffect("s", id)
			h.do(&runs.FinishEffect{SessionID: "s", EffectID: id, Attempt: effect.Attempts, Error: "nobody can be asked"})
		}
		require.Empty(h, pending(), "it waits")
		h.clock.Advance(1_005)
		require.Equal(h, since(clockStart+1_000), pending())
		fail()
		require.Empty(h, pending(), "it is tried again at once")
		h.clock.Advance(1_000)
		fail()
		require.Equal(h, since(clockStart), pending())
		h.clock.Advance(2_000)
		require.Equal(h, since(clockStart), pending(), "it is due again")
		h.do(&runs.AcknowledgeRequest{RunID: "r", RequestID: "a", Handle: handle, State: api.Acknowledged, Actor: person})
		h.do(commandOf(h.claimEffect("s", id)))
		require.Empty(h, pending(), "somebody is looking at the request")
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
