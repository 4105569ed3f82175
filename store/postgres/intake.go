package postgres

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/upkeep"
	"github.com/holdpoint/holdpoint/store/columns"
	"github.com/holdpoint/holdpoint/store/read"
)

// intakeTimeout bounds one statement about the intake.
const intakeTimeout = 15 * time.Second

// intake implements [upkeep.Intake]. Its transactions are single statements.
type intake struct{ store *Store }

// Intake returns the runs that programs asked for in transactions of their own.
func (s *Store) Intake() upkeep.Intake { return intake{s} }

func (intake) Statement(row upkeep.IntakeRow, body api.JSON) (sql string, args []any) {
	return sqlAddIntake, []any{row.IntakeID, row.RunID, row.SessionID, string(body)}
}

func (i intake) Take(ctx context.Context, limit int, leaseMs int64) ([]upkeep.IntakeRow, error) {
	ctx, cancel := context.WithTimeout(ctx, intakeTimeout)
	defer cancel()
	taken, err := read.List(ctx, database{i.store.reads}, intakeTargets, sqlTakeIntake, limit, leaseMs)
	// An UPDATE returns its rows in any order. The ids sort by the time of the call.
	slices.SortFunc(taken, func(a, b upkeep.IntakeRow) int { return cmp.Compare(a.IntakeID, b.IntakeID) })
	return taken, err
}

func intakeTargets(row *upkeep.IntakeRow) []any {
	return []any{&row.IntakeID, &row.RunID, &row.SessionID, &row.CreatedAtMs, &row.Attempts, &row.LastError}
}

func (i intake) Body(ctx context.Context, intakeID string) (api.JSON, error) {
	ctx, cancel := context.WithTimeout(ctx, intakeTimeout)
	defer cancel()
	body, err := read.Find(ctx, database{i.store.reads}, columns.Itself[string], sqlIntakeBody, intakeID)
	if body == nil {
		return nil, err
	}
	return api.JSON(*body), nil
}

func (i intake) Finish(ctx context.Context, intakeIDs []string) error {
	_, err := i.change(ctx, sqlFinishIntake, intakeIDs)
	return err
}

func (i intake) Postpone(ctx context.Context, intakeID, reason string, delayMs int64) error {
	_, err := i.change(ctx, sqlPostponeIntake, intakeID, reason, delayMs)
	return err
}

func (i intake) Refuse(ctx context.Context, intakeID, reason string) error {
	_, err := i.change(ctx, sqlRefuseIntake, intakeID, reason)
	return err
}

func (i intake) Refused(ctx context.Context, after string, limit int) ([]upkeep.IntakeRow, error) {
	ctx, cancel := context.WithTimeout(ctx, intakeTimeout)
	defer cancel()
	return read.List(ctx, database{i.store.reads}, intakeTargets, sqlRefusedIntake, after, limit)
}

func (i intake) RetryRefused(ctx context.Context, intakeID string) (bool, error) {
	return i.change(ctx, sqlRetryIntake, intakeID)
}

func (i intake) DropRefused(ctx context.Context, intakeID string) (bool, error) {
	return i.change(ctx, sqlDropIntake, intakeID)
}

// change executes a statement and reports whether it changed a row.
func (i intake) change(ctx context.Context, sql string, args ...any) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, intakeTimeout)
	defer cancel()
	tag, err := i.store.reads.Exec(ctx, sql, args...)
	return tag.RowsAffected() > 0, readFailure(ctx, err)
}
