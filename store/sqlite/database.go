package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/store/read"
)

// database implements read.Database on the connections of the reads.
type database struct {
	readers *pool
	nowMs   func() int64
}

var _ read.Database = (*database)(nil)

// List implements read.Database.
func (d *database) List(texts []string) any {
	text, err := json.Marshal(texts)
	if err != nil {
		// Only texts that are not UTF-8 have no JSON, and no row has such an id.
		return "[]"
	}
	return string(text)
}

// Now implements read.Database.
func (d *database) Now() []any { return []any{d.nowMs()} }

// Ask implements read.Database.
func (d *database) Ask(ctx context.Context, queries ...read.Query) error {
	return d.on(ctx, func(c *connection) error { return c.ask(ctx, queries) })
}

// AskAtOneMoment implements read.Database.
func (d *database) AskAtOneMoment(ctx context.Context, queries ...read.Query) error {
	return d.Snapshot(ctx, func(ask func(...read.Query) error) error { return ask(queries...) })
}

// Snapshot implements read.Database.
func (d *database) Snapshot(ctx context.Context, do func(ask func(...read.Query) error) error) error {
	return d.on(ctx, func(c *connection) error {
		if _, err := c.exec(ctx, sqlBeginSnapshot); err != nil {
			return err
		}
		err := do(func(queries ...read.Query) error { return c.ask(ctx, queries) })
		// A reading transaction has nothing to lose; it must end even when the context
		// has.
		if _, rollback := c.exec(context.WithoutCancel(ctx), sqlRollback); rollback != nil && err == nil {
			err = rollback
		}
		return err
	})
}

// on calls do with a connection for its exclusive use.
func (d *database) on(ctx context.Context, do func(*connection) error) error {
	c, err := d.readers.acquire(ctx)
	if err != nil {
		return err
	}
	defer d.readers.release(c)
	return readFailed(ctx, do(c))
}

// readFailed separates the caller's own errors from the database's.
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
