package migrations

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/pressly/goose/v3/lock"
)

// advisoryLock lets only one process migrate a Postgres database at a time. It polls, as goose's
// own locker does every five seconds, instead of waiting in the server. A waiting statement holds a
// snapshot, and CREATE INDEX CONCURRENTLY waits for all snapshots: the migrating replica and the
// waiting one would block each other.
type advisoryLock struct{}

const lockInterval = 100 * time.Millisecond

// LockTimeout is how long a step on Postgres waits for a lock, and so how long it blocks the
// transactions queued behind it. Making an index blocks none and waits.
const LockTimeout = time.Second

// lockPause lets the queued transactions run before the step is retried.
const lockPause = 500 * time.Millisecond

// lockNotAvailable is the SQLSTATE of a lock time-out.
const lockNotAvailable = "55P03"

func lockTimedOut(err error) bool {
	var failure interface{ SQLState() string }
	return errors.As(err, &failure) && failure.SQLState() == lockNotAvailable
}

// pause waits, and returns the cause of the context if it ends first.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

var _ lock.SessionLocker = advisoryLock{}

// advisoryLockID is any number that nothing else locks in the same database.
const advisoryLockID int64 = 0x686f6c64706f696e // "holdpoin"

// The time-outs of a connection while it migrates, and after: those that a role or the URL sets for ordinary statements
// would end a large step each time. A step without a transaction turns the one for locks off where nobody queues behind it.
const (
	migratingSettings = `
SELECT set_config(s.name, CASE s.name WHEN 'lock_timeout' THEN $1 ELSE '0' END, false)
FROM pg_settings AS s WHERE s.name IN ('lock_timeout', 'statement_timeout', 'transaction_timeout')`
	usualSettings = `
SELECT set_config(s.name, s.reset_val, false)
FROM pg_settings AS s WHERE s.name IN ('lock_timeout', 'statement_timeout', 'transaction_timeout')`
)

func (advisoryLock) SessionLock(ctx context.Context, conn *sql.Conn) error {
	for {
		var locked bool
		if err := conn.QueryRowContext(ctx, "SELECT pg_try_advisory_lock($1)", advisoryLockID).Scan(&locked); err != nil {
			return fmt.Errorf("lock the migrations: %w", err)
		}
		if locked {
			if _, err := conn.ExecContext(ctx, migratingSettings, strconv.FormatInt(LockTimeout.Milliseconds(), 10)); err != nil {
				return fmt.Errorf("set the time-outs of migrations: %w", err)
			}
			return nil
		}
		if err := pause(ctx, lockInterval); err != nil {
			return fmt.Errorf("lock the migrations: %w", err)
		}
	}
}

func (advisoryLock) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_unlock($1)", advisoryLockID); err != nil {
		return fmt.Errorf("unlock the migrations: %w", err)
	}
	if _, err := conn.ExecContext(ctx, usualSettings); err != nil {
		return fmt.Errorf("reset the time-outs of migrations: %w", err)
	}
	return nil
}
