package holdpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/runs/upkeep"
)

// intakeInterval is how often the service looks for runs of [Service.CreateRunTx]. A NOTIFY in the
// caller's transaction would be faster, but its commit would wait for other commits.
const intakeInterval = 200 * time.Millisecond

// ErrNeedsPostgres is returned by methods that only a service with a Postgres database has.
var ErrNeedsPostgres = errors.New("holdpoint: this needs a Postgres database")

// CreateRunTx records a run in the caller's own transaction on the service's database, and returns
// the run's id. The run is created if and only if the transaction commits: after the commit
// [Service.Run] of any replica creates it, within about 200 ms. Until then it is unknown to every
// call, list and worker.
//
// The params are checked as by [client.Client.CreateRun], without a query. A RunID makes the call
// repeatable: with the same params there is one run. Claim, IdempotencyKey, sensitive values and
// callbacks must not be set. The client.CreateRun errors that depend on other rows, such as
// [client.ErrSessionEnded], appear after the commit: see [Service.RefusedRuns].
//
// Runs of one session that one transaction creates are queued in the order of the calls, unless one
// of them has to be tried again, or several replicas create them. The transaction's search_path must
// lead to the service's tables, and its role must be allowed to INSERT into run_intake. Errors:
// [client.ErrInvalid], which leaves the transaction usable; [ErrNeedsPostgres]; the error of the INSERT.
func (s *Service) CreateRunTx(ctx context.Context, tx pgx.Tx, params client.CreateRunParams) (runID string, err error) {
	intake := s.store.Intake()
	if intake == nil {
		return "", ErrNeedsPostgres
	}
	if params.IdempotencyKey != "" {
		return "", fmt.Errorf("%w: IdempotencyKey must not be set: RunID makes the call repeatable", client.ErrInvalid)
	}
	params.RunID = cmp.Or(params.RunID, runs.NewID(runs.PrefixRun))
	given, err := params.Body()
	if err != nil {
		return "", err
	}
	body, err := client.EncodeJSON(given)
	if err != nil {
		return "", fmt.Errorf("%w: %w", client.ErrInvalid, err)
	}
	if err := s.trusted.Intake().Check(ctx, body); err != nil {
		return "", callError(err)
	}
	sql, args := intake.Statement(upkeep.IntakeRow{
		IntakeID: runs.NewID(runs.PrefixIntake), RunID: params.RunID, SessionID: params.SessionID,
	}, body)
	if _, err := tx.Exec(ctx, sql, args...); err != nil {
		return "", fmt.Errorf("record run %s in the transaction: %w", params.RunID, err)
	}
	return params.RunID, nil
}

// callError returns a refusal as a client's call would.
func callError(err error) error {
	if refused, ok := errors.AsType[*refusal.Error](err); ok {
		return &client.Error{Status: wire.StatusOf(refused.Code), Code: refused.Code, Detail: refused.Detail, Faults: refused.Faults}
	}
	return err
}

// RefusedRun is a run of a committed [Service.CreateRunTx] that could not be created.
type RefusedRun struct {
	// ID identifies the entry.
	ID, RunID string
	// SessionID is empty if the params had none.
	SessionID   string
	CreatedAtMs int64
	Attempts    int64
	// Reason is the code and the text of the last refusal.
	Reason string
}

// RefusedRuns returns up to limit runs that could not be created, the oldest first, after the entry
// with the given ID; "" for the first. A run is refused at once if a retry would not help, such as
// in a session that has ended, and otherwise after 20 attempts in about an hour. Each is logged as
// an error. The entry stays until [Service.RetryRefusedRun] or [Service.DropRefusedRun]. Errors:
// [ErrNeedsPostgres] and errors of the database.
func (s *Service) RefusedRuns(ctx context.Context, after string, limit int) ([]RefusedRun, error) {
	intake := s.store.Intake()
	if intake == nil {
		return nil, ErrNeedsPostgres
	}
	rows, err := intake.Refused(ctx, after, min(max(limit, 1), maxRefusedRuns))
	if err != nil {
		return nil, err
	}
	refused := make([]RefusedRun, len(rows))
	for i, row := range rows {
		refused[i] = RefusedRun{
			ID: row.IntakeID, RunID: row.RunID, SessionID: row.SessionID, CreatedAtMs: row.CreatedAtMs,
			Attempts: row.Attempts, Reason: row.LastError,
		}
	}
	return refused, nil
}

// maxRefusedRuns is the longest list of [Service.RefusedRuns].
const maxRefusedRuns = 1000

// RetryRefusedRun makes the service try to create a refused run again. It returns false if there is
// no such entry.
func (s *Service) RetryRefusedRun(ctx context.Context, id string) (bool, error) {
	intake := s.store.Intake()
	if intake == nil {
		return false, ErrNeedsPostgres
	}
	return intake.RetryRefused(ctx, id)
}

// DropRefusedRun deletes a refused run's entry. It returns false if there is no such entry.
func (s *Service) DropRefusedRun(ctx context.Context, id string) (bool, error) {
	intake := s.store.Intake()
	if intake == nil {
		return false, ErrNeedsPostgres
	}
	return intake.DropRefused(ctx, id)
}
