package postgres

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/upkeep"
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
	rows, err := i.store.reads.Query(ctx, sqlTakeIntake, limit, leaseMs)
	if err != nil {
		return nil, readFailure(ctx, err)
	}
	taken, err := pgx.CollectRows(rows, intakeRow)
	if err != nil {
		return nil, readFailure(ctx, err)
	}
	// An UPDATE returns its rows in any order. The ids sort by the time of the call.
	slices.SortFunc(taken, func(a, b upkeep.IntakeRow) int { return cmp.Compare(a.IntakeID, b.IntakeID) })
	return taken, nil
}

func intakeRow(row pgx.CollectableRow) (one upkeep.IntakeRow, err error) {
	err = row.Scan(&one.IntakeID, &one.RunID, &one.SessionID, &one.CreatedAtMs, &one.Attempts, &one.LastError)
	return one, err
}

func (i intake) Body(ctx context.Context, intakeID string) (api.JSON, error) {
	ctx, cancel := context.WithTimeout(ctx, intakeTimeout)
	defer cancel()
	rows, err := i.store.reads.Query(ctx, sqlIntakeBody, intakeID)
	if err != nil {
		return nil, readFailure(ctx, err)
	}
	bodies, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(bodies) == 0 {
		return nil, readFailure(ctx, err)
	}
	return api.JSON(bodies[0]), nil
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
	rows, err := i.store.reads.Query(ctx, sqlRefusedIntake, after, limit)
	if err != nil {
		return nil, readFailure(ctx, err)
	}
	refused, err := pgx.CollectRows(rows, intakeRow)
	return refused, readFailure(ctx, err)
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
