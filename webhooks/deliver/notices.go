package deliver

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/holdpoint/holdpoint/internal/failpoint"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// noticesAtOnce is the maximum number of messages that a channel sends at once. Each channel has
// its own lane, so a channel that hangs does not delay the others.
const noticesAtOnce = 4

// Notices sends messages to people.
type Notices interface {
	// Channels returns the names of the channels.
	Channels() []string
	// Send sends the message of an effect. permanent means that a retry would not help. A failure that is
	// a *runs.PutOffError is not one: the message is held back.
	Send(ctx context.Context, effect *model.Effect) (permanent bool, failure error)
}

// noticeLane sends the messages of one channel.
type noticeLane struct {
	laneLoop
	deliverer *Deliverer
	channel   string
	breaker   breaker
}

// noticeLanes returns a lane for each channel, by name.
func noticeLanes(d *Deliverer) map[string]*noticeLane {
	lanes := map[string]*noticeLane{}
	if d.options.Notices == nil {
		return lanes
	}
	for _, channel := range d.options.Notices.Channels() {
		lanes[channel] = &noticeLane{laneLoop: newLaneLoop(), deliverer: d, channel: channel}
	}
	return lanes
}

// run sends until ctx ends and no message is in flight.
func (l *noticeLane) run(ctx context.Context) {
	l.laneLoop.run(ctx, l.start, func(r result) { l.breaker.ended(r) })
}

// start starts as many messages as there is room for, and returns how long the lane may sleep.
func (l *noticeLane) start(ctx context.Context) time.Duration {
	if pause := l.breaker.pause(); pause > 0 {
		return pause
	}
	room := noticesAtOnce
	if l.breaker.open() {
		room = 1
	}
	room -= len(l.underWay)
	if room <= 0 {
		return pace
	}
	due, err := l.deliverer.store.DueNotices(ctx, l.channel, room+len(l.underWay))
	if err != nil {
		if ctx.Err() == nil {
			l.deliverer.options.Logger.WarnContext(ctx, "messages cannot be read", slog.String("channel", l.channel), slog.Any("error", err))
		}
		return pace
	}
	for _, one := range due {
		if l.underWay[one] || room == 0 {
			continue
		}
		room--
		l.begin(one, func() result { return l.send(ctx, one) })
	}
	return pace
}

// send sends one message. A refused address counts as delivered for the breaker: it does not mean that
// the channel fails, and must not delay the messages of other people.
func (l *noticeLane) send(ctx context.Context, one reads.DueEffect) result {
	refused := false
	r := l.deliverer.attemptDelivery(ctx, one, func(effect *model.Effect) attempt {
		permanent, failure := l.deliverer.options.Notices.Send(ctx, effect)
		failpoint.Hit("webhooks.notified")
		var putOff *runs.PutOffError
		if errors.As(failure, &putOff) {
			return attempt{putOffMs: max(putOff.Ms, 1)}
		}
		refused = permanent
		made := attempt{failure: failure, permanent: permanent}
		if pause := (*runs.RetryAfterError)(nil); errors.As(failure, &pause) {
			made.retryAfterMs = pause.Ms
		}
		return made
	})
	r.delivered = r.delivered || refused
	return r
}
