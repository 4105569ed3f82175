// Package loop holds the background loops: they find what is due and send it through the door,
// or delete rows whose retention period has passed.
//
// A loop decides nothing. Several replicas run the same loops, so another replica may do the
// work before a command is decided; "nothing to do" is a normal reply. Each loop has RunOnce,
// which makes one pass and returns its result, and Run, which makes passes until its context
// ends. Deadlines are compared with the store's clock; the timers here only say when to check
// again.
//
// The package must not know SQL or HTTP.
package loop

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/holdpoint/holdpoint/internal/panics"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// The delay after a failed pass doubles with each failure in a row, from the first to the last.
const (
	firstPause = 500 * time.Millisecond
	lastPause  = 30 * time.Second
)

// outcome is the result of a pass for its runner.
type outcome struct {
	// attrs describe the result. A pass without attrs is not logged.
	attrs []slog.Attr
	// next is how long the loop may sleep unless a commit wakes it.
	next time.Duration
}

// subscriber is the part of a runs.Store for loops that commits wake.
type subscriber interface {
	Subscribe(notify func(reads.Notice)) (unsubscribe func())
}

// runner makes the passes of one loop.
type runner struct {
	name   string
	logger *slog.Logger
	pass   func(context.Context) (outcome, error)
	// wakes says which commits of the store end a sleep early; nil for none. A sleep of shortest
	// is never cut short, because a busy service commits all the time.
	store    subscriber
	wakes    func(reads.Notice) bool
	shortest time.Duration
}

// run makes passes until ctx ends, and then returns nil. It returns an error that wraps
// runs.ErrClosed if the store was closed. Any other failure is logged and followed by a delay.
func (r *runner) run(ctx context.Context) error {
	wake := make(chan struct{}, 1)
	if r.wakes != nil {
		defer r.store.Subscribe(func(notice reads.Notice) {
			if r.wakes(notice) {
				select {
				case wake <- struct{}{}:
				default:
				}
			}
		})()
	}
	failures := 0
	for ctx.Err() == nil {
		done, err := r.tryPass(ctx)
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
			first := min(done.next, r.shortest)
			sleep(ctx, first, nil)
			sleep(ctx, done.next-first, wake)
		}
	}
	return nil
}

// tryPass makes a pass; a panic becomes an error.
func (r *runner) tryPass(ctx context.Context) (done outcome, err error) {
	defer panics.Recover(r.logger, "a pass of loop "+r.name, &err)
	return r.pass(ctx)
}

func pauseAfter(failures int) time.Duration {
	return min(firstPause<<min(failures-1, 10), lastPause)
}

// logItemFailure logs the number of failed items and the first failure.
func logItemFailure(ctx context.Context, logger *slog.Logger, loop string, failed int, failure error) {
	if failure == nil || ctx.Err() != nil {
		return
	}
	logger.LogAttrs(ctx, slog.LevelWarn, "loop items failed", slog.String("loop", loop),
		slog.Int("failed", failed), slog.String("error", failure.Error()))
}

// sleep waits for the duration, a signal of wake, or the end of ctx.
func sleep(ctx context.Context, d time.Duration, wake <-chan struct{}) {
	if d <= 0 {
		return
	}
	select {
	case <-time.After(d):
	case <-wake:
	case <-ctx.Done():
	}
}

// doItem calls do; a panic becomes an error, so no item can end the process.
func doItem[Item any](ctx context.Context, item Item, do func(context.Context, Item) error) (err error) {
	defer panics.Recover(slog.Default(), fmt.Sprintf("loop item %v", item), &err)
	return do(ctx, item)
}

// forEach calls do with each item, concurrently, and returns once all have ended. A closed store
// cancels the context of the remaining calls.
func forEach[Item any](ctx context.Context, concurrency int, items []Item, do func(context.Context, Item) error) tally {
	var mu sync.Mutex
	var ended tally
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(concurrency)
	for _, item := range items {
		group.Go(func() error {
			err := doItem(ctx, item, do)
			mu.Lock()
			defer mu.Unlock()
			ended.add(err)
			if errors.Is(err, runs.ErrClosed) {
				return err
			}
			return nil
		})
	}
	_ = group.Wait() // the tally reports the error
	return ended
}
