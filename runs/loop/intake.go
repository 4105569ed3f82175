package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/internal/panics"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/runs/upkeep"
)

// Defaults of [IntakeOptions].
const (
	defaultIntakeInterval = time.Second
	defaultIntakeBatch    = 100
)

const (
	intakeConcurrency = 16
	// intakeRowTimeout bounds the creation of one run. After it, the session's other rows wait for
	// the end of their lease.
	intakeRowTimeout = 5 * time.Second
	intakeLease      = 30 * time.Second
	// maxIntakeAttempts is the number of attempts after which a run is refused for good; with
	// their pauses they take about an hour.
	maxIntakeAttempts = 20
	maxIntakePause    = 5 * time.Minute
)

// IntakeOptions configure an [Intake]. Zero members except Create have defaults.
type IntakeOptions struct {
	// Create creates a run through the door, with an idempotency key. It returns an error that
	// wraps [upkeep.ErrNotNow], or a [refusal.Error] that a retry would not change, or another error.
	Create func(ctx context.Context, key string, body api.JSON) error
	// Interval is the pause after a pass that found few rows. A transaction of another program
	// wakes nobody, so it bounds how long its runs wait.
	Interval time.Duration
	// Logger is slog.Default() if nil.
	Logger *slog.Logger
	// batch is the maximum number of rows that one pass takes.
	batch int
}

// Intake creates the runs that programs asked for in transactions of their own. If the process
// dies before a row is deleted, a replica sends the same command with the same key, which changes
// nothing.
type Intake struct {
	rows    upkeep.Intake
	options IntakeOptions
}

// IntakeResult is the result of a pass.
type IntakeResult struct {
	// Created counts the rows whose runs exist, Refused those that failed for good, and Failed
	// those that are retried.
	Created, Refused, Failed int
	// more: the pass took as many rows as it may.
	more bool
}

// NewIntake returns an intake loop that has not started.
func NewIntake(rows upkeep.Intake, options IntakeOptions) *Intake {
	options.Interval = cmp.Or(options.Interval, defaultIntakeInterval)
	options.batch = cmp.Or(options.batch, defaultIntakeBatch)
	options.Logger = cmp.Or(options.Logger, slog.Default())
	return &Intake{rows: rows, options: options}
}

// Run makes passes until ctx ends, and then returns nil. It returns an error that wraps
// runs.ErrClosed if the store was closed.
func (i *Intake) Run(ctx context.Context) error {
	r := runner{name: "intake", logger: i.options.Logger}
	r.pass = func(ctx context.Context) (outcome, error) {
		result, err := i.RunOnce(ctx)
		done := outcome{next: i.options.Interval}
		if result.more {
			done.next = 0
		}
		if result.Refused+result.Failed > 0 {
			done.attrs = []slog.Attr{
				slog.Int("created_runs", result.Created), slog.Int("refused_runs", result.Refused), slog.Int("failed_runs", result.Failed),
			}
		}
		return done, err
	}
	return r.run(ctx)
}

// RunOnce takes one batch of rows and creates their runs. Runs of one session are created in the
// order of their ids. The error is about the intake as a whole, not about one row.
func (i *Intake) RunOnce(ctx context.Context) (IntakeResult, error) {
	rows, err := i.rows.Take(ctx, i.options.batch, intakeLease.Milliseconds())
	if err != nil || len(rows) == 0 {
		return IntakeResult{}, err
	}
	var mu sync.Mutex
	result := IntakeResult{more: len(rows) == i.options.batch}
	var created []string
	ended := forEach(ctx, intakeConcurrency, bySession(rows), func(ctx context.Context, ofOne []upkeep.IntakeRow) error {
		for _, row := range ofOne {
			exists, refused, err := i.createOne(ctx, &row)
			mu.Lock()
			switch {
			case exists:
				result.Created++
				created = append(created, row.IntakeID)
			case refused:
				result.Refused++
			default:
				result.Failed++
			}
			mu.Unlock()
			// The rest of the session's rows is due again when the lease has ended.
			if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
				i.options.Logger.LogAttrs(ctx, slog.LevelWarn, "a run of another program's transaction could not be created in time",
					slog.String("intake_id", row.IntakeID), slog.String("run_id", row.RunID))
				return nil // only its session waits, which may be locked
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if len(created) > 0 {
		// Also at shutdown: the runs exist.
		if err := i.rows.Finish(context.WithoutCancel(ctx), created); err != nil {
			return result, err
		}
	}
	return result, ended.first
}

// bySession groups rows by session, in order. Rows without a session have a group of their own.
func bySession(rows []upkeep.IntakeRow) (groups [][]upkeep.IntakeRow) {
	at := map[string]int{}
	for _, row := range rows {
		place, known := at[row.SessionID]
		if !known || row.SessionID == "" {
			place = len(groups)
			at[row.SessionID], groups = place, append(groups, nil)
		}
		groups[place] = append(groups[place], row)
	}
	return groups
}

// createOne creates the run of a row, or records why it does not exist. The error means that the
// result could not be recorded, or that the service cannot decide now.
func (i *Intake) createOne(ctx context.Context, row *upkeep.IntakeRow) (exists, refused bool, err error) {
	body, err := i.rows.Body(ctx, row.IntakeID)
	if err != nil {
		return false, false, err
	}
	if body == nil {
		return true, false, nil // another replica was faster
	}
	failure := i.tryCreate(ctx, row, body)
	if failure == nil {
		return true, false, nil
	}
	reason := runs.StorableText(failure.Error())
	switch {
	case ctx.Err() != nil, errors.Is(failure, context.DeadlineExceeded), errors.Is(failure, runs.ErrClosed), errors.Is(failure, runs.ErrUnavailable):
		return false, false, failure
	case row.Attempts+1 >= maxIntakeAttempts, refusal.CodeOf(failure) != "" && !errors.Is(failure, upkeep.ErrNotNow):
		i.options.Logger.LogAttrs(ctx, slog.LevelError, "a run of another program's transaction was refused",
			slog.String("intake_id", row.IntakeID), slog.String("run_id", row.RunID), slog.String("error", reason))
		return false, true, i.rows.Refuse(ctx, row.IntakeID, reason)
	}
	pause := time.Second << min(row.Attempts, 10)
	return false, false, i.rows.Postpone(ctx, row.IntakeID, reason, min(pause, maxIntakePause).Milliseconds())
}

// tryCreate makes one attempt; a panic becomes an error.
func (i *Intake) tryCreate(ctx context.Context, row *upkeep.IntakeRow, body api.JSON) (err error) {
	defer panics.Recover(i.options.Logger, fmt.Sprintf("intake row %s", row.IntakeID), &err)
	ctx, cancel := context.WithTimeout(ctx, intakeRowTimeout)
	defer cancel()
	return i.options.Create(ctx, row.IntakeID, body)
}
