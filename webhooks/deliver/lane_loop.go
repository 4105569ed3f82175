package deliver

import (
	"context"
	"net/netip"
	"time"

	"github.com/holdpoint/holdpoint/runs"
)

// result is how an attempt ended, for the loop that began it.
type result struct {
	due runs.DueEffect
	// gone says that the webhook was disabled by what it answered.
	delivered, attempted, gone bool
	// address is where the receiver was called, for callbacks; not valid when it was not.
	address netip.AddrPort
}

// laneLoop is what the lanes do alike: it makes attempts at once, and none twice at once.
type laneLoop struct {
	woken    chan struct{}
	done     chan result
	underWay map[runs.DueEffect]bool
}

func newLaneLoop() laneLoop {
	return laneLoop{woken: make(chan struct{}, 1), done: make(chan result), underWay: map[runs.DueEffect]bool{}}
}

// wake has what is due read at once.
func (l *laneLoop) wake() { wake(l.woken) }

// run calls start, which begins what there is room for and returns how long it may sleep, and ended for
// each attempt, until ctx ends and nothing is under way.
func (l *laneLoop) run(ctx context.Context, start func(context.Context) time.Duration, ended func(result)) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		timer.Reset(start(ctx))
		select {
		case <-ctx.Done():
			for len(l.underWay) > 0 {
				delete(l.underWay, (<-l.done).due)
			}
			return
		case r := <-l.done:
			delete(l.underWay, r.due)
			ended(r)
		case <-l.woken:
		case <-timer.C:
		}
	}
}

// begin makes an attempt in the background.
func (l *laneLoop) begin(due runs.DueEffect, attempt func() result) {
	l.underWay[due] = true
	go func() { l.done <- attempt() }()
}

func wake(woken chan struct{}) {
	select {
	case woken <- struct{}{}:
	default:
	}
}
