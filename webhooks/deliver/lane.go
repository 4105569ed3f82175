package deliver

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/webhooks"
)

// lane delivers to one endpoint: several sessions concurrently, and the events of each
// session in order.
type lane struct {
	laneLoop
	deliverer *Deliverer
	endpoint  atomic.Pointer[webhooks.Endpoint]
	stop      context.CancelFunc

	// Used only by the loop.
	breaker breaker
	// goneMs is the UpdatedAtMs of the endpoint that answered 410 Gone, 0 if it has not.
	goneMs int64
}

func newLane(d *Deliverer, e *webhooks.Endpoint) *lane {
	l := &lane{laneLoop: newLaneLoop(), deliverer: d}
	l.endpoint.Store(e)
	return l
}

// run delivers until ctx ends and no delivery is in flight.
func (l *lane) run(ctx context.Context) { l.laneLoop.run(ctx, l.start, l.ended) }

// start starts as many deliveries as there is room for, and returns how long the lane may
// sleep.
func (l *lane) start(ctx context.Context) time.Duration {
	e := l.endpoint.Load()
	if e.UpdatedAtMs == l.goneMs {
		return pace // disabled; the lane is about to end
	}
	sleep, err := l.fill(int(e.Settings.MaxConcurrency), &l.breaker,
		func(limit int) ([]reads.DueEffect, error) {
			return l.deliverer.store.DueDeliveries(ctx, e.WebhookID, limit)
		},
		func(one reads.DueEffect) result { return l.deliverer.deliver(ctx, e, one) })
	if err != nil && ctx.Err() == nil {
		l.deliverer.options.Logger.WarnContext(ctx, "pending deliveries of a webhook cannot be read", slog.String("webhook_id", e.WebhookID), slog.Any("error", err))
	}
	return sleep
}

// ended records the result of an attempt.
func (l *lane) ended(r result) {
	if r.goneMs != 0 {
		l.goneMs = r.goneMs // the endpoint may have been enabled again meanwhile
	}
	l.breaker.ended(r)
}
