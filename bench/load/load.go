package load

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// Options configure a measurement.
type Options struct {
	// Target is the URL of the database or service.
	Target string
	// Clients is the number of concurrent clients.
	Clients int
	// Warmup is how long clients work before the measured time.
	Warmup time.Duration
	// Duration is the measured time. It ends earlier once Waits have been counted.
	Duration time.Duration
	// Waits bounds the number of counted waits; 0 is unbounded.
	Waits int
}

// Steps are the times within a wait that only the subject knows.
type Steps struct {
	// DecisionSent is just before the decision is sent.
	DecisionSent time.Time
	// DecisionAccepted is when the reply to the decision arrived.
	DecisionAccepted time.Time
	// HandlerStarted is when the worker's handler got the run. It may be before
	// DecisionAccepted, because the two replies are sent concurrently.
	HandlerStarted time.Time
}

// Subject is a system to measure. Wait is called concurrently by all clients.
type Subject interface {
	// Wait carries one run through a complete wait, and returns when its completion is
	// durable. An error ends the measurement.
	Wait(ctx context.Context) (Steps, error)
	// Close stops the worker and releases all resources. No wait is in flight.
	Close() error
}

// Shared is a Subject with several workers.
type Shared interface {
	// Shares returns the number of runs that each worker got.
	Shares() []int64
}

// stuckAfter bounds the waits in flight at the end, and a single wait; after that the
// subject counts as stuck.
const stuckAfter = time.Minute

// Run measures a subject. It calls begin and end around the measured time. Clients continue
// during both, so that measurements in them, such as CPU times, cover the same load.
func Run(ctx context.Context, subject Subject, options Options, begin, end func()) (*Result, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, options.Warmup+options.Duration+stuckAfter, errors.New("the subject is stuck"))
	defer cancel()
	r := newRecorder(options.Waits)
	var stopped atomic.Bool
	clients, ctx := errgroup.WithContext(ctx)
	for range options.Clients {
		clients.Go(func() error {
			for !stopped.Load() {
				begun := time.Now()
				steps, err := subject.Wait(ctx)
				if err != nil {
					return explain(ctx, err)
				}
				r.record(begun, steps, time.Now())
			}
			return nil
		})
	}
	pause(ctx, options.Warmup, nil)
	begin()
	r.open()
	pause(ctx, options.Duration, r.full)
	result := r.close()
	end()
	stopped.Store(true)
	if err := clients.Wait(); err != nil {
		return nil, err
	}
	if result.Waits == 0 {
		return nil, fmt.Errorf("no wait was carried in %v", options.Duration)
	}
	return result, nil
}

// explain adds the cause of the context's end to an error.
func explain(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("%w (%w)", err, cause)
	}
	return err
}

// pause returns when the time is over, the channel is closed or the context ends.
func pause(ctx context.Context, duration time.Duration, early <-chan struct{}) {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-early:
	case <-ctx.Done():
	}
}

// recorder counts the waits that end within the measured time.
type recorder struct {
	// full is closed when the requested number of waits has been counted.
	full chan struct{}

	mu                    sync.Mutex
	opened, closed        time.Time
	wanted, waits         int
	whole, sent, accepted *histogram
}

func newRecorder(wanted int) *recorder {
	return &recorder{
		full: make(chan struct{}), wanted: wanted,
		whole: newHistogram(), sent: newHistogram(), accepted: newHistogram(),
	}
}

func (r *recorder) open() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.opened = time.Now()
}

func (r *recorder) record(begun time.Time, steps Steps, done time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.opened.IsZero() || !r.closed.IsZero() {
		return
	}
	r.waits++
	r.whole.record(done.Sub(begun))
	r.sent.record(steps.HandlerStarted.Sub(steps.DecisionSent))
	r.accepted.record(steps.HandlerStarted.Sub(steps.DecisionAccepted))
	if r.waits == r.wanted {
		r.closed = done
		close(r.full)
	}
}

func (r *recorder) close() *Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed.IsZero() {
		r.closed = time.Now()
	}
	return &Result{
		Waits: r.waits, Seconds: r.closed.Sub(r.opened).Seconds(),
		Whole: r.whole.summary(), Delivery: r.accepted.summary(), SentToHandler: r.sent.summary(),
	}
}
