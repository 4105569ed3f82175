package deliver

import (
	"context"
	"log/slog"
	"sync"
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

// backlogStore has more deliveries to a deleted webhook than anybody can drop, and a webhook that was just created.
type backlogStore struct {
	slowStore
	webhooks.Store
}

func (*backlogStore) DueDeliveries(ctx context.Context, webhookID string, _ int) ([]reads.DueEffect, error) {
	if webhookID != "" {
		return nil, nil
	}
	return []reads.DueEffect{{SessionID: "s", EffectID: model.WebhookEffectID("gone", "s", 1)}}, ctx.Err()
}

func (*backlogStore) DueCallbacks(context.Context, []string, int) ([]reads.DueEffect, error) {
	return nil, nil
}

func (*backlogStore) OrphanNotices(context.Context, []string, int64, int) ([]reads.DueEffect, error) {
	return nil, nil
}

func (*backlogStore) Subscribe(func(reads.Notice)) (unsubscribe func()) { return func() {} }

func (*backlogStore) Do(ctx context.Context, command runs.Command) (runs.Reply, error) {
	time.Sleep(time.Millisecond)
	return new(slowStore).Do(ctx, command)
}

func (*backlogStore) Webhooks(context.Context) ([]webhooks.Endpoint, error) {
	return []webhooks.Endpoint{{WebhookID: "new", UpdatedAtMs: 1, Settings: webhooks.Settings{MaxConcurrency: 1}}}, nil
}

// A webhook is delivered to while a long backlog of a deleted one is dropped.
func TestALongBacklogOfADeletedWebhookHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &backlogStore{}
		d := New(store, Options{Manager: webhooks.NewManager(webhooks.Options{Store: store}), Logger: slog.New(slog.DiscardHandler)})
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { _ = d.Run(ctx) })
		defer running.Wait()
		defer cancel()
		synctest.Wait()
		d.mu.Lock()
		defer d.mu.Unlock()
		require.Contains(t, d.lanes, "new")
	})
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
