package runs_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// looking acknowledges a request of run "r", or takes that back.
func (h *house) looking(by, requestID string, state api.AcknowledgementState, untilMs *int64) *runs.AcknowledgeRequest {
	return &runs.AcknowledgeRequest{
		RunID: "r", RequestID: requestID, Handle: h.request("r", requestID).Handle, State: state, UntilMs: untilMs, Actor: runs.Actor{Name: by},
	}
}

// lookers returns the people whose acknowledgement of a request counts now.
func (h *house) lookers(requestID string) (people []string) {
	for _, a := range h.request("r", requestID).AcknowledgedAt(h.nowMs) {
		people = append(people, a.By)
	}
	return people
}

func TestAPersonAcknowledges(t *testing.T) {
	h := parallelHouse(t).wait("r", approval("a"), question("q"))
	before := h.run("r")
	status, settled := before.Status, before.SettledCount
	for _, id := range []string{"a", "q"} {
		require.False(t, h.must(h.looking("user:ada", id, api.Acknowledged, nil)).Existing)
		require.JSONEq(t, fmt.Sprintf(`{"type":"request_acknowledged","request_id":%q,"by":"user:ada","via":"api","state":"acknowledged","until_ms":%d}`,
			id, h.nowMs+api.DefaultAcknowledgementMs), h.lastEvent("r", api.EventRequestAcknowledged))
	}
	require.Equal(t, status, h.run("r").Status, "it is not a decision")
	require.Equal(t, settled, h.run("r").SettledCount)

	// A repeated call changes nothing, even later. Another time replaces the first.
	h.nowMs += 1_000
	require.True(t, h.requireUnchanged(h.looking("user:ada", "a", api.Acknowledged, nil)).Existing)
	until := h.nowMs + api.MaxAcknowledgementMs
	h.must(h.looking("user:ada", "a", api.Acknowledged, &until))
	require.True(t, h.requireUnchanged(h.looking("user:ada", "a", api.Acknowledged, &until)).Existing)
	require.Len(t, h.request("r", "a").Acknowledgements(), 1)

	h.must(h.looking("user:ben", "a", api.Acknowledged, nil))
	require.Equal(t, []string{"user:ada", "user:ben"}, h.lookers("a"))
	h.must(h.looking("user:ada", "a", api.NotAcknowledged, nil))
	require.True(t, h.requireUnchanged(h.looking("user:ada", "a", api.NotAcknowledged, nil)).Existing)
	require.Equal(t, []string{"user:ben"}, h.lookers("a"))
	h.nowMs += api.DefaultAcknowledgementMs
	require.Empty(t, h.lookers("a"), "it has lapsed")
	require.True(t, h.requireUnchanged(h.looking("user:ben", "a", api.NotAcknowledged, nil)).Existing)

	// It reserves nothing, and goes with the decision.
	h.must(h.looking("user:ada", "a", api.Acknowledged, nil))
	h.must(allow("r", "a"))
	require.Nil(t, h.request("r", "a").Acknowledgement)
	refused := h.refused(api.CodeRequestSettled, h.looking("user:ada", "a", api.Acknowledged, nil))
	require.Equal(t, api.OutcomeAllowed, refused.Recorded.Outcome)
	h.refused(api.CodeRequestSettled, h.looking("user:ada", "a", api.NotAcknowledged, nil))
}

func TestWhatIsNoAcknowledgement(t *testing.T) {
	h := parallelHouse(t)
	due := approval("a")
	due.ExpiresAfterMs = ms(60_000)
	h.wait("r", due)
	for _, late := range []int64{-1, 0, h.nowMs, h.nowMs + api.MaxAcknowledgementMs + 1} {
		require.Equal(t, "/until_ms", h.refused(api.CodeInvalidRequest, h.looking("user:ada", "a", api.Acknowledged, &late)).Faults[0].Pointer)
	}
	for _, state := range []api.AcknowledgementState{"", "Snoozed", "Acknowledged"} {
		require.Equal(t, "/state", h.refused(api.CodeInvalidRequest, h.looking("user:ada", "a", state, nil)).Faults[0].Pointer)
	}
	until := h.nowMs + 1
	h.refused(api.CodeInvalidRequest, h.looking("user:ada", "a", api.NotAcknowledged, &until))
	for _, late := range []*int64{nil, ms(0), ms(-h.nowMs), ms(h.nowMs), ms(h.nowMs + api.MaxSnoozeMs + 1)} {
		require.Equal(t, "/until_ms", h.refused(api.CodeInvalidRequest, h.looking("user:ada", "a", api.Snoozed, late)).Faults[0].Pointer)
	}

	// Another request's handle, and requests that do not exist.
	other := h.looking("user:ada", "a", api.Acknowledged, nil)
	other.Handle = "h-other"
	h.refused(api.CodeRequestNotFound, other)
	other = h.looking("user:ada", "a", api.Acknowledged, nil)
	other.RequestID = "nothing"
	h.refused(api.CodeRequestNotFound, other)
	other = h.looking("user:ada", "a", api.Acknowledged, nil)
	other.RunID = "nothing"
	h.refused(api.CodeRunNotFound, other)

	// A deadline still counts.
	h.must(h.looking("user:ada", "a", api.Acknowledged, nil))
	h.nowMs += 60_000
	require.Equal(t, api.OutcomeExpired, h.refused(api.CodeRequestSettled, h.looking("user:ada", "a", api.Acknowledged, nil)).Recorded.Outcome)
}

func TestTheNewestAcknowledgementsAreKept(t *testing.T) {
	h := parallelHouse(t).wait("r", approval("a"))
	for i := range api.MaxAcknowledgements + 2 {
		h.must(h.looking(fmt.Sprintf("user:%02d", i), "a", api.Acknowledged, nil))
	}
	require.Len(t, h.lookers("a"), api.MaxAcknowledgements)
	require.Equal(t, "user:02", h.lookers("a")[0])
}

// Nobody is notified while somebody is looking; then everybody is, once.
func TestAnAcknowledgementHoldsMessagesBack(t *testing.T) {
	t.Parallel()
	to := runs.Recipient{Principal: "user:ben", Channel: "mail"}
	// held looks at the effect once, and requires that it waits.
	held := func(h *house, effectID string, gone ...string) int64 {
		t.Helper()
		claimed := h.must(&runs.ClaimEffect{SessionID: "s", EffectID: effectID})
		require.NotNil(t, claimed.Effect)
		command, err := runs.CommandOf(claimed.Effect)
		require.NoError(t, err)
		advance := command.(*runs.AdvanceRequest)
		advance.To, advance.Gone = []runs.Recipient{to}, gone
		reply, change := h.decided(advance)
		require.Empty(t, change.NewEffects)
		require.Empty(t, change.Events)
		require.Equal(t, api.EffectPending, reply.Effect.State)
		require.Zero(t, reply.Effect.Attempts, "a check does not use up the attempts")
		return reply.Effect.DueAtMs - h.nowMs
	}
	start := func() (*house, string) {
		h := newHouse(t)
		effect := h.raiseNoticed(suspend("r", 1, approval("a")))
		until := h.nowMs + notifyAfterMs + 90_000
		h.must(h.looking("user:ada", "a", api.Acknowledged, &until))
		h.nowMs += notifyAfterMs
		require.EqualValues(t, 60_000, held(h, effect))
		return h, effect
	}
	t.Run("it lapses", func(t *testing.T) {
		t.Parallel()
		h, effect := start()
		h.nowMs += 60_000
		require.EqualValues(t, 30_000, held(h, effect))
		h.nowMs += 30_000
		require.Len(t, h.advance(effect, to), 1)
	})
	t.Run("it is taken back", func(t *testing.T) {
		t.Parallel()
		h, effect := start()
		h.must(h.looking("user:ben", "a", api.Acknowledged, nil))
		h.must(h.looking("user:ada", "a", api.NotAcknowledged, nil))
		require.True(t, h.must(&runs.ClaimEffect{SessionID: "s", EffectID: effect}).Existing, "ben still looks")
		h.must(h.looking("user:ben", "a", api.NotAcknowledged, nil))
		require.Len(t, h.advance(effect, to), 1)
	})
	inHouse(t, "taken back before anybody was to be notified", func(t *testing.T, h *house) {
		effect := h.raiseNoticed(suspend("r", 1, approval("a")))
		h.must(h.looking("user:ada", "a", api.Acknowledged, nil))
		h.must(h.looking("user:ada", "a", api.NotAcknowledged, nil))
		require.True(t, h.must(&runs.ClaimEffect{SessionID: "s", EffectID: effect}).Existing)
		h.nowMs += notifyAfterMs
		require.Len(t, h.advance(effect, to), 1)
	})
	t.Run("its person has no credential any more", func(t *testing.T) {
		t.Parallel()
		h, effect := start()
		h.nowMs += 60_000
		require.EqualValues(t, 30_000, held(h, effect, "user:carol"))
		h.nowMs += 30_000 - 1
		h.must(h.looking("user:ada", "a", api.Acknowledged, nil))
		h.nowMs++
		claimed := h.must(&runs.ClaimEffect{SessionID: "s", EffectID: effect})
		command, err := runs.CommandOf(claimed.Effect)
		require.NoError(t, err)
		advance := command.(*runs.AdvanceRequest)
		advance.To, advance.Gone = []runs.Recipient{to}, []string{"user:ada"}
		_, change := h.decided(advance)
		require.Len(t, change.NewEffects, 1)
	})
	inHouse(t, "a message on its way", func(t *testing.T, h *house) {
		effect := h.raiseNoticed(suspend("r", 1, approval("a")))
		h.nowMs += notifyAfterMs
		message := h.advance(effect, to)[0].EffectID
		claimed := h.must(&runs.ClaimEffect{SessionID: "s", EffectID: message})
		putOff := &runs.FinishEffect{SessionID: "s", EffectID: message, RunID: "r", Attempt: claimed.Effect.Attempts, PutOffMs: 5_000}
		reply := h.must(putOff)
		require.EqualValues(t, 0, reply.Effect.Attempts)
		require.Equal(t, h.nowMs+5_000, reply.Effect.DueAtMs)
		require.True(t, h.must(putOff).Existing, "of an older attempt")
		h.nowMs += 5_000
		require.EqualValues(t, 1, h.must(&runs.ClaimEffect{SessionID: "s", EffectID: message}).Effect.Attempts)

		// One message stands for those that a flood holds, also for those that something else holds afterwards.
		for _, why := range []string{model.HeldAtInbox, model.HeldByFlood, "", model.HeldAtInbox} {
			before := h.effect(message).LastError
			h.must(&runs.FinishEffect{SessionID: "s", EffectID: message, RunID: "r", Attempt: 1, PutOffMs: 1, Error: why})
			want := why
			if before == model.HeldByFlood {
				want = before
			}
			require.Equal(t, want, h.effect(message).LastError)
			h.nowMs++
			h.must(&runs.ClaimEffect{SessionID: "s", EffectID: message})
		}
	})
	inHouse(t, "a message whose first attempt was interrupted", func(t *testing.T, h *house) {
		effect := h.raiseNoticed(suspend("r", 1, approval("a")))
		h.nowMs += notifyAfterMs
		message := h.advance(effect, to)[0].EffectID
		h.must(&runs.ClaimEffect{SessionID: "s", EffectID: message})
		h.nowMs += model.WebhookLeaseMs
		ends := func(finish runs.FinishEffect) *model.Effect {
			finish.SessionID, finish.EffectID, finish.RunID = "s", message, "r"
			finish.Attempt = h.must(&runs.ClaimEffect{SessionID: "s", EffectID: message}).Effect.Attempts
			ended := h.must(&finish).Effect
			h.nowMs = ended.DueAtMs
			return ended
		}
		for _, hold := range []struct{ why, want string }{
			{model.HeldAtInbox, model.HeldAtInbox}, {"", ""}, {model.HeldByFlood, model.HeldByFlood}, {model.HeldAtInbox, model.HeldByFlood},
		} {
			held := ends(runs.FinishEffect{PutOffMs: 1, Error: hold.why})
			require.EqualValues(t, 1, held.Attempts)
			require.Equal(t, hold.want, held.LastError)
		}
		ends(runs.FinishEffect{Error: "the mail server answered 451"})
		held := ends(runs.FinishEffect{PutOffMs: 1, Error: model.HeldByFlood})
		require.Equal(t, "the mail server answered 451", held.LastError)
	})
}

// A snooze is a person's own: it holds back no message to others, and replaces that person's acknowledgement.
func TestAPersonSnoozes(t *testing.T) {
	h := parallelHouse(t).wait("r", approval("a"))
	until := h.nowMs + api.MaxSnoozeMs
	h.must(h.looking("user:ada", "a", api.Snoozed, &until))
	require.JSONEq(t, fmt.Sprintf(`{"type":"request_acknowledged","request_id":"a","by":"user:ada","via":"api","state":"snoozed","until_ms":%d}`, until),
		h.lastEvent("r", api.EventRequestAcknowledged))
	require.Empty(t, h.lookers("a"))
	require.Equal(t, until, h.request("r", "a").SnoozedUntil("user:ada"))
	require.Zero(t, h.request("r", "a").SnoozedUntil("user:ben"))
	require.Zero(t, h.request("r", "a").SnoozedUntil(""))
	require.True(t, h.requireUnchanged(h.looking("user:ada", "a", api.Snoozed, &until)).Existing)

	h.must(h.looking("user:ben", "a", api.Acknowledged, nil))
	h.must(h.looking("user:ada", "a", api.Acknowledged, nil))
	require.Equal(t, []string{"user:ben", "user:ada"}, h.lookers("a"))
	require.Zero(t, h.request("r", "a").SnoozedUntil("user:ada"))
	h.must(h.looking("user:ada", "a", api.Snoozed, &until))
	require.Equal(t, []string{"user:ben"}, h.lookers("a"))
	h.must(h.looking("user:ada", "a", api.NotAcknowledged, nil))
	require.Zero(t, h.request("r", "a").SnoozedUntil("user:ada"))

	h.must(h.looking("user:ada", "a", api.Snoozed, &until))
	h.nowMs = until
	require.Empty(t, h.request("r", "a").SnoozedAt(h.nowMs), "it is over")
	require.Equal(t, until, h.request("r", "a").SnoozedUntil("user:ada"), "and still shown")
	h.must(allow("r", "a"))
	require.Nil(t, h.request("r", "a").Acknowledgement)
}

// After the clock is set back, an acknowledgement and a snooze do not count for as long as the clock was set back.
func TestAClockThatIsSetBackEndsAcknowledgements(t *testing.T) {
	h := parallelHouse(t).wait("r", approval("a"))
	until := h.nowMs + api.MaxSnoozeMs
	h.must(h.looking("user:ada", "a", api.Acknowledged, nil))
	h.must(h.looking("user:ben", "a", api.Snoozed, &until))
	h.nowMs -= 60_000
	require.Equal(t, []string{"user:ada"}, h.lookers("a"), "clocks of replicas differ")
	require.Equal(t, map[string]int64{"user:ben": until}, h.request("r", "a").SnoozedAt(h.nowMs))
	h.nowMs--
	require.Empty(t, h.lookers("a"))
	require.Empty(t, h.request("r", "a").SnoozedAt(h.nowMs))
}

// Many people who snooze a request push out no acknowledgement.
func TestSnoozesHaveALimitOfTheirOwn(t *testing.T) {
	h := parallelHouse(t).wait("r", approval("a"))
	until := h.nowMs + 1_000
	h.must(h.looking("user:ada", "a", api.Acknowledged, nil))
	for i := range api.MaxSnoozes + 2 {
		h.must(h.looking(fmt.Sprintf("user:%02d", i), "a", api.Snoozed, &until))
	}
	require.Len(t, h.request("r", "a").SnoozedAt(h.nowMs), api.MaxSnoozes)
	require.Zero(t, h.request("r", "a").SnoozedUntil("user:01"))
	require.Equal(t, []string{"user:ada"}, h.lookers("a"))
}
