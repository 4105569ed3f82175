package notify_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/notify"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/test/inprocess"
	"github.com/holdpoint/holdpoint/test/slackpeer"
)

// A workspace that lets no message be changed keeps it without its outcome. Nobody is told that it was withdrawn, and no
// retry follows.
func TestASlackMessageThatMayNotBeChanged(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"edit_window_closed", "cant_update_message"} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			s := withSlack(t, inprocess.Memory, "summary")
			runID, _ := s.asks(t, "s", restart)
			effects := func(state api.EffectState) []model.Effect {
				return s.effects(t, reads.EffectQuery{WebhookID: model.NoticeWebhookID("slack"), State: state, Limit: 20})
			}
			eventually(t, "both messages", func() bool { return len(effects(api.EffectDone)) == 2 })
			s.slack.Set(func() { s.slack.Answers["chat.update"] = slackpeer.Refuses(code) })
			s.resolve(t, s.people["ada"], runID, api.BehaviorDeny, "a")
			eventually(t, "the withdrawal", func() bool { return len(effects(api.EffectPending)) == 0 })
			require.Empty(t, effects(api.EffectFailed))
			record := s.recordOf(t, runID)
			explained, err := s.people["ada"].ExplainRequest(t.Context(), record.Requests[0].Handle)
			require.NoError(t, err)
			require.Len(t, explained.Notified, 2)
			for _, notice := range explained.Notified {
				require.Equal(t, api.NoticeSent, notice.State)
			}
			s.healthy(t)
		})
	}
}

// The answer to a message was lost, and the message may no longer be changed: it was sent, and its buttons work.
func TestASlackMessageThatWasSentAndMayNotBeChanged(t *testing.T) {
	t.Parallel()
	s := withSlack(t, inprocess.Memory, "summary")
	s.slack.Set(func() {
		s.slack.After["chat.postMessage"] = func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) }
		s.slack.Answers["chat.update"] = slackpeer.Refuses("edit_window_closed")
	})
	runID, _ := s.asks(t, "s", restart)
	changes := func() (count int) {
		s.slack.Set(func() {
			for _, method := range s.slack.Calls {
				if method == "chat.update" {
					count++
				}
			}
		})
		return count
	}
	s.retries(t, func() bool { return changes() >= 2 })
	require.False(t, slices.Contains(s.events(t, runID), "notification_failed"))
	require.Len(t, s.slack.About(slackAda, "restart"), 1)
	s.slack.Press(t, slackAda, "allow", s.slack.About(slackAda, "restart")[0].Values(t)["allow"], 1)
	require.Equal(t, api.OutcomeAllowed, s.recorded(t, runID).Outcome)
}

// The file of the channel has no settled_body any more: the messages that it sent stay as they are.
func TestAChannelThatWithdrawsNoLonger(t *testing.T) {
	t.Parallel()
	s := startReplicas(t, inprocess.Memory)
	s.sends(t, s.message(t, "user:ada", 0))
	s.settle(t)
	s.send = s.sender(t, storeAs[notify.Store](t, s.Store), &pager{})
	_, err := s.send.Send(t.Context(), s.withdrawal(t))
	require.ErrorIs(t, err, runs.ErrNotSent)
}
