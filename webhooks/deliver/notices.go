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

// maxNoticePauseMs bounds the pause that a channel may ask for. Someone waits for the message.
const maxNoticePauseMs = 15 * 60_000

// Notices sends messages to people.
type Notices interface {
	// Channels returns the names of the channels.
	Channels() []string
	// Send sends the message of an effect. permanent means that a retry would not help. Two errors are not failures:
	// *runs.PutOffError says that the message is held back, runs.ErrNotSent that it is not needed.
	Send(ctx context.Context, effect *model.Effect) (permanent bool, failure error)
	// Next returns the person's next address for a message that failed; nil if there is none, or if it is too
	// early. final says that the message is given up otherwise.
	Next(ctx context.Context, effect *model.Effect, failure error, final bool) (*runs.NextAddress, error)
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
	sleep, err := l.fill(noticesAtOnce, &l.breaker,
		func(limit int) ([]reads.DueEffect, error) { return l.deliverer.store.DueNotices(ctx, l.channel, limit) },
		func(one reads.DueEffect) result { return l.send(ctx, one) })
	if err != nil && ctx.Err() == nil {
		l.deliverer.options.Logger.WarnContext(ctx, "messages cannot be read", slog.String("channel", l.channel), slog.Any("error", err))
	}
	return sleep
}

// next returns where a failed message goes; nil if it has no other address, or is retried first.
func (d *Deliverer) next(ctx context.Context, effect *model.Effect, made attempt) (*runs.NextAddress, error) {
	if d.options.Notices == nil {
		return nil, nil
	}
	return d.options.Notices.Next(ctx, effect, made.failure, made.permanent || effect.Attempts >= effect.MaxAttempts())
}

// send sends one message. A refused address counts as delivered for the breaker: it does not mean that
// the channel fails, and must not delay the messages of other people.
func (l *noticeLane) send(ctx context.Context, one reads.DueEffect) result {
	refused := false
	r := l.deliverer.attemptDelivery(ctx, one, func(ctx context.Context, effect *model.Effect) attempt {
		permanent, failure := l.deliverer.options.Notices.Send(ctx, effect)
		failpoint.Hit("webhooks.notified")
		if putOff, ok := errors.AsType[*runs.PutOffError](failure); ok {
			return attempt{putOffMs: max(putOff.Ms, 1), why: putOff.Why}
		}
		if errors.Is(failure, runs.ErrNotSent) {
			return attempt{unsent: true, sentForOthers: errors.Is(failure, runs.ErrSentForOthers)}
		}
		refused = permanent
		made := attempt{failure: failure, permanent: permanent}
		if pause := (*runs.RetryAfterError)(nil); errors.As(failure, &pause) {
			made.retryAfterMs = min(pause.Ms, maxNoticePauseMs)
		}
		return made
	})
	r.delivered = r.delivered || refused
	return r
}
