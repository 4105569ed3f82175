package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// read runs a function on a connection of its own. The connection sees one state
// of the database throughout when snapshot is used.
func (s *Store) read(ctx context.Context, do func(*connection) error) error {
	c, err := s.readers.take(ctx)
	if err != nil {
		return err
	}
	defer s.readers.put(c)
	return readFailed(ctx, do(c))
}

// snapshot is read for functions of several statements that must agree.
func (s *Store) snapshot(ctx context.Context, do func(*connection) error) error {
	return s.read(ctx, func(c *connection) error {
		if _, err := c.exec(ctx, "BEGIN"); err != nil {
			return err
		}
		err := do(c)
		// A reading transaction has nothing to lose; it must end even when the
		// context has.
		if _, rollback := c.exec(context.WithoutCancel(ctx), "ROLLBACK"); rollback != nil && err == nil {
			err = rollback
		}
		return err
	})
}

// readFailed tells the caller's own errors from those of the database.
func readFailed(ctx context.Context, err error) error {
	switch {
	case err == nil, refusal.CodeOf(err) != "", errors.Is(err, runs.ErrClosed):
		return err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	default:
		return fmt.Errorf("read: %w: %w", runs.ErrUnavailable, err)
	}
}
