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
// transactions queued behind it.
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

func (advisoryLock) SessionLock(ctx context.Context, conn *sql.Conn) error {
	for {
		var locked bool
		if err := conn.QueryRowContext(ctx, "SELECT pg_try_advisory_lock($1)", advisoryLockID).Scan(&locked); err != nil {
			return fmt.Errorf("lock the migrations: %w", err)
		}
		if locked {
			return setLockTimeout(ctx, conn, LockTimeout)
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
	return setLockTimeout(ctx, conn, 0)
}

func setLockTimeout(ctx context.Context, conn *sql.Conn, timeout time.Duration) error {
	text := strconv.FormatInt(timeout.Milliseconds(), 10) + "ms"
	if _, err := conn.ExecContext(ctx, "SELECT set_config('lock_timeout', $1, false)", text); err != nil {
		return fmt.Errorf("set the time-out of locks: %w", err)
	}
	return nil
}
