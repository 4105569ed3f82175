package deliver

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/webhooks"
)

const (
	// failuresBeforePause is how many attempts in a row may fail before the lane pauses, and then
	// probes with one delivery at a time. The pause doubles from a pace to longestPause.
	failuresBeforePause = 5
	longestPause        = time.Minute
)

// lane delivers to one endpoint: the oldest event of each session first, several sessions at once.
type lane struct {
	deliverer *Deliverer
	endpoint  atomic.Pointer[webhooks.Endpoint]
	stop      context.CancelFunc
	woken     chan struct{}
	done      chan result

	// The loop's alone.
	underWay map[runs.DueEffect]bool
	failures int
	resumeAt time.Time
	// goneMs is the UpdatedAtMs of the endpoint that has answered that it is gone, 0 for none.
	goneMs int64
}

type result struct {
	due runs.DueEffect
	// gone says that the webhook was disabled by what it answered.
	delivered, attempted, gone bool
}

func newLane(d *Deliverer, e *webhooks.Endpoint) *lane {
	l := &lane{deliverer: d, woken: make(chan struct{}, 1), done: make(chan result), underWay: map[runs.DueEffect]bool{}}
	l.endpoint.Store(e)
	return l
}

// run delivers until ctx ends and nothing is under way.
func (l *lane) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		wait := l.start(ctx)
		timer.Reset(wait)
		select {
		case <-ctx.Done():
			for len(l.underWay) > 0 {
				delete(l.underWay, (<-l.done).due)
			}
			return
		case r := <-l.done:
			l.ended(r)
		case <-l.woken:
		case <-timer.C:
		}
	}
}

// start begins as many deliveries as there is room for, and returns how long the lane may sleep.
func (l *lane) start(ctx context.Context) time.Duration {
	e := l.endpoint.Load()
	if e.UpdatedAtMs == l.goneMs {
		return pace // it is disabled, and the lane is about to end
	}
	room := int(e.Settings.MaxConcurrency)
	if l.failures >= failuresBeforePause {
		if wait := time.Until(l.resumeAt); wait > 0 { //nolint:forbidigo // only says when to look again
			return wait
		}
		room = 1
	}
	room -= len(l.underWay)
	if room <= 0 {
		return pace
	}
	due, err := l.deliverer.store.DueDeliveries(ctx, e.WebhookID, room+len(l.underWay))
	if err != nil {
		if ctx.Err() == nil {
			l.deliverer.options.Logger.WarnContext(ctx, "what a webhook is owed cannot be read", slog.String("webhook_id", e.WebhookID), slog.Any("error", err))
		}
		return pace
	}
	for _, one := range due {
		if l.underWay[one] || room == 0 {
			continue
		}
		room--
		l.underWay[one] = true
		go func() {
			l.done <- l.deliverer.deliver(ctx, e, one)
		}()
	}
	return pace
}

// ended notes how an attempt ended.
func (l *lane) ended(r result) {
	delete(l.underWay, r.due)
	if r.gone {
		l.goneMs = l.endpoint.Load().UpdatedAtMs
	}
	switch {
	case r.delivered:
		l.failures = 0
	case r.attempted:
		if l.failures++; l.failures >= failuresBeforePause {
			pause := min(pace<<min(l.failures-failuresBeforePause, 10), longestPause)
			l.resumeAt = time.Now().Add(pause) //nolint:forbidigo // only says when to look again
		}
	}
}
