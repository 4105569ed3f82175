package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Defaults of [ExpiryOptions].
const (
	DefaultExpiryBatch       = 1000
	DefaultExpiryConcurrency = 24
	DefaultExpiryMaxSleep    = time.Second
)

const (
	// maxSweeps bounds one pass, so that it remembers few runs and logs now and then. The
	// next pass follows at once.
	maxSweeps = 20 * partsOfBatch
	// partsOfBatch is the number of parts of a full batch. Each sweep expires one part.
	partsOfBatch = 4
	// expiryShortestSleep bounds how often the loop asks for the next deadline when commits
	// wake it.
	expiryShortestSleep = 100 * time.Millisecond
)

// ExpiryStore is what the expiry loop needs of a runs.Store.
type ExpiryStore interface {
	runs.Door
	Due(ctx context.Context, limit int) ([]runs.DueRun, error)
	NextDueAtMs(ctx context.Context) (dueAtMs, nowMs int64, err error)
	Subscribe(notify func(runs.Notice)) (unsubscribe func())
}

// ExpiryOptions set up an [Expiry]. A zero member takes its default.
type ExpiryOptions struct {
	// Batch is how many due runs one query returns at most.
	Batch int
	// Concurrency is how many commands are in flight at once. The committer puts them into
	// batches.
	Concurrency int
	// MaxSleep bounds the time between two passes.
	MaxSleep time.Duration
	// Logger is slog.Default() when nil.
	Logger *slog.Logger
}

// Expiry finds the runs with a request whose deadline is past and sends
// runs.ExpireRequests for each through the door. A late answer is refused by the deadline
// alone, also before this loop has expired the request.
type Expiry struct {
	store   ExpiryStore
	options ExpiryOptions
	backoff backoff[string] // by run id
	// slow has the runs whose sessions are locked, for example.
	slow stragglers[runs.DueRun]
}

// ExpiryResult says what one pass did.
type ExpiryResult struct {
	// Swept is how many runs were sent through the door without a failure. Another replica
	// may have expired some of them first.
	Swept int
	// Failed is how many runs failed. Run tries each of them again after a pause of its own,
	// RunOnce in its next pass.
	Failed int
	// Sleep is the time until the next known deadline, from 0 to MaxSleep.
	Sleep time.Duration
}

// NewExpiry returns an expiry loop that has not started.
func NewExpiry(store ExpiryStore, options ExpiryOptions) *Expiry {
	options.Batch = cmp.Or(options.Batch, DefaultExpiryBatch)
	options.Concurrency = cmp.Or(options.Concurrency, DefaultExpiryConcurrency)
	options.MaxSleep = cmp.Or(options.MaxSleep, DefaultExpiryMaxSleep)
	options.Logger = cmp.Or(options.Logger, slog.Default())
	return &Expiry{store: store, options: options}
}

// Run makes passes until ctx ends, and then returns nil. It sleeps until the next
// deadline by the store's clock, MaxSleep at most, and looks again when a commit
// may have set an earlier one. It returns an error that wraps runs.ErrClosed when
// the store was closed. A run that fails pauses by itself, up to lastPause, and a run that takes long,
// because its session is locked, goes on by itself: neither delays another run.
func (e *Expiry) Run(ctx context.Context) error {
	defer e.slow.wait()
	r := runner{
		name: "expiry", logger: e.options.Logger, store: e.store, shortest: expiryShortestSleep,
		wakes: func(runs.Notice) bool { return true },
	}
	r.pass = func(ctx context.Context) (outcome, error) {
		paused := e.backoff.active()
		for run := range e.slow.items() {
			paused[run.RunID] = true
		}
		result, failure, err := e.pass(ctx, paused)
		done := outcome{next: result.Sleep}
		if len(paused)+result.Failed+len(e.slow.items()) > 0 {
			done.next = min(done.next, pausedPoll)
		}
		if result.Swept+result.Failed > 0 {
			done.attrs = []slog.Attr{slog.Int("swept_runs", result.Swept), slog.Int("failed_runs", result.Failed)}
		}
		logItemFailure(ctx, r.logger, r.name, result.Failed, failure)
		return done, err
	}
	return r.run(ctx)
}

// RunOnce expires until nothing is due that it has not tried. A run that fails does not stop
// the pass: the first failure is returned at its end, together with what was done. Runs that
// are gone or were expired by another replica are no failure.
func (e *Expiry) RunOnce(ctx context.Context) (ExpiryResult, error) {
	result, failure, err := e.pass(ctx, nil)
	e.slow.wait()
	late := e.slow.ended()
	result.Swept += late.done
	result.Failed += late.failed
	return result, errors.Join(cmp.Or(failure, late.first), err)
}

// pass is RunOnce without the runs that are paused. It returns the first failure of a run, and
// the error that ended the pass, if one did.
func (e *Expiry) pass(ctx context.Context, paused map[string]bool) (result ExpiryResult, failure, err error) {
	tried := maps.Clone(paused)
	if tried == nil {
		tried = map[string]bool{}
	}
	late := e.slow.ended()
	result.Swept, result.Failed, failure = late.done, late.failed, late.first
	for range maxSweeps {
		dueAtMs, nowMs, err := e.store.NextDueAtMs(ctx)
		if err != nil {
			return result, failure, fmt.Errorf("read the next deadline: %w", err)
		}
		if result.Sleep = e.sleepUntil(dueAtMs, nowMs); result.Sleep > 0 {
			return result, failure, nil
		}
		untried, err := e.untried(ctx, tried, len(paused)+result.Failed+len(e.slow.items()))
		if err != nil {
			return result, failure, err
		}
		if len(untried) == 0 {
			// All that is due failed, or goes on. Asking for it again at once would be a busy loop.
			result.Sleep = e.options.MaxSleep
			return result, failure, nil
		}
		untried = e.part(untried)
		for _, run := range untried {
			tried[run.RunID] = true
		}
		ended := e.expire(ctx, untried)
		result.Failed += ended.failed
		result.Swept += ended.done
		failure = cmp.Or(failure, ended.first)
		if errors.Is(ended.first, runs.ErrClosed) {
			return result, failure, ended.first
		}
		if ctx.Err() != nil {
			return result, failure, nil
		}
	}
	return result, failure, nil
}

// untried returns due runs that were not tried. Those that failed, so many, are still due and
// are returned first by the store, each perhaps for several requests: it looks past them.
func (e *Expiry) untried(ctx context.Context, tried map[string]bool, failed int) ([]runs.DueRun, error) {
	seen := -1
	for limit := e.options.Batch + failed; ; limit *= 2 {
		due, err := e.store.Due(ctx, limit)
		if err != nil {
			return nil, fmt.Errorf("find due runs: %w", err)
		}
		untried := slices.DeleteFunc(slices.Clone(due), func(run runs.DueRun) bool { return tried[run.RunID] })
		if len(untried) > 0 || failed == 0 || len(due) == seen {
			return untried, nil
		}
		seen = len(due)
	}
}

// part picks a random part of the due runs when there are many: several replicas find the same
// runs, and each would send all of them.
func (e *Expiry) part(due []runs.DueRun) []runs.DueRun {
	size := max(e.options.Batch/partsOfBatch, 1)
	if len(due) <= size {
		return due
	}
	from := rand.IntN((len(due)+size-1)/size) * size
	return due[from:min(from+size, len(due))]
}

// expire sends each run through the door. A run that is gone is not a failure. A run that was not tried
// because the store was closed counts as failed.
func (e *Expiry) expire(ctx context.Context, due []runs.DueRun) tally {
	return e.slow.each(ctx, e.options.Concurrency, due, func(ctx context.Context, run runs.DueRun) error {
		_, err := e.store.Do(ctx, &runs.ExpireRequests{SessionID: run.SessionID, RunID: run.RunID})
		if err == nil || refusal.CodeOf(err) == api.CodeRunNotFound {
			e.backoff.succeeded(run.RunID)
			return nil
		}
		e.backoff.failed(run.RunID)
		return fmt.Errorf("expire run %s: %w", run.RunID, err)
	})
}

// sleepUntil returns how long nothing is due, MaxSleep at most.
func (e *Expiry) sleepUntil(dueAtMs, nowMs int64) time.Duration {
	maxMs := e.options.MaxSleep.Milliseconds()
	if dueAtMs == 0 || dueAtMs-nowMs >= maxMs {
		return e.options.MaxSleep
	}
	return time.Duration(max(dueAtMs-nowMs, 0)) * time.Millisecond
}
