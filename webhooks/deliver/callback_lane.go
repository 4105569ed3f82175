package deliver

import (
	"context"
	"log/slog"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

const (
	// callbacksAtOnce bounds the calls to callbacks, and callbacksOfOrigin those to one host: one that
	// hangs keeps no other waiting.
	callbacksAtOnce   = 16
	callbacksOfOrigin = 4
	// callbacksSeen is how many of those that are due are looked at, for hosts that have room.
	callbacksSeen = 500
)

// callbackLane posts what became of requests to their callbacks. They wait for nothing but for their
// turn at their host.
type callbackLane struct {
	laneLoop
	deliverer *Deliverer
	origins   map[string]*origin
}

// origin is a host that callbacks go to.
type origin struct {
	underWay int
	breaker  breaker
}

func newCallbackLane(d *Deliverer) *callbackLane {
	return &callbackLane{laneLoop: newLaneLoop(), deliverer: d, origins: map[string]*origin{}}
}

// run delivers until ctx ends and nothing is under way.
func (l *callbackLane) run(ctx context.Context) { l.laneLoop.run(ctx, l.start, l.ended) }

// start begins as many deliveries as there is room for, and returns how long the lane may sleep.
func (l *callbackLane) start(ctx context.Context) time.Duration {
	if len(l.underWay) >= callbacksAtOnce {
		return pace
	}
	due, err := l.deliverer.store.DueDeliveries(ctx, api.CallbackWebhookID, callbacksSeen)
	if err != nil {
		if ctx.Err() == nil {
			l.deliverer.options.Logger.WarnContext(ctx, "what callbacks are owed cannot be read", slog.Any("error", err))
		}
		return pace
	}
	for _, one := range due {
		if len(l.underWay) >= callbacksAtOnce {
			break
		}
		host := l.originOf(one)
		if l.underWay[one] || !host.hasRoom() {
			continue
		}
		host.underWay++
		l.begin(one, func() result {
			return l.deliverer.attemptDelivery(ctx, one, func(effect *model.Effect) attempt { return l.deliverer.callBack(ctx, effect) })
		})
	}
	return pace
}

func (l *callbackLane) originOf(due runs.DueEffect) *origin {
	name, _ := model.CallbackOrigin(due.EffectID)
	host := l.origins[name]
	if host == nil {
		host = &origin{}
		l.origins[name] = host
	}
	return host
}

// hasRoom reports whether the host may be called once more.
func (o *origin) hasRoom() bool {
	if o.breaker.open() {
		return o.underWay == 0 && o.breaker.pause() <= 0
	}
	return o.underWay < callbacksOfOrigin
}

// ended notes how an attempt ended. A host that is well is forgotten.
func (l *callbackLane) ended(r result) {
	name, _ := model.CallbackOrigin(r.due.EffectID)
	host := l.origins[name]
	host.underWay--
	host.breaker.ended(r)
	if host.underWay == 0 && host.breaker.failures == 0 {
		delete(l.origins, name)
	}
}
