package loop

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"
)

// Defaults of [RetentionOptions].
const (
	DefaultIdempotencyRetention = 7 * 24 * time.Hour
	DefaultRetentionInterval    = time.Minute
	DefaultRetentionBatch       = 1000
)

// maxRetentionBatches bounds one pass. The pass after one that reached the bound follows within
// a second instead of after the interval.
const maxRetentionBatches = 100

// RetentionStore is what the retention loop needs of a runs.Store.
type RetentionStore interface {
	SweepIdempotency(ctx context.Context, beforeMs int64, limit int) (int, error)
	NowMs(ctx context.Context) (int64, error)
}

// RetentionOptions set up a [Retention]. A zero member takes its default.
type RetentionOptions struct {
	// Retention is how long an idempotency record is kept.
	Retention time.Duration
	// Interval is the time between two passes.
	Interval time.Duration
	// Batch is how many records one statement deletes at most, which bounds how long it
	// holds its locks.
	Batch int
	// Logger is slog.Default() when nil.
	Logger *slog.Logger
}

// Retention deletes idempotency records that are older than the retention time.
type Retention struct {
	store   RetentionStore
	options RetentionOptions
}

// RetentionResult says what one pass did.
type RetentionResult struct {
	// Deleted is how many records were deleted.
	Deleted int
	// More: the pass ended at its bound, and there may be more to delete.
	More bool
}

// NewRetention returns a retention loop that has not started.
func NewRetention(store RetentionStore, options RetentionOptions) *Retention {
	options.Retention = cmp.Or(options.Retention, DefaultIdempotencyRetention)
	options.Interval = cmp.Or(options.Interval, DefaultRetentionInterval)
	options.Batch = cmp.Or(options.Batch, DefaultRetentionBatch)
	options.Logger = cmp.Or(options.Logger, slog.Default())
	return &Retention{store: store, options: options}
}

// Run makes passes until ctx ends, and then returns nil. It returns an error that
// wraps runs.ErrClosed when the store was closed.
func (r *Retention) Run(ctx context.Context) error {
	loop := runner{name: "retention", logger: r.options.Logger}
	loop.pass = func(ctx context.Context) (outcome, error) {
		result, err := r.RunOnce(ctx)
		done := outcome{next: r.options.Interval}
		if result.More {
			done.next = min(time.Second, r.options.Interval)
		}
		if result.Deleted > 0 {
			done.attrs = []slog.Attr{slog.Int("deleted_idempotency_records", result.Deleted)}
		}
		return done, err
	}
	return loop.run(ctx)
}

// RunOnce deletes batch by batch until nothing is too old or the bound of a pass is
// reached. It returns what it did also when it fails.
func (r *Retention) RunOnce(ctx context.Context) (RetentionResult, error) {
	var result RetentionResult
	nowMs, err := r.store.NowMs(ctx)
	if err != nil {
		return result, fmt.Errorf("read the store's clock: %w", err)
	}
	beforeMs := nowMs - r.options.Retention.Milliseconds()
	for range maxRetentionBatches {
		deleted, err := r.store.SweepIdempotency(ctx, beforeMs, r.options.Batch)
		result.Deleted += deleted
		if err != nil {
			return result, fmt.Errorf("delete old idempotency records: %w", err)
		}
		if deleted < r.options.Batch {
			return result, nil
		}
	}
	result.More = true
	return result, nil
}
