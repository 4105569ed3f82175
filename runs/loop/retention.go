package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/upkeep"
)

// Defaults of [RetentionOptions].
const (
	defaultIdempotencyRetention = 7 * 24 * time.Hour
	defaultRetentionInterval    = time.Minute
	defaultRetentionBatch       = 1000
)

// maxRetentionBatches bounds one pass. After a pass that reached the bound, the next one follows
// within a second instead of after the interval.
const maxRetentionBatches = 100

// A clock that was set forward by more than clockLeap between two passes makes everything old at once. Nothing is deleted for
// leapPause, in which it may be set right. A machine that was asleep for so long looks the same, and waits.
const (
	clockLeap = 24 * time.Hour
	leapPause = time.Hour
)

// The bounds of one pass over runs: transactions, as many for sessions without runs, and finished runs per query.
const (
	maxTrims     = 2000
	finishedPage = 200
	// emptyPage is how many sessions one pass checks for one without runs.
	emptyPage = 1000
	// wedgedPage is how many sessions one pass checks for a slot held by a finished run.
	wedgedPage = 5000
)

// RetentionStore is the part of a runs.Store that the retention loop uses.
type RetentionStore interface {
	runs.Door
	WedgedSessions(ctx context.Context, after string, limit int) (wedged []reads.DueRun, next string, err error)
	SweepIdempotency(ctx context.Context, beforeMs int64, limit int) (int, error)
	SweepRules(ctx context.Context, beforeMs int64, limit int) (int, error)
	FinishedRuns(ctx context.Context, beforeMs int64, after upkeep.FinishedRun, limit int) ([]upkeep.FinishedRun, error)
	TrimSession(ctx context.Context, sessionID string, beforeMs int64, limit int) (upkeep.Trimmed, error)
	Sessions(ctx context.Context, q reads.SessionQuery) ([]model.SessionSummary, error)
	NowMs(ctx context.Context) (int64, error)
}

// RetentionOptions configure a [Retention]. Zero members have defaults.
type RetentionOptions struct {
	// Retention is how long an idempotency record is kept.
	Retention time.Duration
	// KeepRuns is how long a run is kept after its end, with all of its rows, and a session
	// without runs after its last change. 0 keeps them forever.
	KeepRuns time.Duration
	// KeepRules is how long a rule is kept after it was revoked or expired, or after its creation once
	// it is used up. 0 keeps them forever.
	KeepRules time.Duration
	// Interval is the time between passes.
	Interval time.Duration
	// Logger is slog.Default() if nil.
	Logger *slog.Logger
	// batch is the maximum number of rows that one statement deletes, or of a session's events
	// per transaction. It bounds how long locks are held.
	batch int
}

// Retention deletes rows whose retention period has passed.
type Retention struct {
	store   RetentionStore
	options RetentionOptions
	// after is the finished run at which the search of the last pass ended. So runs that must
	// stay are skipped once per round, not in each pass.
	after upkeep.FinishedRun
	// looked is the last session checked for a wedged slot, and lookedEmpty the last one checked for runs.
	looked, lookedEmpty string
	// clockMs is what the store's clock said at seen, and pausedUntil the end of a leapPause, by this process's clock.
	clockMs           int64
	seen, pausedUntil time.Time
}

// RetentionResult is the result of a pass.
type RetentionResult struct {
	// Deleted counts the deleted records.
	Deleted int
	// Rules, Runs, Events and Sessions count the deleted rows.
	Rules, Runs, Events, Sessions int
	// Mended counts the sessions whose slot was freed from a finished run.
	Mended int
	// More: the pass reached its bound, and there may be more to delete.
	More bool
}

// NewRetention returns a retention loop that has not started.
func NewRetention(store RetentionStore, options RetentionOptions) *Retention {
	options.Retention = cmp.Or(options.Retention, defaultIdempotencyRetention)
	options.Interval = cmp.Or(options.Interval, defaultRetentionInterval)
	options.batch = cmp.Or(options.batch, defaultRetentionBatch)
	options.Logger = cmp.Or(options.Logger, slog.Default())
	return &Retention{store: store, options: options}
}

// Run makes passes until ctx ends, and then returns nil. It returns an error that wraps
// runs.ErrClosed if the store was closed.
func (r *Retention) Run(ctx context.Context) error {
	loop := runner{name: "retention", logger: r.options.Logger}
	loop.pass = func(ctx context.Context) (outcome, error) {
		result, err := r.RunOnce(ctx)
		done := outcome{next: r.options.Interval}
		if result.More {
			done.next = min(time.Second, r.options.Interval)
		}
		for _, deleted := range []slog.Attr{
			slog.Int("deleted_idempotency_records", result.Deleted), slog.Int("deleted_rules", result.Rules),
			slog.Int("mended_sessions", result.Mended),
			slog.Int("deleted_runs", result.Runs), slog.Int("deleted_events", result.Events), slog.Int("deleted_sessions", result.Sessions),
		} {
			if deleted.Value.Int64() > 0 {
				done.attrs = append(done.attrs, deleted)
			}
		}
		return done, err
	}
	return loop.run(ctx)
}

// RunOnce deletes batch by batch until nothing is too old or the bound of a pass is reached. A step
// that fails does not keep the next ones from their work. With an error, it also returns what was
// deleted.
func (r *Retention) RunOnce(ctx context.Context) (RetentionResult, error) {
	var result RetentionResult
	var failed []error
	nowMs, err := r.store.NowMs(ctx)
	if err != nil {
		return result, fmt.Errorf("read the store's clock: %w", err)
	}
	if r.paused(ctx, nowMs) {
		return result, r.mend(ctx, &result)
	}
	if err := r.sweep(ctx, r.store.SweepIdempotency, nowMs-r.options.Retention.Milliseconds(), &result.Deleted, &result); err != nil {
		failed = append(failed, fmt.Errorf("delete old idempotency records: %w", err))
	}
	if err := r.mend(ctx, &result); err != nil {
		failed = append(failed, fmt.Errorf("look for sessions whose active run is over: %w", err))
	}
	if r.options.KeepRules > 0 {
		if err := r.sweep(ctx, r.store.SweepRules, nowMs-r.options.KeepRules.Milliseconds(), &result.Rules, &result); err != nil {
			failed = append(failed, fmt.Errorf("delete old rules: %w", err))
		}
	}
	if r.options.KeepRuns > 0 {
		if err := r.trim(ctx, nowMs-r.options.KeepRuns.Milliseconds(), &result); err != nil {
			failed = append(failed, fmt.Errorf("delete old runs: %w", err))
		}
		if err := r.trimEmpty(ctx, nowMs-r.options.KeepRuns.Milliseconds(), &result); err != nil {
			failed = append(failed, fmt.Errorf("delete old sessions: %w", err))
		}
	}
	return result, errors.Join(failed...)
}

// paused reports whether the store's clock went forward a short time ago. A clock that was set back is right again. A leap within
// a pause does not lengthen it: a machine that often sleeps for days would delete nothing.
func (r *Retention) paused(ctx context.Context, nowMs int64) bool {
	now := time.Now() //nolint:forbidigo // durations in this process, which no clock that is set changes
	// A time.Duration ends at 292 years.
	aheadMs := nowMs - r.clockMs - now.Sub(r.seen).Milliseconds()
	switch {
	case r.seen.IsZero():
	case aheadMs < -clockLeap.Milliseconds():
		r.pausedUntil = time.Time{}
	case aheadMs > clockLeap.Milliseconds() && !now.Before(r.pausedUntil):
		r.pausedUntil = now.Add(leapPause)
		r.options.Logger.LogAttrs(ctx, slog.LevelWarn, "the clock of the database went forward: nothing is deleted for an hour, so that it can be set right",
			slog.Int64("hours", aheadMs/time.Hour.Milliseconds()))
	}
	r.clockMs, r.seen = nowMs, now
	return now.Before(r.pausedUntil)
}

// mend checks the next sessions for a finished run in the slot. runs.ExpireRequests frees it.
func (r *Retention) mend(ctx context.Context, result *RetentionResult) error {
	wedged, next, err := r.store.WedgedSessions(ctx, r.looked, wedgedPage)
	if err != nil {
		return err
	}
	r.looked = next
	for _, one := range wedged {
		err := doItem(ctx, one.SessionID, func(ctx context.Context, _ string) error {
			_, err := r.store.Do(ctx, &runs.ExpireRequests{SessionID: one.SessionID, RunID: one.RunID})
			return err
		})
		switch {
		case errors.Is(err, runs.ErrClosed) || ctx.Err() != nil:
			return err
		case err != nil:
			logItemFailure(ctx, r.options.Logger, "retention", 1, fmt.Errorf("session %s: %w", one.SessionID, err))
		default:
			result.Mended++
			r.options.Logger.LogAttrs(ctx, slog.LevelWarn, "the active run of a session was over: its slot is free again",
				slog.String("session_id", one.SessionID), slog.String("run_id", one.RunID))
		}
	}
	return nil
}

// sweep deletes batch by batch, and adds to total. It notes in result that it reached the bound of a pass.
func (r *Retention) sweep(ctx context.Context, sweep func(context.Context, int64, int) (int, error), beforeMs int64, total *int, result *RetentionResult) error {
	for range maxRetentionBatches {
		deleted, err := sweep(ctx, beforeMs, r.options.batch)
		*total += deleted
		if err != nil || deleted < r.options.batch {
			return err
		}
	}
	result.More = true
	return nil
}

// trim deletes old events in the sessions of the next finished runs, in at most maxTrims
// transactions. A failed session is logged and does not affect the others.
func (r *Retention) trim(ctx context.Context, beforeMs int64, result *RetentionResult) error {
	trims := 0
	for trims < maxTrims {
		found, err := r.store.FinishedRuns(ctx, beforeMs, r.after, finishedPage)
		if err != nil {
			return err
		}
		seen := map[string]bool{}
		for _, run := range found {
			if seen[run.SessionID] {
				continue
			}
			seen[run.SessionID] = true
			for more := true; more && trims < maxTrims; trims++ {
				if more, err = r.trimSession(ctx, run.SessionID, beforeMs, result); err != nil || ctx.Err() != nil {
					return err
				}
			}
		}
		if len(found) < finishedPage {
			r.after = upkeep.FinishedRun{}
			return nil
		}
		r.after = found[len(found)-1]
	}
	// If nothing found could be deleted, the next runs can wait.
	result.More = result.More || result.Events > 0
	return nil
}

// trimSession deletes old events of a session, and reports whether it has more. Only the error of a
// store or a context that has ended is returned; another one is logged.
func (r *Retention) trimSession(ctx context.Context, sessionID string, beforeMs int64, result *RetentionResult) (more bool, err error) {
	var trimmed upkeep.Trimmed
	err = doItem(ctx, sessionID, func(ctx context.Context, sessionID string) (err error) {
		trimmed, err = r.store.TrimSession(ctx, sessionID, beforeMs, r.options.batch)
		return err
	})
	if errors.Is(err, runs.ErrClosed) || ctx.Err() != nil {
		return false, err
	}
	if err != nil {
		logItemFailure(ctx, r.options.Logger, "retention", 1, fmt.Errorf("session %s: %w", sessionID, err))
		return false, nil
	}
	result.add(trimmed)
	return trimmed.More, nil
}

// trimEmpty deletes those of the next sessions that never had a run, or whose runs were deleted
// earlier, when something kept the session itself, in at most maxTrims transactions.
func (r *Retention) trimEmpty(ctx context.Context, beforeMs int64, result *RetentionResult) error {
	budget := &reads.Budget{MaxBytes: api.MaxReplyBytes}
	page, err := r.store.Sessions(ctx, reads.SessionQuery{After: r.lookedEmpty, Limit: emptyPage, Budget: budget})
	if err != nil {
		return err
	}
	trims, last := 0, r.lookedEmpty
	r.lookedEmpty = ""
	if len(page) == emptyPage || budget.Cut {
		r.lookedEmpty = page[len(page)-1].Session.SessionID
	}
	for i := range page {
		session := &page[i].Session
		hasRuns := session.LastEventID != 0 && session.FirstKeptEventID <= session.LastEventID
		for more := !hasRuns && session.UpdatedAtMs < beforeMs; more; trims++ {
			if trims == maxTrims { // the next pass goes on with this session
				r.lookedEmpty, result.More = last, true
				return nil
			}
			if more, err = r.trimSession(ctx, session.SessionID, beforeMs, result); err != nil || ctx.Err() != nil {
				return err
			}
		}
		last = session.SessionID
	}
	return nil
}

func (r *RetentionResult) add(trimmed upkeep.Trimmed) {
	r.Runs += trimmed.Runs
	r.Events += trimmed.Events
	if trimmed.Session {
		r.Sessions++
	}
}
