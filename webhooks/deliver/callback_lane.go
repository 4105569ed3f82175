package deliver

import (
	"context"
	"log/slog"
	"time"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

const (
	// callbacksAtOnce bounds the calls to callbacks, and callbacksOfOrigin those to one host: one that
	// hangs keeps no other waiting.
	callbacksAtOnce   = 16
	callbacksOfOrigin = 4
	// callbacksSeen is how many of those that are due are read at once, of hosts that have room.
	callbacksSeen = 64
	// originsKept is how many hosts that have failed are remembered although they may be called again, and how
	// many are left out of a read at most.
	originsKept = 1000
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
	l.forget()
	for len(l.underWay) < callbacksAtOnce {
		due, err := l.deliverer.store.DueCallbacks(ctx, l.withoutRoom(), callbacksSeen)
		if err != nil {
			if ctx.Err() == nil {
				l.deliverer.options.Logger.WarnContext(ctx, "what callbacks are owed cannot be read", slog.Any("error", err))
			}
			break
		}
		begun := l.startAll(ctx, due)
		if len(due) < callbacksSeen || begun == 0 {
			break
		}
	}
	return pace
}

// startAll begins those for which there is room, and returns how many it has begun.
func (l *callbackLane) startAll(ctx context.Context, due []runs.DueEffect) (begun int) {
	for _, one := range due {
		if len(l.underWay) >= callbacksAtOnce {
			break
		}
		if l.underWay[one] {
			continue
		}
		host := l.originOf(one)
		if !host.hasRoom() {
			continue
		}
		host.underWay++
		begun++
		l.begin(one, func() result {
			return l.deliverer.attemptDelivery(ctx, one, func(effect *model.Effect) attempt { return l.deliverer.callBack(ctx, effect) })
		})
	}
	return begun
}

// withoutRoom returns the hosts that may not be called now: what they are owed is not looked at, however
// much it is.
func (l *callbackLane) withoutRoom() []string {
	full := make([]string, 0, min(len(l.origins), originsKept))
	for name, host := range l.origins {
		if !host.hasRoom() && len(full) < originsKept {
			full = append(full, name)
		}
	}
	return full
}

// forget forgets hosts that have failed and may be called again, when there are many.
func (l *callbackLane) forget() {
	if len(l.origins) <= originsKept {
		return
	}
	for name, host := range l.origins {
		if host.underWay == 0 && host.hasRoom() {
			delete(l.origins, name)
		}
	}
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
