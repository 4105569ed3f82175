package runs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

const notifyAfterMs = 30_000

// raiseNoticed raises an approval of a new run with notifications enabled, and returns the id of the effect.
func (h *house) raiseNoticed(command runs.Command) string {
	h.t.Helper()
	h.start("r")
	h.states["s"].NotifyAfterMs = notifyAfterMs
	_, change := h.decided(command)
	h.states["s"].NotifyAfterMs = 0
	require.Len(h.t, change.NewEffects, 1)
	require.Equal(h.t, api.EffectAdvanceRequest, change.NewEffects[0].Kind)
	return change.NewEffects[0].EffectID
}

// advance notifies people of a request as the effects loop does, and returns the new effects.
func (h *house) advance(effectID string, to ...runs.Recipient) []*model.Effect {
	h.t.Helper()
	claimed := h.must(&runs.ClaimEffect{SessionID: "s", EffectID: effectID})
	require.NotNil(h.t, claimed.Effect)
	command, err := runs.CommandOf(claimed.Effect)
	require.NoError(h.t, err)
	advance := command.(*runs.AdvanceRequest)
	advance.To = to
	reply, change := h.decided(advance)
	require.Equal(h.t, api.EffectDone, reply.Effect.State)
	return change.NewEffects
}

func TestPeopleAreToldOnce(t *testing.T) {
	h := parallelHouse(t)
	advance := h.raiseNoticed(suspend("r", 1, approval("a")))
	require.True(t, h.must(&runs.ClaimEffect{SessionID: "s", EffectID: advance}).Existing, "not due yet")
	h.nowMs += notifyAfterMs
	written := h.advance(advance, runs.Recipient{Principal: "user:ada", Channel: "mail"}, runs.Recipient{Principal: "user:ben", Channel: "ops"})
	require.Len(t, written, 2)
	require.Equal(t, "notify.mail", written[0].WebhookID)
	require.NotEqual(t, written[0].EffectID, written[1].EffectID)
	require.True(t, h.must(&runs.ClaimEffect{SessionID: "s", EffectID: advance}).Existing, "once")
	notice, err := model.NoticeOf(written[1])
	require.NoError(t, err)
	require.Equal(t, "user:ben", notice.Principal)

	// A failed notification writes an event, even if the run continues. Nothing is written after the run's end.
	fail := func(effect *model.Effect) {
		claimed := h.must(&runs.ClaimEffect{SessionID: "s", EffectID: effect.EffectID})
		h.must(&runs.FinishEffect{SessionID: "s", EffectID: effect.EffectID, RunID: "r", Attempt: claimed.Effect.Attempts, Error: "x", Permanent: true})
	}
	before := h.run("r").LastEventID
	fail(written[0])
	require.Equal(t, before+1, h.run("r").LastEventID)
	h.must(&runs.CancelRun{RunID: "r"})
	before = h.run("r").LastEventID
	fail(written[1])
	require.Equal(t, before, h.run("r").LastEventID)
}

func TestNobodyIsToldOfWhatIsSettled(t *testing.T) {
	h := parallelHouse(t)
	advance := h.raiseNoticed(suspend("r", 1, approval("a")))
	h.must(allow("r", "a"))
	h.nowMs += notifyAfterMs
	before := h.run("r").LastEventID
	require.Empty(t, h.advance(advance, runs.Recipient{Principal: "user:ada", Channel: "mail"}))
	require.Equal(t, before, h.run("r").LastEventID)

	// An overdue request expires first.
	h = newHouse(t)
	due := approval("a")
	due.ExpiresAfterMs = ms(10_000)
	advance = h.raiseNoticed(suspend("r", 1, due))
	require.Equal(t, h.nowMs+5_000, h.states["s"].Effects[advance].DueAtMs, "half of the time that is left")
	h.nowMs += 10_000
	require.Empty(t, h.advance(advance, runs.Recipient{Principal: "user:ada", Channel: "mail"}))
	require.Equal(t, api.OutcomeExpired, h.request("r", "a").Outcome)
}

func TestARunThatNobodyCanBeToldOfSaysSo(t *testing.T) {
	h := parallelHouse(t)
	advance := h.raiseNoticed(suspend("r", 1, question("q")))
	h.nowMs += notifyAfterMs
	before := h.run("r").LastEventID
	require.Empty(t, h.advance(advance))
	require.Equal(t, before+1, h.run("r").LastEventID)
}

// Putting off a message uncounts its attempt, if it had one.
func TestAMessageThatNobodyClaimedIsPutOff(t *testing.T) {
	h := parallelHouse(t)
	advance := h.raiseNoticed(suspend("r", 1, approval("a")))
	h.nowMs += notifyAfterMs
	written := h.advance(advance, runs.Recipient{Principal: "user:ada", Channel: "mail"})
	put := &runs.FinishEffect{SessionID: "s", EffectID: written[0].EffectID, RunID: "r", PutOffMs: 1}
	require.Zero(t, h.must(put).Effect.Attempts)
}

// Settling a request withdraws its messages on the channels that can, once for each of them.
func TestASettledRequestWithdrawsItsMessages(t *testing.T) {
	h := parallelHouse(t)
	advance := h.raiseNoticed(suspend("r", 1, approval("a")))
	h.nowMs += notifyAfterMs
	h.advance(advance, runs.Recipient{Principal: "user:ada", Channel: "board", Withdraws: true}, runs.Recipient{Principal: "user:ben", Channel: "board", Withdraws: true},
		runs.Recipient{Principal: "user:cyd", Channel: "mail"})
	_, change := h.decided(&runs.ResolveApprovals{RunID: "r", Actor: runs.Actor{Name: "ada"}, Resolutions: []runs.ApprovalDecision{{RequestID: "a", Behavior: api.BehaviorDeny}}})
	require.Len(t, change.NewEffects, 1)
	require.Equal(t, "notify.board", change.NewEffects[0].WebhookID)
	notice, err := model.NoticeOf(change.NewEffects[0])
	require.NoError(t, err)
	require.True(t, notice.Withdraws)
	require.Empty(t, notice.Principal)
}

// A withdrawal that is given up is not a person who was not reached: it does not fail, writes no event, and has no attempt.
func TestAWithdrawalThatIsGivenUp(t *testing.T) {
	t.Parallel()
	for name, permanent := range map[string]bool{"at once": true, "after the last attempt": false} {
		inHouse(t, name, func(t *testing.T, h *house) {
			advance := h.raiseNoticed(suspend("r", 1, approval("a")))
			h.nowMs += notifyAfterMs
			h.advance(advance, runs.Recipient{Principal: "user:ada", Channel: "board", Withdraws: true})
			_, change := h.decided(&runs.ResolveApprovals{RunID: "r", Actor: runs.Actor{Name: "ada"}, Resolutions: []runs.ApprovalDecision{{RequestID: "a", Behavior: api.BehaviorDeny}}})
			effect, before := change.NewEffects[0], h.run("r").LastEventID
			for {
				claimed := h.must(&runs.ClaimEffect{SessionID: "s", EffectID: effect.EffectID}).Effect
				require.NotNil(t, claimed)
				effect = h.must(&runs.FinishEffect{
					SessionID: "s", EffectID: effect.EffectID, RunID: "r", Attempt: claimed.Attempts, Error: "x", Permanent: permanent,
				}).Effect
				if effect.State != api.EffectPending {
					break
				}
				h.nowMs = effect.DueAtMs
			}
			require.Equal(t, api.EffectDone, effect.State)
			require.Empty(t, effect.LastError)
			require.Zero(t, effect.Attempts)
			require.Equal(t, before, h.run("r").LastEventID)
		})
	}
}

// A message that fails goes to the person's next address instead, and the escalation takes its time.
func TestAMessageGoesToTheNextAddress(t *testing.T) {
	t.Parallel()
	e := newEscalating(t, threeSteps...)
	e.people = map[int64][]runs.Recipient{0: byMail("ada")}
	e.advance()
	before := e.nextMs()
	handle := e.request("r", "q").Handle
	id := model.NoticeEffectID("mail", handle, "user:ada", 0)
	finish := func(effectID string, next *runs.NextAddress, permanent bool) (*model.Effect, []*model.Effect) {
		claimed := e.must(&runs.ClaimEffect{SessionID: "s", EffectID: effectID})
		require.NotNil(t, claimed.Effect)
		reply, change, err := e.decide(&runs.FinishEffect{
			SessionID: "s", EffectID: effectID, RunID: "r", RequestHandle: handle, Attempt: claimed.Effect.Attempts, Error: "x", Permanent: permanent, Next: next,
		})
		require.NoError(t, err)
		e.flush()
		return reply.Effect, change.NewEffects
	}
	ended, written := finish(id, &runs.NextAddress{To: runs.Recipient{Principal: "user:ada", Channel: "board", Withdraws: true}, Tried: []string{"address_1"}}, true)
	require.Equal(t, api.EffectDone, ended.State)
	require.JSONEq(t, `{"type":"notification_failed","request_id":"q","who":"user:ada","channel":"mail","next_channel":"board"}`, e.lastEvent("r", api.EventNotificationFailed))
	require.Equal(t, before, e.nextMs(), "the person is not counted as not reached")
	require.Len(t, written, 1)
	require.Equal(t, "notify.board", written[0].WebhookID)
	require.Equal(t, []string{"board"}, e.request("r", "q").Progress().Withdraw)
	notice, err := model.NoticeOf(written[0])
	require.NoError(t, err)
	require.Equal(t, &model.PersonNotice{
		RequestHandle: handle, RequestID: "q", Principal: "user:ada", Channel: "board", Turn: 1, Tried: []string{"address_1"}, InPlaceOf: id, Failure: "x",
	}, notice)

	// Another address of the same channel is another message. The last one hurries the next step.
	_, written = finish(written[0].EffectID, &runs.NextAddress{To: runs.Recipient{Principal: "user:ada", Channel: "mail"}, Tried: []string{"address_1", "address_2"}}, false)
	require.NotEqual(t, id, written[0].EffectID)
	ended, _ = finish(written[0].EffectID, nil, true)
	require.Equal(t, api.EffectFailed, ended.State)
	require.JSONEq(t, `{"type":"notification_failed","request_id":"q","who":"user:ada","channel":"mail"}`, e.lastEvent("r", api.EventNotificationFailed))
	require.Equal(t, e.nowMs-startMs, e.nextMs())
}

// A settled request needs no message at another address: the retry finds that out.
func TestASettledRequestHasNoNextAddress(t *testing.T) {
	h := parallelHouse(t)
	advance := h.raiseNoticed(suspend("r", 1, approval("a")))
	h.nowMs += notifyAfterMs
	written := h.advance(advance, runs.Recipient{Principal: "user:ada", Channel: "mail"})
	claimed := h.must(&runs.ClaimEffect{SessionID: "s", EffectID: written[0].EffectID})
	h.must(allow("r", "a"))
	reply, change, err := h.decide(&runs.FinishEffect{
		SessionID: "s", EffectID: written[0].EffectID, RunID: "r", Attempt: claimed.Effect.Attempts, Error: "x",
		Next: &runs.NextAddress{To: runs.Recipient{Principal: "user:ada", Channel: "ops"}},
	})
	require.NoError(t, err)
	require.Empty(t, change.NewEffects)
	require.Equal(t, api.EffectPending, reply.Effect.State)
}

// A message that counts others is sent at the next address even if its own request is settled: they have none of their own.
func TestAMessageThatCountsOthersHasANextAddress(t *testing.T) {
	t.Parallel()
	for name, settle := range map[string]struct {
		command runs.Command
		event   bool
	}{
		"open":                {nil, true},
		"settled":             {allow("r", "a"), true},
		"its run is finished": {&runs.CancelRun{RunID: "r"}, false},
	} {
		inHouse(t, name, func(t *testing.T, h *house) {
			advance := h.raiseNoticed(suspend("r", 1, approval("a")))
			h.nowMs += notifyAfterMs
			written := h.advance(advance, runs.Recipient{Principal: "user:ada", Channel: "mail"})
			claimed := h.must(&runs.ClaimEffect{SessionID: "s", EffectID: written[0].EffectID})
			if settle.command != nil {
				h.must(settle.command)
			}
			before, was := h.run("r").LastEventID, h.request("r", "a").Open()
			reply, change, err := h.decide(&runs.FinishEffect{
				SessionID: "s", EffectID: written[0].EffectID, RunID: "r", Attempt: claimed.Effect.Attempts, Error: "x", Permanent: true,
				Next: &runs.NextAddress{To: runs.Recipient{Principal: "user:ada", Channel: "ops", Withdraws: true}, Tried: []string{"address_1"}, ForOthers: true},
			})
			require.NoError(t, err)
			require.Equal(t, api.EffectDone, reply.Effect.State)
			require.Equal(t, settle.event, h.run("r").LastEventID > before, "a finished run gets no more events")
			require.Len(t, change.NewEffects, 1)
			require.Equal(t, "r", change.NewEffects[0].RunID)
			require.Equal(t, "notify.ops", change.NewEffects[0].WebhookID)
			notice, err := model.NoticeOf(change.NewEffects[0])
			require.NoError(t, err)
			require.Equal(t, &model.PersonNotice{
				RequestHandle: h.request("r", "a").Handle, RequestID: "a", Principal: "user:ada", Channel: "ops", Turn: 1, Tried: []string{"address_1"},
				InPlaceOf: written[0].EffectID, Failure: "x",
			}, notice)
			require.Equal(t, was, len(change.SettledRequests) == 1, "a settled request is not changed")
		})
	}
}
