package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/holdpoint/holdpoint/internal/failpoint"
	"github.com/holdpoint/holdpoint/runs"
)

// connection is one SQLite connection with the statements that were prepared on
// it. It serves one caller at a time.
//
// A context is looked at between rows and never handed to the driver, which would
// interrupt the connection from another goroutine: an interrupt that comes a moment
// too late stops the statement of whoever has the connection next.
type connection struct {
	conn       *sql.Conn
	statements map[string]*sql.Stmt
}

func newConnection(ctx context.Context, db *sql.DB) (*connection, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("open connection: %w", err)
	}
	return &connection{conn: conn, statements: map[string]*sql.Stmt{}}, nil
}

// prepare returns the statement of a query text. The texts are those in this
// package, so there are few of them.
func (c *connection) prepare(ctx context.Context, query string) (*sql.Stmt, error) {
	if statement, there := c.statements[query]; there {
		return statement, nil
	}
	statement, err := c.conn.PrepareContext(context.WithoutCancel(ctx), query)
	if err != nil {
		return nil, fmt.Errorf("prepare: %w", err)
	}
	c.statements[query] = statement
	return statement, nil
}

func (c *connection) exec(ctx context.Context, query string, args ...any) (int64, error) {
	statement, err := c.prepare(ctx, query)
	if err != nil {
		return 0, err
	}
	failpoint.Statement("sqlite.before", query)
	result, err := statement.ExecContext(context.WithoutCancel(ctx), args...)
	if err != nil {
		return 0, err
	}
	failpoint.Statement("sqlite.after", query)
	return result.RowsAffected()
}

// each runs a query and hands over its rows one by one.
func (c *connection) each(ctx context.Context, query string, args []any, row func(*sql.Rows) error) error {
	statement, err := c.prepare(ctx, query)
	if err != nil {
		return err
	}
	failpoint.Statement("sqlite.before", query)
	rows, err := statement.QueryContext(context.WithoutCancel(ctx), args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := row(rows); err != nil {
			return err
		}
	}
	failpoint.Statement("sqlite.after", query)
	return rows.Err()
}

// list runs a query and returns its rows.
func list[T any](ctx context.Context, c *connection, scan func(*sql.Rows) (T, error), query string, args ...any) ([]T, error) {
	var items []T
	err := c.each(ctx, query, args, func(rows *sql.Rows) error {
		item, err := scan(rows)
		items = append(items, item)
		return err
	})
	return items, err
}

// one runs a query that returns at most one row, and says whether there was one.
func one[T any](ctx context.Context, c *connection, scan func(*sql.Rows) (T, error), query string, args ...any) (T, bool, error) {
	items, err := list(ctx, c, scan, query, args...)
	if err != nil || len(items) == 0 {
		var none T
		return none, false, err
	}
	return items[0], true, nil
}

// scanOne scans a row of one column.
func scanOne[T any](rows *sql.Rows) (T, error) {
	var value T
	err := rows.Scan(&value)
	return value, err
}

func (c *connection) close() error {
	for _, statement := range c.statements {
		_ = statement.Close() // the connection goes with it
	}
	return c.conn.Close()
}

// pool hands out connections to one caller each.
type pool struct {
	free   chan *connection
	closed chan struct{}
}

func newPool(connections ...*connection) *pool {
	p := &pool{free: make(chan *connection, len(connections)), closed: make(chan struct{})}
	for _, c := range connections {
		p.free <- c
	}
	return p
}

// take waits for a connection. It returns an error that wraps [runs.ErrClosed]
// when the pool was closed, or the cause of the context's end.
func (p *pool) take(ctx context.Context) (*connection, error) {
	select {
	case <-p.closed:
		return nil, runs.ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case c := <-p.free:
		return c, nil
	}
}

func (p *pool) put(c *connection) { p.free <- c }

// close waits until all connections are back and closes them.
func (p *pool) close() error {
	close(p.closed)
	var failures []error
	for range cap(p.free) {
		failures = append(failures, (<-p.free).close())
	}
	return errors.Join(failures...)
}
