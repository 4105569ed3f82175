package operate

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
)

// A message or a delivery to a webhook goes to a receiver outside of the service, although its target is its own session.
func TestEffectsSayForWhomTheyAre(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		effect api.EffectView
		to     string
	}{
		{api.EffectView{Kind: api.EffectNotify}, "a person"},
		{api.EffectView{Kind: api.EffectDeliverWebhook, WebhookID: api.CallbackWebhookID}, "the request's callback"},
		{api.EffectView{Kind: api.EffectDeliverWebhook, WebhookID: "webhook_1"}, "webhook_1"},
		{api.EffectView{Kind: api.EffectDrainSession}, "the same session"},
		{api.EffectView{Kind: api.EffectOpenClarification, TargetSessionID: "parent"}, sessionName("parent", "", nil)},
	} {
		test.effect.SessionID = "s"
		if test.effect.TargetSessionID == "" {
			test.effect.TargetSessionID = "s"
		}
		require.Equal(t, test.to, effectTable.row(&test.effect, time.UnixMilli(0))[3], test.effect.Kind)
	}
}
