package migrations

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/pressly/goose/v3/lock"
)

// advisoryLock lets one process at a time migrate a Postgres database. It blocks
// in the server, so that a replica goes on the moment its forerunner is done;
// goose's own locker asks again every five seconds.
type advisoryLock struct{}

var _ lock.SessionLocker = advisoryLock{}

// advisoryLockID is any number that nothing else locks in the same database.
const advisoryLockID int64 = 0x686f6c64706f696e // "holdpoin"

func (advisoryLock) SessionLock(ctx context.Context, conn *sql.Conn) error {
	if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock($1)", advisoryLockID); err != nil {
		return fmt.Errorf("lock the migrations: %w", err)
	}
	return nil
}

func (advisoryLock) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_unlock($1)", advisoryLockID); err != nil {
		return fmt.Errorf("unlock the migrations: %w", err)
	}
	return nil
}
