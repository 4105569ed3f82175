package deliver

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

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
	// goneMs is the UpdatedAtMs of the endpoint when it answered 410 Gone, 0 if it has not.
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
	room := int(e.Settings.MaxConcurrency)
	if pause := l.breaker.pause(); pause > 0 {
		return pause
	}
	if l.breaker.open() {
		room = 1
	}
	room -= len(l.underWay)
	if room <= 0 {
		return pace
	}
	due, err := l.deliverer.store.DueDeliveries(ctx, e.WebhookID, room+len(l.underWay))
	if err != nil {
		if ctx.Err() == nil {
			l.deliverer.options.Logger.WarnContext(ctx, "pending deliveries of a webhook cannot be read", slog.String("webhook_id", e.WebhookID), slog.Any("error", err))
		}
		return pace
	}
	for _, one := range due {
		if l.underWay[one] || room == 0 {
			continue
		}
		room--
		l.begin(one, func() result { return l.deliverer.deliver(ctx, e, one) })
	}
	return pace
}

// ended records the result of an attempt.
func (l *lane) ended(r result) {
	if r.gone {
		l.goneMs = l.endpoint.Load().UpdatedAtMs
	}
	l.breaker.ended(r)
}
