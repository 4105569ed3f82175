package explain_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/explain"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// rows is a store with one settled request and the effects of its run.
type rows struct {
	reads.Reader
	request model.Request
	effects []model.Effect
}

func (r *rows) DecisionByHandle(context.Context, string) (*model.DecidedRequest, error) {
	return &model.DecidedRequest{PendingRequest: model.PendingRequest{Request: r.request, AgentID: "coder", RunKind: api.KindInput}}, nil
}

func (r *rows) Effects(_ context.Context, q reads.EffectQuery) (found []model.Effect, _ error) {
	slices.SortFunc(r.effects, func(a, b model.Effect) int {
		return cmp.Or(cmp.Compare(a.CreatedAtMs, b.CreatedAtMs), cmp.Compare(a.EffectID, b.EffectID))
	})
	for _, effect := range r.effects {
		behind := effect.CreatedAtMs > q.After.CreatedAtMs || effect.CreatedAtMs == q.After.CreatedAtMs && effect.EffectID > q.After.EffectID
		if behind && effect.WebhookID == q.WebhookID && len(found) < q.Limit {
			found = append(found, effect)
		}
	}
	return found, nil
}

// A message is withdrawn once its channel has done so, and not before.
func TestNoticesOfASettledRequest(t *testing.T) {
	t.Parallel()
	const settled = now - 5*minute
	effect := func(handle, channel, who string, state api.EffectState, createdMs, finishedMs int64) model.Effect {
		e := model.Effect{
			SessionID: "s", RunID: "r", Kind: api.EffectNotify, State: state, WebhookID: model.NoticeWebhookID(channel), CreatedAtMs: createdMs, FinishedAtMs: finishedMs,
			EffectID: model.NoticeEffectID(channel, handle, who, 0), Payload: api.JSON(fmt.Sprintf(`{"request_handle":%q,"request_id":"q","principal":%q,"channel":%q,"step":0}`, handle, who, channel)),
		}
		if who == "" {
			e.EffectID, e.Payload = model.WithdrawalEffectID(channel, handle), api.JSON(fmt.Sprintf(`{"request_handle":%q,"request_id":"q","channel":%q,"step":0,"withdraws":true}`, handle, channel))
		}
		return e
	}
	request := asked(model.KindApproval, func(r *model.Request) {
		r.Outcome, r.SettledAtMs, r.ResolvedBy, r.CreatedAtMs = api.OutcomeAllowed, settled, "user:ada", now-20*minute
	})
	sent := []model.Effect{
		effect("earlier", "slack", "user:eve", api.EffectDone, now-30*minute, now-30*minute),
		effect("h", "slack", "user:ada", api.EffectDone, now-19*minute, now-18*minute),
		effect("h", "slack", "user:ben", api.EffectFailed, now-19*minute, now-17*minute),
		effect("h", "mail", "user:dan", api.EffectDone, now-19*minute, now-16*minute),
		effect("h", "mail", "user:joe", api.EffectDone, now-6*minute, settled+second),
		effect("h", "mail", "user:zoe", api.EffectPending, now-6*minute, 0),
		effect("other", "slack", "user:eve", api.EffectDone, now-6*minute, now-6*minute),
		effect("other", "slack", "", api.EffectDone, settled, now),
	}
	explained := func(withdrawal ...model.Effect) *api.RequestExplanation {
		c := &explain.Collector{
			Reader: &rows{request: *request.Request, effects: slices.Concat(sent, withdrawal)}, Channels: []string{"mail", "push", "slack"},
			NowMs: func(context.Context) (int64, error) { return now, nil },
		}
		e, err := c.OfRequest(t.Context(), "h", runs.Actor{})
		require.NoError(t, err)
		return e
	}
	states := func(e *api.RequestExplanation) map[string]api.NoticeState {
		of := map[string]api.NoticeState{}
		for _, n := range e.Notified {
			of[n.Who] = n.State
		}
		return of
	}
	taken := explained(effect("h", "slack", "", api.EffectDone, settled, now-4*minute))
	require.Equal(t, map[string]api.NoticeState{"user:ada": api.NoticeWithdrawn, "user:ben": api.NoticeFailed, "user:dan": api.NoticeSent}, states(taken))
	require.Equal(t, "Allowed 5 min ago by ada. Notified: ben (slack, not reached, given up 17 min ago), dan (mail, 16 min ago), ada (slack, withdrawn 4 min ago).", taken.Text)
	require.EqualValues(t, now-4*minute, taken.Notified[0].AtMs)

	for name, state := range map[string]api.EffectState{"not yet": api.EffectPending, "given up": api.EffectFailed} {
		require.Equal(t, api.NoticeSent, states(explained(effect("h", "slack", "", state, settled, 0)))["user:ada"], name)
	}
	require.Equal(t, api.NoticeSent, states(explained())["user:ada"], "a channel that does not withdraw")
	sent = nil
	require.Equal(t, "Allowed 5 min ago by ada.", explained().Text)
}
