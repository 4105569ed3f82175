// Package loop holds the loops that find what is due and send it through the
// door, and those that throw away what is no longer kept.
//
// A loop decides nothing. What it finds may have been dealt with by somebody
// else before its command gets through: several replicas may run the same loop at
// once, and "nothing to do" is a normal answer. Each loop has RunOnce, which does
// one pass and says what it did, and Run, which makes passes until its context
// ends. The moment that matters is always the store's; the timers here only say
// when to look again.
//
// The package knows nothing of SQL or HTTP.
package loop

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/holdpoint/holdpoint/runs"
)

// The pauses after failed passes in a row: the first, doubled each time up to the
// last.
const (
	firstPause = 500 * time.Millisecond
	lastPause  = 30 * time.Second
)

// outcome is what one pass of a loop tells its runner.
type outcome struct {
	// attrs describe what was done; a pass that did nothing has none and is not
	// logged.
	attrs []slog.Attr
	// next is how long the loop may sleep if nothing wakes it.
	next time.Duration
}

// runner makes passes of one loop until its context ends.
type runner struct {
	name   string
	logger *slog.Logger
	pass   func(context.Context) (outcome, error)
	// wake ends a sleep early, but not before the shortest one is over: a busy
	// service wakes its loops with every commit. It may be nil.
	wake     <-chan struct{}
	shortest time.Duration
}

// run returns nil when ctx has ended, and an error that wraps runs.ErrClosed when
// the store was closed under the loop. Every other failure is logged and followed
// by a longer pause.
func (r *runner) run(ctx context.Context) error {
	failures := 0
	for ctx.Err() == nil {
		done, err := r.pass(ctx)
		if len(done.attrs) > 0 {
			r.logger.LogAttrs(ctx, slog.LevelInfo, "loop pass did work",
				append([]slog.Attr{slog.String("loop", r.name)}, done.attrs...)...)
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, runs.ErrClosed):
			return err
		case err != nil:
			failures++
			pause := pauseAfter(failures)
			r.logger.LogAttrs(ctx, slog.LevelWarn, "loop pass failed", slog.String("loop", r.name),
				slog.String("error", err.Error()), slog.Int("failures", failures),
				slog.Int64("pause_ms", pause.Milliseconds()))
			sleep(ctx, pause, nil)
		default:
			failures = 0
			r.rest(ctx, done.next)
		}
	}
	return nil
}

// rest sleeps for next, or until something wakes it, but at least for the shortest
// sleep unless next itself is shorter.
func (r *runner) rest(ctx context.Context, next time.Duration) {
	first := min(next, r.shortest)
	sleep(ctx, first, nil)
	sleep(ctx, next-first, r.wake)
}

func pauseAfter(failures int) time.Duration {
	pause := firstPause
	for range failures - 1 {
		if pause *= 2; pause >= lastPause {
			return lastPause
		}
	}
	return pause
}

// sleep waits for the duration, a wake-up, or the end of ctx.
func sleep(ctx context.Context, d time.Duration, wake <-chan struct{}) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-wake:
	case <-ctx.Done():
	}
}
