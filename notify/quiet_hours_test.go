package notify_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// A message waits in the quiet hours of its person, unless it is urgent.
func TestMessagesWaitInQuietHours(t *testing.T) {
	onEngines(t, func(t *testing.T, database string) {
		s := start(t, database, time.Second, false)
		s.verified(t, s.client, "ops", "ada", s.http)
		none, err := s.client.GetQuietHours(t.Context())
		require.NoError(t, err)
		require.Nil(t, none.QuietHours)
		at := func(d time.Duration) string { return time.Now().UTC().Add(d).Format("15:04") }
		hours := api.QuietHours{Zone: "UTC", From: at(-6 * time.Hour), To: at(6 * time.Hour)}
		set, err := s.client.SetQuietHours(t.Context(), hours)
		require.NoError(t, err)
		require.Equal(t, &hours, set.QuietHours)

		before := len(s.http.about("/ada\n"))
		raiseEscalating(t, s.client, "waits", &api.Escalation{Steps: []api.EscalationStep{{Notify: []string{"user:local"}}}})
		eventually(t, "the message is put off", func() bool {
			effects := s.effects(t, reads.EffectQuery{SessionID: "waits", WebhookID: model.NoticeWebhookID("ops"), State: api.EffectPending, Limit: 10})
			return len(effects) == 1 && effects[0].Attempts == 0 && effects[0].DueAtMs > time.Now().Add(30*time.Minute).UnixMilli()
		})
		require.Len(t, s.http.about("/ada\n"), before)
		raiseEscalating(t, s.client, "urgent", &api.Escalation{Steps: []api.EscalationStep{{Notify: []string{"user:local"}, Urgent: true}}})
		eventually(t, "the urgent message", func() bool { return len(s.http.about("/ada\n")) == before+1 })

		require.NoError(t, s.client.ClearQuietHours(t.Context()))
		require.NoError(t, s.client.ClearQuietHours(t.Context()))
		raise(t, s.client, "later", "a")
		eventually(t, "the message without quiet hours", func() bool { return len(s.http.about("/ada\n")) == before+2 })
		for _, wrong := range []api.QuietHours{
			{Zone: "Mars", From: "22:00", To: "07:00"},
			{Zone: "Local", From: "22:00", To: "07:00"},
			{Zone: "../UTC", From: "22:00", To: "07:00"},
			{Zone: "UTC", From: "24:00", To: "07:00"},
			{Zone: "UTC", From: "22:00", To: "22:00"},
			{Zone: "UTC", From: "x", To: "07:00"},
		} {
			_, err := s.client.SetQuietHours(t.Context(), wrong)
			require.Error(t, err, "%v", wrong)
		}
		s.healthy(t)
	})
}

// An urgent message that could not be sent yet is sent in the quiet hours, though a later step has a message that waits until they end.
func TestALaterStepKeepsNoUrgentMessage(t *testing.T) {
	onEngines(t, func(t *testing.T, database string) {
		s := start(t, database, time.Second, false)
		s.verified(t, s.client, "ops", "ada", s.http)
		at := func(d time.Duration) string { return time.Now().UTC().Add(d).Format("15:04") }
		_, err := s.client.SetQuietHours(t.Context(), api.QuietHours{Zone: "UTC", From: at(-6 * time.Hour), To: at(6 * time.Hour)})
		require.NoError(t, err)
		before := len(s.http.about("/ada\n"))
		s.http.set(func(i *inbox) { i.status = http.StatusServiceUnavailable })
		runID := raiseEscalating(t, s.client, "urgent", &api.Escalation{Steps: []api.EscalationStep{
			{Notify: []string{"user:local"}, Urgent: true}, {AfterMs: 300, Notify: []string{"role:operator", "role:admin", "user:local"}},
		}})
		eventually(t, "the later step", func() bool { return strings.Contains(s.eventTexts(t, runID), `"step":1`) })
		s.http.set(func(i *inbox) { i.status = 0 })
		eventually(t, "the urgent message", func() bool { return len(s.http.about("/ada\n")) == before+1 })
		s.healthy(t)
	})
}
