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
	_, change, err := h.decide(command)
	require.NoError(h.t, err)
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
	reply, change, err := h.decide(advance)
	require.NoError(h.t, err)
	require.Equal(h.t, api.EffectDone, reply.Effect.State)
	return change.NewEffects
}

func TestPeopleAreToldOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
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
	t.Parallel()
	h := newHouse(t)
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
	t.Parallel()
	h := newHouse(t)
	advance := h.raiseNoticed(suspend("r", 1, question("q")))
	h.nowMs += notifyAfterMs
	before := h.run("r").LastEventID
	require.Empty(t, h.advance(advance))
	require.Equal(t, before+1, h.run("r").LastEventID)
}

// Putting off a message uncounts its attempt, if it had one.
func TestAMessageThatNobodyClaimedIsPutOff(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	advance := h.raiseNoticed(suspend("r", 1, approval("a")))
	h.nowMs += notifyAfterMs
	written := h.advance(advance, runs.Recipient{Principal: "user:ada", Channel: "mail"})
	put := &runs.FinishEffect{SessionID: "s", EffectID: written[0].EffectID, RunID: "r", PutOffMs: 1}
	require.Zero(t, h.must(put).Effect.Attempts)
}

// Settling a request withdraws its messages on the channels that can, once for each of them.
func TestASettledRequestWithdrawsItsMessages(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	advance := h.raiseNoticed(suspend("r", 1, approval("a")))
	h.nowMs += notifyAfterMs
	h.advance(advance, runs.Recipient{Principal: "user:ada", Channel: "board", Withdraws: true}, runs.Recipient{Principal: "user:ben", Channel: "board", Withdraws: true},
		runs.Recipient{Principal: "user:cyd", Channel: "mail"})
	_, change, err := h.decide(&runs.ResolveApprovals{RunID: "r", Actor: runs.Actor{Name: "ada"}, Resolutions: []runs.ApprovalDecision{{RequestID: "a", Behavior: api.BehaviorDeny}}})
	require.NoError(t, err)
	require.Len(t, change.NewEffects, 1)
	require.Equal(t, "notify.board", change.NewEffects[0].WebhookID)
	notice, err := model.NoticeOf(change.NewEffects[0])
	require.NoError(t, err)
	require.True(t, notice.Withdraws)
	require.Empty(t, notice.Principal)
}
