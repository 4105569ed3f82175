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
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Defaults of [ExpiryOptions].
const (
	defaultExpiryBatch       = 1000
	defaultExpiryConcurrency = 24
)

const (
	// maxSweeps bounds one pass, to limit its memory and to log from time to time. The next pass
	// follows at once.
	maxSweeps = 20 * partsOfBatch
	// partsOfBatch divides a full batch; each sweep expires one part.
	partsOfBatch = 4
	// expiryMaxSleep bounds the time between passes.
	expiryMaxSleep = time.Second
	// expiryShortestSleep bounds how often commits make the loop query the next deadline.
	expiryShortestSleep = 100 * time.Millisecond
)

// ExpiryStore is the part of a runs.Store that the expiry loop uses.
type ExpiryStore interface {
	runs.Door
	Due(ctx context.Context, limit int) ([]reads.DueRun, error)
	NextDueAtMs(ctx context.Context) (dueAtMs, nowMs int64, err error)
	Subscribe(notify func(reads.Notice)) (unsubscribe func())
}

// ExpiryOptions configure an [Expiry]. Zero members have defaults.
type ExpiryOptions struct {
	// Batch is the maximum number of due runs per query.
	Batch int
	// Concurrency is how many commands run at once. The door batches them.
	Concurrency int
	// Logger is slog.Default() if nil.
	Logger *slog.Logger
}

// Expiry finds the runs with an overdue request and sends runs.ExpireRequests for each through
// the door. Late answers are rejected by the deadline alone, even before this loop has expired
// the request.
type Expiry struct {
	store   ExpiryStore
	options ExpiryOptions
	backoff backoff[string] // by run id
	// slow has runs that take long, for example in locked sessions.
	slow stragglers[reads.DueRun]
}

// ExpiryResult is the result of a pass.
type ExpiryResult struct {
	// Swept counts the runs sent through the door without a failure. Another replica may have
	// expired some of them first.
	Swept int
	// Failed counts the failed runs. Run retries each after its own delay, RunOnce in its next
	// pass.
	Failed int
	// Sleep is the time until the next known deadline, from 0 to expiryMaxSleep.
	Sleep time.Duration
}

// NewExpiry returns an expiry loop that has not started.
func NewExpiry(store ExpiryStore, options ExpiryOptions) *Expiry {
	options.Batch = cmp.Or(options.Batch, defaultExpiryBatch)
	options.Concurrency = cmp.Or(options.Concurrency, defaultExpiryConcurrency)
	options.Logger = cmp.Or(options.Logger, slog.Default())
	return &Expiry{store: store, options: options}
}

// Run makes passes until ctx ends, and then returns nil. It sleeps until the next deadline by
// the store's clock, expiryMaxSleep at most, and checks again after a commit that may have set an
// earlier one. It returns an error that wraps runs.ErrClosed if the store was closed. A failed
// run is delayed by up to lastPause; a slow run, for example in a locked session, continues in
// the background. Neither delays other runs.
func (e *Expiry) Run(ctx context.Context) error {
	defer e.slow.wait()
	r := runner{
		name: "expiry", logger: e.options.Logger, store: e.store, shortest: expiryShortestSleep,
		wakes: func(reads.Notice) bool { return true },
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

// RunOnce expires requests until it has tried all that are due. A failed run does not stop the
// pass: the first failure is returned at its end, together with the result. Deleted runs, and
// runs expired by another replica, are not failures.
func (e *Expiry) RunOnce(ctx context.Context) (ExpiryResult, error) {
	result, failure, err := e.pass(ctx, nil)
	e.slow.wait()
	late := e.slow.ended()
	result.Swept += late.done
	result.Failed += late.failed
	return result, errors.Join(cmp.Or(failure, late.first), err)
}

// pass is RunOnce without the delayed runs. It returns the first failure of a run, and the error
// that ended the pass, if any.
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
		if result.Sleep = sleepUntil(dueAtMs, nowMs); result.Sleep > 0 {
			return result, failure, nil
		}
		untried, err := e.untried(ctx, tried, len(paused)+result.Failed+len(e.slow.items()))
		if err != nil {
			return result, failure, err
		}
		if len(untried) == 0 {
			// Everything due has failed or is still in progress. Asking again at once would be a
			// busy loop.
			result.Sleep = expiryMaxSleep
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

// untried returns due runs that were not tried. The failed ones are still due and come first in
// the store's order, perhaps with several requests each; the query reads past them.
func (e *Expiry) untried(ctx context.Context, tried map[string]bool, failed int) ([]reads.DueRun, error) {
	seen := -1
	for limit := e.options.Batch + failed; ; limit *= 2 {
		due, err := e.store.Due(ctx, limit)
		if err != nil {
			return nil, fmt.Errorf("find due runs: %w", err)
		}
		untried := slices.DeleteFunc(slices.Clone(due), func(run reads.DueRun) bool { return tried[run.RunID] })
		if len(untried) > 0 || failed == 0 || len(due) == seen {
			return untried, nil
		}
		seen = len(due)
	}
}

// part picks a random part of many due runs. Several replicas find the same runs, and would
// otherwise each send all of them.
func (e *Expiry) part(due []reads.DueRun) []reads.DueRun {
	size := max(e.options.Batch/partsOfBatch, 1)
	if len(due) <= size {
		return due
	}
	from := rand.IntN((len(due)+size-1)/size) * size
	return due[from:min(from+size, len(due))]
}

// expire sends each run through the door. A deleted run is not a failure. A run that was not
// tried because the store was closed counts as failed.
func (e *Expiry) expire(ctx context.Context, due []reads.DueRun) tally {
	return e.slow.each(ctx, e.options.Concurrency, due, func(ctx context.Context, run reads.DueRun) error {
		_, err := e.store.Do(ctx, &runs.ExpireRequests{SessionID: run.SessionID, RunID: run.RunID})
		if err == nil || refusal.CodeOf(err) == api.CodeRunNotFound {
			e.backoff.succeeded(run.RunID)
			return nil
		}
		e.backoff.failed(run.RunID)
		return fmt.Errorf("expire run %s: %w", run.RunID, err)
	})
}

// sleepUntil returns the time until the deadline, expiryMaxSleep at most.
func sleepUntil(dueAtMs, nowMs int64) time.Duration {
	maxMs := expiryMaxSleep.Milliseconds()
	if dueAtMs == 0 || dueAtMs-nowMs >= maxMs {
		return expiryMaxSleep
	}
	return time.Duration(max(dueAtMs-nowMs, 0)) * time.Millisecond
}
