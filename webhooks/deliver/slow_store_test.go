package deliver

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/webhooks"
)

// slowStore answers no read before its context ends.
type slowStore struct {
	Store
	finished []*runs.FinishEffect
}

func (s *slowStore) Do(_ context.Context, command runs.Command) (runs.Reply, error) {
	switch c := command.(type) {
	case *runs.ClaimEffect:
		payload := api.JSON(`{"event_id":1,"handle":"h"}`)
		return runs.Reply{Effect: &model.Effect{SessionID: c.SessionID, EffectID: c.EffectID, Kind: api.EffectDeliverWebhook, Payload: payload, Attempts: 1}}, nil
	case *runs.FinishEffect:
		s.finished = append(s.finished, c)
	}
	return runs.Reply{}, nil
}

func (*slowStore) EventsWithin(ctx context.Context, _ reads.EventQuery) ([]model.Event, bool, error) {
	<-ctx.Done()
	return nil, false, ctx.Err()
}

func (*slowStore) DecisionByHandle(ctx context.Context, _ string) (*model.DecidedRequest, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// An attempt that outlasts its lease would be made by another replica at the same time, and the next event might be
// delivered before one of the two.
func TestAnAttemptEndsBeforeItsLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &slowStore{}
		d := New(store, Options{Logger: slog.New(slog.DiscardHandler)})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		for i, attempt := range []func(reads.DueEffect) result{
			func(one reads.DueEffect) result { return d.deliver(ctx, &webhooks.Endpoint{WebhookID: "wh"}, one) },
			func(one reads.DueEffect) result { return d.attemptDelivery(ctx, one, d.callBack) },
		} {
			began := time.Now()
			ended := attempt(reads.DueEffect{SessionID: "s", EffectID: model.WebhookEffectID("wh", "s", 1)})
			require.True(t, ended.attempted && !ended.delivered)
			require.Len(t, store.finished, i+1)
			require.NotEmpty(t, store.finished[i].Error)
			require.Less(t, time.Since(began)+recording, model.WebhookLeaseMs*time.Millisecond)
		}
	})
}
