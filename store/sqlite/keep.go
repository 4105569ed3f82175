package sqlite

import (
	"context"
	"fmt"

	"github.com/holdpoint/holdpoint/migrations"
)

// SweepIdempotency implements [runs.Keeper]. It waits for its turn at the write
// connection, so it never holds up a batch for longer than limit deletions take.
func (s *Store) SweepIdempotency(ctx context.Context, beforeMs int64, limit int) (int, error) {
	write, err := s.writers.take(ctx)
	if err != nil {
		return 0, err
	}
	defer s.writers.put(write)
	deleted, err := write.exec(context.WithoutCancel(ctx), `DELETE FROM idempotency_records
		WHERE (operation, scope, idempotency_key) IN (
			SELECT operation, scope, idempotency_key FROM idempotency_records
			WHERE created_at_ms < ? ORDER BY created_at_ms LIMIT ?)`, beforeMs, max(limit, 0))
	if err != nil {
		return 0, failed("sweep idempotency records", err)
	}
	return int(deleted), nil
}

// NowMs implements [runs.Keeper].
func (s *Store) NowMs(context.Context) (int64, error) { return s.nowMs(), nil }

// Ready implements [runs.Keeper].
func (s *Store) Ready(ctx context.Context) error {
	current, err := s.count(ctx, `SELECT coalesce(max(version_id), 0) FROM goose_db_version`)
	switch {
	case err != nil:
		return err
	case current < s.schema:
		return fmt.Errorf("%w (it is at %d, this program needs %d)", migrations.ErrSchemaBehind, current, s.schema)
	case current > s.schema:
		return fmt.Errorf("%w (it is at %d, this program knows %d)", migrations.ErrSchemaAhead, current, s.schema)
	}
	return nil
}

// Migrate hands the migrator of a database file to a function. It returns an error
// that wraps [ErrInUse] when a process has the file open, or the function's error.
func Migrate(ctx context.Context, path string, do func(*migrations.Migrator) error) error {
	owned, err := openDatabase(ctx, path)
	if err != nil {
		return err
	}
	migrator, err := owned.migrator()
	if err == nil {
		err = do(migrator)
	}
	if closing := owned.close(); err == nil {
		err = closing
	}
	return err
}
