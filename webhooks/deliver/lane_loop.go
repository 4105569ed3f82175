package deliver

import (
	"context"
	"net/netip"
	"time"

	"github.com/holdpoint/holdpoint/runs/reads"
)

// result is the result of an attempt, for the loop.
type result struct {
	due                  reads.DueEffect
	delivered, attempted bool
	// goneMs is the UpdatedAtMs of the webhook that the answer disabled, 0 if it disabled none.
	goneMs int64
	// unclaimed reports that the effect could not be claimed, because its session is locked or failing.
	unclaimed bool
	// address is the receiver's address, for callbacks; invalid if it was not called.
	address netip.AddrPort
}

// laneLoop is shared by the lanes: it runs attempts concurrently, but never the same one
// twice.
type laneLoop struct {
	woken    chan struct{}
	done     chan result
	underWay map[reads.DueEffect]bool
	stuck    stuckSessions
}

func newLaneLoop() laneLoop {
	return laneLoop{woken: make(chan struct{}, 1), done: make(chan result), underWay: map[reads.DueEffect]bool{}, stuck: stuckSessions{}}
}

// wake reads due deliveries at once.
func (l *laneLoop) wake() { wake(l.woken) }

// run calls start and ended until ctx ends and no attempt is in flight. start starts
// attempts while there is room and returns how long to sleep. ended is called after each
// attempt.
func (l *laneLoop) run(ctx context.Context, start func(context.Context) time.Duration, ended func(result)) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		l.stuck.forget()
		timer.Reset(start(ctx))
		select {
		case <-ctx.Done():
			for len(l.underWay) > 0 {
				delete(l.underWay, (<-l.done).due)
			}
			return
		case r := <-l.done:
			delete(l.underWay, r.due)
			l.stuck.ended(r)
			ended(r)
		case <-l.woken:
		case <-timer.C:
		}
	}
}

// fill starts as many of the due attempts as there is room for, one while the breaker is open, and returns
// how long the lane may sleep. It passes over stuck sessions.
func (l *laneLoop) fill(slots int, b *breaker, due func(limit int) ([]reads.DueEffect, error), attempt func(reads.DueEffect) result) (time.Duration, error) {
	if pause := b.pause(); pause > 0 {
		return pause, nil
	}
	if b.open() {
		slots = 1
	}
	room := slots - len(l.underWay)
	if room <= 0 {
		return pace, nil
	}
	for limit := l.stuck.reading(slots); ; limit *= 2 {
		found, err := due(limit)
		for _, one := range found {
			if l.underWay[one] || room == 0 || l.stuck.skips(one.SessionID, slots) {
				continue
			}
			room--
			l.begin(one, func() result { return attempt(one) })
		}
		if err != nil || room == 0 || len(found) < limit || !l.stuck.mayHide(limit) {
			return pace, err
		}
	}
}

// begin runs an attempt in the background.
func (l *laneLoop) begin(due reads.DueEffect, attempt func() result) {
	l.underWay[due] = true
	l.stuck.begun(due.SessionID)
	go func() { l.done <- attempt() }()
}

func wake(woken chan struct{}) {
	select {
	case woken <- struct{}{}:
	default:
	}
}
