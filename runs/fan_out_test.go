package runs

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/webhooks"
)

// A decision's deliveries are created in chunks of at most FanOutChunk: each event once, in order,
// with its own run.
func TestWhatIsOwedIsFannedOutInParts(t *testing.T) {
	t.Parallel()
	set := webhooks.NewSet([]webhooks.Endpoint{{WebhookID: "webhook_a", Settings: webhooks.Settings{Events: []api.EventType{"wanted"}}}})
	rapid.Check(t, func(t *rapid.T) {
		state := NewState("s")
		state.Session, state.Webhooks = &model.Session{SessionID: "s"}, set
		w := newWorkingCopy(state, 1)
		type owed struct {
			runID   string
			eventID int64
		}
		var wanted, made []owed
		for eventID := int64(1); eventID <= rapid.Int64Range(0, 3*FanOutChunk).Draw(t, "events"); eventID++ {
			event := &model.Event{SessionID: "s", EventID: eventID, RunID: rapid.SampledFrom([]string{"r", "r", "r", "q"}).Draw(t, "run"), Type: "other"}
			if rapid.IntRange(0, 9).Draw(t, "wanted") > 0 {
				event.Type = "wanted"
				wanted = append(wanted, owed{event.RunID, eventID})
			}
			w.oweWebhooks(event)
		}
		w.enqueueDeliveries()
		state.Apply(w.change())
		require.LessOrEqual(t, len(w.changes.NewEffects), MaxOwedRows)
		news := w.changes.NewEffects
		for len(news) > 0 {
			effect := news[0]
			news = news[1:]
			if !model.IsFanOut(effect.EffectID) {
				eventID, err := model.WebhookEvent(effect)
				require.NoError(t, err)
				made = append(made, owed{effect.RunID, eventID})
				continue
			}
			require.Empty(t, news, "what is left comes last")
			change, _, err := Decide(state, &FanOutDeliveries{SessionID: "s", EffectID: effect.EffectID}, 1)
			require.NoError(t, err)
			require.LessOrEqual(t, len(change.NewEffects), FanOutChunk+1)
			for i, one := range change.NewEffects[1:] {
				require.Less(t, change.NewEffects[i].EffectID, one.EffectID)
			}
			require.Less(t, effect.EffectID, change.NewEffects[0].EffectID)
			state.Apply(change)
			news = change.NewEffects
		}
		require.Equal(t, wanted, made)
	})
}

// A row that was changed outside of the service affects only itself.
func TestUnreadableFanOutFails(t *testing.T) {
	t.Parallel()
	for _, payload := range []string{
		`{}`, `[]`, `{"runs":[]}`, `{"runs":[{"run_id":"r","spans":[]}]}`, `{"runs":[{"run_id":"","spans":[[1,2]]}]}`,
		`{"runs":[{"run_id":"r","spans":[[2,1]]}]}`, `{"runs":[{"run_id":"r","spans":[[0,1]]}]}`,
		`{"runs":[{"run_id":"r","spans":[[1,2],[2,3]]}]}`, `{"runs":[{"run_id":"r","spans":[[1]]}]}`,
	} {
		effect := &model.Effect{
			SessionID: "s", EffectID: model.FanOutEffectID("webhook_a", "s", 1), RunID: "r", Kind: api.EffectDeliverWebhook,
			State: api.EffectPending, DueAtMs: 1, WebhookID: "webhook_a", Payload: api.JSON(payload),
		}
		state := NewState("s")
		state.Session, state.Effects[effect.EffectID] = &model.Session{SessionID: "s"}, effect
		_, err := CommandOf(effect)
		require.Error(t, err, payload)
		change, _, err := Decide(state, &FanOutDeliveries{SessionID: "s", EffectID: effect.EffectID}, 1)
		require.NoError(t, err)
		require.Empty(t, change.NewEffects)
		require.Equal(t, api.EffectFailed, change.UpdatedEffects[0].State)
		require.NotEmpty(t, change.UpdatedEffects[0].LastError)
	}
	require.False(t, model.IsFanOut(model.WebhookEffectID("webhook_a", "s", 1)))
}
