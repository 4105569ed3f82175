package deliver

import (
	"context"
	"log/slog"
	"time"

	"github.com/holdpoint/holdpoint/runs/model"
)

// noticesAtOnce bounds the messages that one channel sends at once. Each channel has a lane of its own, so a
// channel that hangs holds up no other.
const noticesAtOnce = 4

// Notices sends messages to people.
type Notices interface {
	// Channels are the names of the channels.
	Channels() []string
	// Send sends the message of an effect. permanent says that no retry helps.
	Send(ctx context.Context, effect *model.Effect) (permanent bool, failure error)
}

// noticeLane sends the messages of one channel.
type noticeLane struct {
	laneLoop
	deliverer *Deliverer
	channel   string
	breaker   breaker
}

// noticeLanes returns a lane for each channel, by its name.
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

// run sends until ctx ends and nothing is under way.
func (l *noticeLane) run(ctx context.Context) {
	l.laneLoop.run(ctx, l.start, func(r result) { l.breaker.ended(r) })
}

// start begins as many messages as there is room for, and returns how long the lane may sleep.
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
		l.begin(one, func() result {
			refused := false
			r := l.deliverer.attemptDelivery(ctx, one, func(effect *model.Effect) attempt {
				permanent, failure := l.deliverer.options.Notices.Send(ctx, effect)
				refused = permanent
				return attempt{failure: failure, permanent: permanent}
			})
			// A refused address says nothing about the channel: the breaker must not delay messages to other people.
			r.delivered = r.delivered || refused
			return r
		})
	}
	return pace
}
