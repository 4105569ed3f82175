package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

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
	// maxSweeps bounds one pass, so that what it remembers stays small and what it
	// did is told now and then. The next pass follows at once.
	maxSweeps = 20 * partsOfBatch
	// partsOfBatch is into how many parts a full batch is cut, of which each sweep
	// takes one.
	partsOfBatch = 4
	// expiryShortestSleep is how often at most the loop asks for the next deadline
	// when commits wake it.
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
	// Batch is how many due runs are asked for at once.
	Batch int
	// Concurrency is how many commands are at the door at once, so that the
	// committer can put them together.
	Concurrency int
	// MaxSleep bounds the time between two passes.
	MaxSleep time.Duration
	// Logger is slog.Default() when nil.
	Logger *slog.Logger
}

// Expiry finds the runs with a request whose deadline is past and sends
// runs.ExpireRequests for each through the door (design.md §4). It only finds
// them: an answer that is late is refused without it, by the deadline alone.
type Expiry struct {
	store   ExpiryStore
	options ExpiryOptions
}

// ExpiryResult says what one pass did.
type ExpiryResult struct {
	// Swept is how many runs the door was asked to expire and did not fail on.
	// Another replica may have expired the same run first.
	Swept int
	// Failed is how many runs the door failed on; the next pass tries them again.
	Failed int
	// Sleep is how long nothing will be due, as far as is known: 0 to MaxSleep.
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
// the store was closed.
func (e *Expiry) Run(ctx context.Context) error {
	wake := make(chan struct{}, 1)
	unsubscribe := e.store.Subscribe(func(runs.Notice) {
		select {
		case wake <- struct{}{}:
		default:
		}
	})
	defer unsubscribe()
	r := runner{name: "expiry", logger: e.options.Logger, wake: wake, shortest: expiryShortestSleep}
	r.pass = func(ctx context.Context) (outcome, error) {
		result, err := e.RunOnce(ctx)
		done := outcome{next: result.Sleep}
		if result.Swept+result.Failed > 0 {
			done.attrs = []slog.Attr{slog.Int("swept_runs", result.Swept), slog.Int("failed_runs", result.Failed)}
		}
		return done, err
	}
	return r.run(ctx)
}

// RunOnce sweeps until nothing is due that it has not tried. One failing run does
// not stop the pass: the first such failure is returned at its end (kheish.md
// 1.11), together with what was done. Runs that are gone or were expired by
// somebody else are no failure.
func (e *Expiry) RunOnce(ctx context.Context) (ExpiryResult, error) {
	var (
		result   ExpiryResult
		firstErr error
		tried    = map[string]bool{}
		failed   = 0
	)
	for range maxSweeps {
		dueAtMs, nowMs, err := e.store.NextDueAtMs(ctx)
		if err != nil {
			return result, errors.Join(firstErr, fmt.Errorf("read the next deadline: %w", err))
		}
		if result.Sleep = e.sleepUntil(dueAtMs, nowMs); result.Sleep > 0 {
			return result, firstErr
		}
		// What failed in this pass is still due and comes first again.
		due, err := e.store.Due(ctx, e.options.Batch+failed)
		if err != nil {
			return result, errors.Join(firstErr, fmt.Errorf("find due runs: %w", err))
		}
		fresh := due[:0:0]
		for _, run := range due {
			if !tried[run.RunID] {
				fresh = append(fresh, run)
			}
		}
		fresh = e.part(fresh)
		for _, run := range fresh {
			tried[run.RunID] = true
		}
		if len(fresh) == 0 {
			// What is left is due and cannot be moved now. It must not be asked for in
			// a busy circle.
			result.Sleep = e.options.MaxSleep
			return result, firstErr
		}
		failures, err := e.expire(ctx, fresh)
		failed += failures
		result.Failed = failed
		result.Swept += len(fresh) - failures
		if firstErr == nil {
			firstErr = err
		}
		if ctx.Err() != nil || errors.Is(err, runs.ErrClosed) {
			return result, firstErr
		}
	}
	return result, firstErr
}

// part picks a part of what is due by chance, when it is much: several replicas find
// the same runs, and would all send all of them.
func (e *Expiry) part(due []runs.DueRun) []runs.DueRun {
	size := max(e.options.Batch/partsOfBatch, 1)
	if len(due) <= size {
		return due
	}
	from := rand.IntN((len(due)+size-1)/size) * size
	return due[from:min(from+size, len(due))]
}

// expire sends each run through the door and returns how many failed and the first
// failure. It stops early only when the context ends or the store is closed; what
// was not tried then counts as failed.
func (e *Expiry) expire(ctx context.Context, due []runs.DueRun) (failures int, firstErr error) {
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(e.options.Concurrency)
	for _, run := range due {
		group.Go(func() error {
			_, err := e.store.Do(ctx, &runs.ExpireRequests{SessionID: run.SessionID, RunID: run.RunID})
			if err == nil || refusal.CodeOf(err) == api.CodeRunNotFound {
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			failures++
			wrapped := fmt.Errorf("expire run %s: %w", run.RunID, err)
			if errors.Is(err, runs.ErrClosed) {
				firstErr = wrapped
				return wrapped
			}
			if firstErr == nil {
				firstErr = wrapped
			}
			return nil
		})
	}
	_ = group.Wait() // the same failure is in firstErr
	return failures, firstErr
}

// sleepUntil returns how long nothing is due, MaxSleep at most.
func (e *Expiry) sleepUntil(dueAtMs, nowMs int64) time.Duration {
	maxMs := e.options.MaxSleep.Milliseconds()
	if dueAtMs == 0 || dueAtMs-nowMs >= maxMs {
		return e.options.MaxSleep
	}
	return time.Duration(max(dueAtMs-nowMs, 0)) * time.Millisecond
}
