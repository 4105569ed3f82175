package migrations

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/pressly/goose/v3/lock"
)

// advisoryLock lets one process at a time migrate a Postgres database. It asks again and
// again, as goose's own locker does every five seconds, instead of waiting in the server:
// there a waiting statement holds a snapshot, and CREATE INDEX CONCURRENTLY waits for all
// of them, so that the replica that migrates would wait for the one that waits for it.
type advisoryLock struct{}

const lockInterval = 100 * time.Millisecond

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
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("lock the migrations: %w", context.Cause(ctx))
		case <-time.After(lockInterval):
		}
	}
}

func (advisoryLock) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_unlock($1)", advisoryLockID); err != nil {
		return fmt.Errorf("unlock the migrations: %w", err)
	}
	return nil
}
