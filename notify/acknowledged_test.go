package notify_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// look acknowledges the only request of a run, or takes that back.
func (s *service) look(t *testing.T, c *client.Client, runID string, state api.AcknowledgementState) *api.RequestView {
	t.Helper()
	run, err := c.GetRun(t.Context(), runID)
	require.NoError(t, err)
	view, err := c.AcknowledgeRequest(t.Context(), run.PendingApprovals[0].Handle, api.AcknowledgementBody{State: state})
	require.NoError(t, err)
	return view
}

// advances returns the effects that wait to notify people.
func (s *service) advances(t *testing.T, sessionID string) (found []model.Effect) {
	t.Helper()
	effects := s.effects(t, reads.EffectQuery{SessionID: sessionID, State: api.EffectPending, Limit: 100})
	for i := range effects {
		if effects[i].Kind == api.EffectAdvanceRequest {
			found = append(found, effects[i])
		}
	}
	return found
}

// Messages wait while a person is looking, and go out once when that person no longer does, or has
// lost their credential.
func TestMessagesWaitForThePersonWhoIsLooking(t *testing.T) {
	onEngines(t, func(t *testing.T, database string) {
		s := start(t, database, time.Second, true)
		as := func(name string, role api.Role) (tokenID string, c *client.Client) {
			return s.as(t, api.CreateTokenBody{Name: name, Role: role})
		}
		_, maker := as("maker", api.RoleAgent)
		_, ada := as("ada", api.RoleAdmin)
		_, ben := as("ben", api.RoleOperator)
		cyd, carol := as("carol", api.RoleOperator)
		s.verified(t, ben, "ops", "ben", s.http)

		held := func(session string, by *client.Client) string {
			runID := raise(t, maker, session, "a")
			view := s.look(t, by, runID, api.Acknowledged)
			require.Len(t, view.Acknowledgement, 1)
			eventually(t, "the notification is held back", func() bool {
				waiting := s.advances(t, session)
				return len(waiting) == 1 && waiting[0].LastError != "" && waiting[0].DueAtMs > time.Now().Add(30*time.Second).UnixMilli()
			})
			require.NotContains(t, s.events(t, runID), "request_notified")
			return runID
		}
		first := held("one", ada)
		second := held("two", carol)
		require.Empty(t, s.http.about("Agent coder"))
		why, err := ben.ExplainRun(t.Context(), first)
		require.NoError(t, err)
		require.Contains(t, why.Requests[0].Text, "ada is looking at it for the next 29 min.")
		require.Len(t, why.Requests[0].Acknowledgement, 1)
		require.Equal(t, why.Requests[0].Acknowledgement[0].UntilMs, why.Requests[0].NotifyAtMs)

		s.look(t, ada, first, api.NotAcknowledged)
		eventually(t, "the message", func() bool { return len(s.http.about("Agent coder")) == 1 })
		require.Contains(t, s.events(t, first), "request_notified")

		// Without a credential nobody is looking. The service checks every minute; an operator may ask at once.
		require.NoError(t, s.Keyring.Revoke(t.Context(), cyd, true))
		_, err = ada.RetryEffect(t.Context(), "two", s.advances(t, "two")[0].EffectID)
		require.NoError(t, err)
		eventually(t, "the other message", func() bool { return len(s.http.about("Agent coder")) == 2 })
		require.Contains(t, s.events(t, second), "request_notified")
		s.healthy(t)
	})
}

// people returns an agent and two people who may decide, by name.
func (s *service) people(t *testing.T) map[string]*client.Client {
	t.Helper()
	people := map[string]*client.Client{}
	for name, role := range map[string]api.Role{"maker": api.RoleAgent, "ada": api.RoleAdmin, "ben": api.RoleOperator} {
		_, people[name] = s.as(t, api.CreateTokenBody{Name: name, Role: role})
	}
	return people
}

// A message that is retried waits, too, but not one to the person who is looking.
func TestARetriedMessageWaits(t *testing.T) {
	onEngines(t, func(t *testing.T, database string) {
		s := start(t, database, time.Second, true)
		people := s.people(t)
		ada := people["ada"]
		for _, name := range []string{"ada", "ben"} {
			s.verified(t, people[name], "ops", name, s.http)
		}
		s.http.set(func(i *inbox) { i.status = http.StatusInternalServerError })
		runID := raise(t, people["maker"], "s", "a")
		messages := func() (found []model.Effect) {
			return s.effects(t, reads.EffectQuery{SessionID: "s", WebhookID: model.NoticeWebhookID("ops"), State: api.EffectPending, Limit: 10})
		}
		eventually(t, "both have failed once", func() bool {
			found := messages()
			return len(found) == 2 && found[0].LastError != "" && found[1].LastError != ""
		})
		s.look(t, ada, runID, api.Acknowledged)
		s.http.set(func(i *inbox) { i.status = 0 })
		again := func() {
			for _, message := range messages() {
				_, err := ada.RetryEffect(t.Context(), "s", message.EffectID)
				require.NoError(t, err)
			}
		}
		again()
		eventually(t, "the message to ben is put off", func() bool {
			found := messages()
			return len(found) == 1 && found[0].DueAtMs > time.Now().Add(30*time.Second).UnixMilli()
		})
		sent := s.http.about("Agent coder")
		require.Len(t, sent, 1)
		require.Contains(t, sent[0], "/ada\n")
		s.look(t, ada, runID, api.NotAcknowledged)
		again()
		eventually(t, "the message to ben", func() bool { return len(s.http.about("Agent coder")) == 2 && len(messages()) == 0 })
		s.healthy(t)
	})
}

// A person who snoozes a request gets its message only if nobody else can be notified.
func TestASnoozedMessageWaits(t *testing.T) {
	onEngines(t, func(t *testing.T, database string) {
		s := start(t, database, time.Second, true)
		people := s.people(t)
		snooze := func(who, runID string) {
			run, err := people[who].GetRun(t.Context(), runID)
			require.NoError(t, err)
			until := time.Now().Add(24 * time.Hour).UnixMilli()
			view, err := people[who].AcknowledgeRequest(t.Context(), run.PendingApprovals[0].Handle, api.AcknowledgementBody{State: api.Snoozed, UntilMs: &until})
			require.NoError(t, err)
			require.Equal(t, until, view.SnoozedUntilMs)
		}
		s.verified(t, people["ada"], "ops", "ada", s.http)
		alone := raise(t, people["maker"], "alone", "a")
		snooze("ada", alone)
		eventually(t, "there is nobody else", func() bool { return len(s.http.about("/ada\n")) == 2 })

		s.verified(t, people["ben"], "ops", "ben", s.http)
		both := raise(t, people["maker"], "both", "a")
		snooze("ada", both)
		eventually(t, "ben is notified, and ada is not", func() bool {
			effects := s.effects(t, reads.EffectQuery{SessionID: "both", WebhookID: model.NoticeWebhookID("ops"), State: api.EffectPending, Limit: 10})
			return len(s.http.about("/ben\n")) == 2 && len(effects) == 1 && effects[0].DueAtMs > time.Now().Add(30*time.Minute).UnixMilli()
		})
		require.Len(t, s.http.about("/ada\n"), 2)
		s.healthy(t)
	})
}
