package notify_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/test/inprocess"
	"github.com/holdpoint/holdpoint/test/slackpeer"
)

// The next step of an escalation is sent where the workspace keeps every message. Only the newest message has buttons,
// unless the earlier one may not be changed either.
func TestANewerMessageWhereSlackForbidsDeletion(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ deletion, change string }{
		{"compliance_exports_prevent_deletion", ""}, {"cant_delete_message", ""}, {"cant_delete_message", "edit_window_closed"},
	} {
		t.Run(test.deletion+test.change, func(t *testing.T) {
			t.Parallel()
			s := withSlack(t, inprocess.Memory, "summary")
			s.slack.Set(func() {
				s.slack.Answers["chat.delete"] = slackpeer.Refuses(test.deletion)
				if test.change != "" {
					s.slack.Answers["chat.update"] = slackpeer.Refuses(test.change)
				}
			})
			before := len(s.slack.Of(slackAda))
			step := func(afterMs int64) api.EscalationStep {
				return api.EscalationStep{AfterMs: afterMs, Notify: []string{"user:ada"}}
			}
			raiseEscalating(t, s.people["maker"], "s", &api.Escalation{Steps: []api.EscalationStep{step(0), step(time.Hour.Milliseconds())}})
			eventually(t, "the first message was sent", func() bool {
				done := s.effects(t, reads.EffectQuery{WebhookID: model.NoticeWebhookID("slack"), State: api.EffectDone, Limit: 20})
				return len(done) == 1
			})
			s.later.Store(time.Hour.Milliseconds())
			raiseEscalating(t, s.people["maker"], "wakes-the-loop", &api.Escalation{Steps: []api.EscalationStep{step(time.Hour.Milliseconds())}})
			eventually(t, "the second message", func() bool { return len(s.slack.Of(slackAda)) == before+2 })
			posts := s.slack.Of(slackAda)[before:]
			require.NotEmpty(t, posts[1].Values(t)["deny"])
			if test.change == "" {
				require.Contains(t, posts[0].Blocks, "A newer message follows.")
				require.NotContains(t, posts[0].Blocks, "deploy")
				require.Empty(t, posts[0].Values(t))
			}
		})
	}
}
