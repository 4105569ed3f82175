package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// ErrNoLocks means that advisory locks have no effect. Replicas exclude each other by them, for
// example while they migrate, revoke a rule, or revoke one of the last two admins.
var ErrNoLocks = errors.New("advisory locks do nothing on this connection")

// Statements that prove advisory locks. Each start uses its own key, so that replicas that start at
// the same time do not conflict.
const (
	sqlLockOfTransaction    = `SELECT pg_advisory_xact_lock($1::bigint)`
	sqlSharedOfTransaction  = `SELECT pg_advisory_xact_lock_shared($1::bigint)`
	sqlTryLockOfTransaction = `SELECT pg_try_advisory_xact_lock($1::bigint)`
	sqlLockOfSession        = `SELECT pg_advisory_lock($1::bigint)`
	sqlUnlockOfSession      = `SELECT pg_advisory_unlock($1::bigint)`
	sqlSharedLocks          = `
SELECT count(*)
FROM pg_locks AS k
WHERE k.locktype = 'advisory' AND k.objsubid = 1 AND k.granted AND k.mode = 'ShareLock'
	AND k.classid = ($1::bigint >> 32)::oid AND k.objid = ($1::bigint & 4294967295)::oid
	AND k.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())`
)

// proveLocks returns an error that wraps ErrNoLocks unless a transaction's exclusive lock
// excludes another transaction, and pg_locks shows a shared one. With sessions, a connection's
// lock must also outlast its transaction, which no proxy that pools by transaction supports.
func proveLocks(ctx context.Context, pool *pgxpool.Pool, sessions bool) error {
	return pool.AcquireFunc(ctx, func(first *pgxpool.Conn) error {
		return pool.AcquireFunc(ctx, func(second *pgxpool.Conn) error {
			key := rand.Int64N(1 << 62)
			if err := proveTransactionLocks(ctx, first.Conn(), second.Conn(), key); err != nil || !sessions {
				return err
			}
			return proveSessionLocks(ctx, first.Conn(), second.Conn(), key)
		})
	})
}

func proveTransactionLocks(ctx context.Context, first, second *pgx.Conn, key int64) error {
	for _, lock := range []struct{ take, missing string }{
		{sqlLockOfTransaction, "an exclusive lock does not keep another transaction out"},
		{sqlSharedOfTransaction, "a shared lock does not keep an exclusive one out"},
	} {
		err := inTransaction(ctx, first, func(holder pgx.Tx) error {
			if _, err := holder.Exec(ctx, lock.take, key); err != nil {
				return fmt.Errorf("take an advisory lock: %w", err)
			}
			return inTransaction(ctx, second, func(other pgx.Tx) error {
				var taken bool
				var shown int
				if err := other.QueryRow(ctx, sqlTryLockOfTransaction, key).Scan(&taken); err != nil {
					return fmt.Errorf("try an advisory lock: %w", err)
				}
				if taken {
					return fmt.Errorf("%w: %s", ErrNoLocks, lock.missing)
				}
				if err := other.QueryRow(ctx, sqlSharedLocks, key).Scan(&shown); err != nil {
					return fmt.Errorf("read pg_locks: %w", err)
				}
				if lock.take == sqlSharedOfTransaction && shown == 0 {
					return fmt.Errorf("%w: pg_locks does not show a shared lock", ErrNoLocks)
				}
				return nil
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// proveSessionLocks keeps a transaction open on the second connection while the first releases
// its lock. A proxy that pools by transaction then sends the first connection's two statements
// to different server connections, or grants the lock to both.
func proveSessionLocks(ctx context.Context, first, second *pgx.Conn, key int64) error {
	const advice = "is this a proxy that pools by transaction? See --pooled and --direct-database"
	if _, err := first.Exec(ctx, sqlLockOfSession, key); err != nil {
		return fmt.Errorf("take an advisory lock: %w", err)
	}
	return inTransaction(ctx, second, func(other pgx.Tx) error {
		var taken, unlocked bool
		if err := other.QueryRow(ctx, sqlTryLockOfTransaction, key).Scan(&taken); err != nil {
			return fmt.Errorf("try an advisory lock: %w", err)
		}
		if err := first.QueryRow(ctx, sqlUnlockOfSession, key).Scan(&unlocked); err != nil {
			return fmt.Errorf("give an advisory lock back: %w", err)
		}
		if taken || !unlocked {
			return fmt.Errorf("%w: a lock of a connection does not outlast its transaction; %s", ErrNoLocks, advice)
		}
		return nil
	})
}

// inTransaction runs do in a transaction that is rolled back.
func inTransaction(ctx context.Context, conn *pgx.Conn, do func(pgx.Tx) error) error {
	tx, err := conn.Begin(ctx)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	return errors.Join(do(tx), tx.Rollback(ctx))
}
