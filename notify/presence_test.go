package notify_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/notify"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// about has the messages be about the request of another run.
func (s *replicas) about(t *testing.T, runID string) {
	t.Helper()
	record := s.recordOf(t, runID)
	s.runID, s.open = runID, &record.Requests[0]
}

// startStanding is startReplicas with a clock that stands still, and the store of the messages.
func startStanding(t *testing.T, database string) (*replicas, notify.Store) {
	t.Helper()
	s := startReplicas(t, database)
	s.stands.Store(time.Now().UnixMilli())
	stored := storeAs[notify.Store](t, s.Store)
	return s, stored
}

// absent is a store that cannot say who is at their inbox.
type absent struct{ notify.Store }

func (absent) Presence(context.Context, string) (int64, error) {
	return 0, errors.New("presence cannot be read")
}

// The default message waits while its person is looking at their inbox, at any replica. It is sent once they have left.
func TestTheDefaultMessageWaitsAtTheInbox(t *testing.T) {
	onEngines(t, func(t *testing.T, database string) {
		s, stored := startStanding(t, database)
		another := s.sender(t, stored, s.board)
		looks := func(who string, visible bool) {
			t.Helper()
			require.NoError(t, another.SetPresence(t.Context(), &auth.Identity{Principal: who, Role: api.RoleOperator}, &api.PresenceBody{Visible: visible}))
		}
		untilMs, err := stored.Presence(t.Context(), "user:ada")
		require.NoError(t, err)
		require.Zero(t, untilMs, "before anything was said")

		looks("user:ada", true)
		ada, ben := s.message(t, "user:ada", 0), s.message(t, "user:ben", 0)
		require.EqualValues(t, 30_000, s.putOff(t, ada))
		require.Empty(t, s.board.of("ada"))
		s.sends(t, ben)
		require.Len(t, s.board.of("ben"), 1, "the message to another person")
		s.later.Add(api.PresenceMs - 25_000)
		require.EqualValues(t, 25_000, s.putOff(t, ada), "no longer than they are there")
		looks("user:ada", true)
		require.EqualValues(t, 30_000, s.putOff(t, ada), "they still are")
		s.later.Add(api.PresenceMs)
		s.sends(t, ada)
		require.Len(t, s.board.of("ada"), 1, "once it lapses")

		s.about(t, raise(t, s.client, "s2", "a"))
		looks("user:ada", true)
		ada = s.message(t, "user:ada", 0)
		s.putOff(t, ada)
		_, err = s.sender(t, absent{stored}, s.board).Send(t.Context(), ada)
		require.NoError(t, err, "a person must not miss it because a read fails")
		require.Len(t, s.board.of("ada"), 2)
		require.Contains(t, s.log.text(), "presence of a person cannot be read")

		s.about(t, raise(t, s.client, "s3", "a"))
		ada = s.message(t, "user:ada", 0)
		s.putOff(t, ada)
		looks("user:ada", false)
		s.sends(t, ada)
		require.Len(t, s.board.of("ada"), 3, "as soon as they leave")

		s.about(t, raise(t, s.client, "s4", "a"))
		looks("user:ada", true)
		ada = s.message(t, "user:ada", 0)
		s.putOff(t, ada)
		_, err = s.client.CancelRun(t.Context(), s.runID, "")
		require.NoError(t, err)
		looks("user:ada", false)
		_, err = s.send.Send(t.Context(), ada)
		require.ErrorIs(t, err, runs.ErrNotSent, "it was settled meanwhile")

		// Clocks that were set back keep no message back.
		s.about(t, raise(t, s.client, "s5", "a"))
		looks("user:ada", true)
		s.later.Add(-3_600_000)
		s.sends(t, s.message(t, "user:ada", 0))
		require.Len(t, s.board.of("ada"), 4)

		s.about(t, raiseEscalating(t, s.client, "s6", &api.Escalation{Steps: []api.EscalationStep{{Notify: []string{"user:ada"}}}}))
		looks("user:ada", true)
		s.sends(t, s.message(t, "user:ada", 0))
		require.Len(t, s.board.of("ada"), 5, "the step of an escalation is what somebody configured")

		hourMs := time.Hour.Milliseconds()
		made, err := s.client.CreateRun(t.Context(), client.CreateRunParams{SessionID: "soon", AgentID: "coder", Input: 1, Suspend: &api.Suspension{
			Approvals: []api.ApprovalRequest{{ID: "a", ToolCallID: "a", ToolName: "deploy", Input: api.JSON(`1`), ExpiresAfterMs: &hourMs}},
		}})
		require.NoError(t, err)
		s.about(t, made.RunID)
		s.later.Store(s.open.DueAtMs - 40_000 - s.stands.Load())
		looks("user:ada", true)
		require.EqualValues(t, 20_000, s.putOff(t, s.message(t, "user:ada", 0)), "a person who leaves before the deadline is told in time")
	})
}

// A person is told of it over the API, an explanation says why they got no message, and a channel is not failing.
func TestAPersonAtTheInboxIsNotTold(t *testing.T) {
	onEngines(t, func(t *testing.T, database string) {
		s := start(t, database, time.Second, true)
		people := s.people(t)
		for _, name := range []string{"ada", "ben"} {
			s.verified(t, people[name], "ops", name, s.http)
		}
		refused(t, people["maker"].SetPresence(t.Context(), api.PresenceBody{Visible: true}), api.CodeForbidden)
		require.NoError(t, people["ada"].SetPresence(t.Context(), api.PresenceBody{Visible: true}))
		runID := raise(t, people["maker"], "s", "a")
		eventually(t, "ben is notified", func() bool { return len(s.http.about("/ben\n")) == 2 })
		messages := func() []model.Effect {
			return s.effects(t, reads.EffectQuery{SessionID: "s", WebhookID: model.NoticeWebhookID("ops"), State: api.EffectPending, Limit: 10})
		}
		eventually(t, "the message to ada is put off", func() bool {
			found := messages()
			return len(found) == 1 && found[0].Attempts == 0 && found[0].LastError == model.HeldAtInbox
		})
		require.Len(t, s.http.about("/ada\n"), 1, "the code alone")
		why, err := people["ben"].ExplainRun(t.Context(), runID)
		require.NoError(t, err)
		require.Contains(t, why.Requests[0].Text, "ada (ops, held back while their inbox is open)")
		channels, err := people["ada"].ListChannels(t.Context())
		require.NoError(t, err)
		require.Empty(t, channels.Data[1].LastError, channels.Data[1].Name)

		require.NoError(t, people["ben"].SetPresence(t.Context(), api.PresenceBody{}))
		require.NoError(t, people["ada"].SetPresence(t.Context(), api.PresenceBody{}))
		_, err = people["ada"].RetryEffect(t.Context(), "s", messages()[0].EffectID)
		require.NoError(t, err)
		eventually(t, "the message to ada", func() bool { return len(s.http.about("/ada\n")) == 2 })
		s.healthy(t)
	})
}

// Who has a request open is known to every replica, while they are there.
func TestWhoHasARequestOpen(t *testing.T) {
	onEngines(t, func(t *testing.T, database string) {
		s, stored := startStanding(t, database)
		another := s.sender(t, stored, s.board)
		ada := &auth.Identity{Principal: "user:ada", Role: api.RoleOperator}
		opens := func(who *auth.Identity, handle string) error {
			return another.SetPresence(t.Context(), who, &api.PresenceBody{Visible: true, Viewing: &handle})
		}
		viewers := func() []reads.Viewer {
			t.Helper()
			found, err := s.send.Viewers(t.Context(), s.stands.Load()+s.later.Load())
			require.NoError(t, err)
			return found
		}
		require.Empty(t, viewers())
		require.NoError(t, opens(&auth.Identity{Principal: "user:ben", Role: api.RoleOperator}, s.open.Handle))
		require.NoError(t, opens(ada, s.open.Handle))
		there := []reads.Viewer{
			{Principal: "user:ada", Handle: s.open.Handle, SessionID: "s", AgentID: "coder"},
			{Principal: "user:ben", Handle: s.open.Handle, SessionID: "s", AgentID: "coder"},
		}
		require.Equal(t, there, viewers())
		one, err := stored.Viewers(t.Context(), s.stands.Load(), 1)
		require.NoError(t, err)
		require.Equal(t, there[:1], one)

		elsewhere := &auth.Identity{Principal: "user:ben", Role: api.RoleOperator, SessionPrefixes: []string{"other"}}
		for _, handle := range []string{s.open.Handle, "guessed", "\x00"} {
			require.Equal(t, api.CodeRequestNotFound, refusal.CodeOf(opens(elsewhere, handle)))
		}
		require.Equal(t, there, viewers(), "what is refused changes nothing")
		require.NoError(t, opens(elsewhere, ""))
		require.Equal(t, there[:1], viewers())

		s.later.Add(api.PresenceMs)
		require.Empty(t, viewers(), "it lapses")
		require.NoError(t, opens(ada, s.open.Handle))
		require.Equal(t, there[:1], viewers())
		require.NoError(t, another.SetPresence(t.Context(), ada, &api.PresenceBody{Visible: true}))
		require.Equal(t, there[:1], viewers(), "another device of theirs has none open")
		s.later.Add(-api.PresenceMs - 1)
		require.Empty(t, viewers(), "a clock that was set back leaves nobody there")
		s.later.Add(2*api.PresenceMs + 1)
		require.NoError(t, another.SetPresence(t.Context(), ada, &api.PresenceBody{Visible: true}))
		require.Empty(t, viewers(), "what lapsed does not come back")
		s.settle(t)
		require.NoError(t, opens(ada, s.open.Handle))
		require.Empty(t, viewers(), "a settled request is nothing to look at")
	})
}
