package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/store/door"
	"github.com/holdpoint/holdpoint/store/facts"
)

// staleCodes are the codes with which guards reject a transaction.
var staleCodes = map[string]error{
	"HP001": facts.ErrStale, "HP002": facts.ErrStaleClock, "HP003": facts.ErrStaleRules, "HP004": facts.ErrStaleTokens,
	"HP005": facts.ErrStaleDatabase,
}

// asRefusal wraps door.ErrRefused around an error after which the server has rolled the
// transaction back, and the same commands may succeed, or fail alone, in another one. Other
// errors are returned unchanged, above all a lost connection, because the COMMIT may have
// happened.
func asRefusal(err error) error {
	var refused *pgconn.PgError
	if !errors.As(err, &refused) || refused.SeverityUnlocalized != "ERROR" {
		return err
	}
	code := refused.Code
	switch {
	case staleCodes[code] != nil:
		return fmt.Errorf("%w: %w", staleCodes[code], err)
	case code == pgerrcode.LockNotAvailable:
		return fmt.Errorf("%w: %w", door.ErrLocked, err)
	case pgerrcode.IsIntegrityConstraintViolation(code),
		pgerrcode.IsTransactionRollback(code), // serialization failure, deadlock
		pgerrcode.IsDataException(code),
		pgerrcode.IsProgramLimitExceeded(code),
		code == pgerrcode.QueryCanceled: // statement_timeout
	default:
		return err
	}
	if refused.ConstraintName != "" {
		return fmt.Errorf("%w: constraint %s: %w", door.ErrRefused, refused.ConstraintName, err)
	}
	return fmt.Errorf("%w: %w", door.ErrRefused, err)
}

// readFailure is the error of a read that the database did not answer.
func readFailure(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case refusal.CodeOf(err) != "":
		return err
	}
	return fmt.Errorf("%w: %w", runs.ErrUnavailable, err)
}
