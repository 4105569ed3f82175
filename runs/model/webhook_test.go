package model_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
)

// A message that failed is retried within 5 s, whatever its jitter. Its later pauses are the ones of webhooks.
func TestTheFirstPauseOfAMessage(t *testing.T) {
	t.Parallel()
	var first, second, hooks []int64
	for n := range 1_000 {
		message := model.Effect{
			EffectID: model.NoticeEffectID("mail", fmt.Sprint("handle-", n), "user:ada", 0), Kind: api.EffectNotify, WebhookID: model.NoticeWebhookID("mail"), Attempts: 1,
		}
		first = append(first, message.BackoffMs())
		message.Attempts = 2
		second = append(second, message.BackoffMs())
		hook := model.Effect{
			EffectID: model.WebhookEffectID("hook", fmt.Sprint("session-", n), 1), Kind: api.EffectDeliverWebhook, WebhookID: "hook", Attempts: 1,
		}
		hooks = append(hooks, hook.BackoffMs())
	}
	require.Less(t, slices.Max(first), int64(5_000))
	require.GreaterOrEqual(t, slices.Min(first), int64(3_200))
	require.Greater(t, slices.Max(first), slices.Min(first), "messages that failed together are not retried together")
	require.GreaterOrEqual(t, slices.Min(second), int64(48_000))
	require.Less(t, slices.Max(second), int64(72_000))
	require.GreaterOrEqual(t, slices.Min(hooks), int64(4_000))
	require.Greater(t, slices.Max(hooks), int64(5_000), "of a webhook it is about 5 s")
	require.Less(t, slices.Max(hooks), int64(6_000))
}
