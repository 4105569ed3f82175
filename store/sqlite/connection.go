package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/holdpoint/holdpoint/internal/failpoint"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/store/columns"
	"github.com/holdpoint/holdpoint/store/door"
	"github.com/holdpoint/holdpoint/store/read"
)

// connection is one SQLite connection with its prepared statements. It serves one caller at a
// time.
//
// The end of a context interrupts a query that looks for its first row, and is checked between
// rows. Nothing else is interrupted: a transaction is never left half done.
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

// prepare returns the statement of a query text, which stays prepared. There are few texts: each is a constant or is
// built from a query's filters, and lists of values have few lengths.
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

// query runs a query and passes its rows to read. The driver ensures that an interrupt does not hit
// a later call.
func (c *connection) query(ctx context.Context, query string, args []any, read func(columns.Rows) error) error {
	statement, err := c.prepare(ctx, query)
	if err != nil {
		return err
	}
	failpoint.Statement("sqlite.before", query)
	rows, err := statement.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	if err := read(cancellable{rows, ctx}); err != nil {
		return err
	}
	failpoint.Statement("sqlite.after", query)
	return rows.Err()
}

// ask runs queries one after the other.
func (c *connection) ask(ctx context.Context, queries []read.Query) error {
	for _, q := range queries {
		if err := c.query(ctx, q.SQL, q.Args, q.Read); err != nil {
			return err
		}
	}
	return nil
}

// cancellable are rows that end, with its error, when the context does.
type cancellable struct {
	*sql.Rows
	ctx context.Context
}

func (r cancellable) Next() bool { return r.ctx.Err() == nil && r.Rows.Next() }

func (r cancellable) Err() error { return cmp.Or(r.ctx.Err(), r.Rows.Err()) }

func (c *connection) close() error {
	for _, statement := range c.statements {
		_ = statement.Close() // closed with the connection
	}
	return c.conn.Close()
}

// pool hands out connections to one caller each.
type pool struct {
	free   chan *connection
	closed chan struct{}
	// released, if set, is called with each released connection.
	released func(*connection)
}

func newPool(connections ...*connection) *pool {
	p := &pool{free: make(chan *connection, len(connections)), closed: make(chan struct{})}
	for _, c := range connections {
		p.free <- c
	}
	return p
}

// acquire waits for a connection. It returns an error that wraps [runs.ErrClosed]
// when the pool was closed, or the cause of the context's end.
func (p *pool) acquire(ctx context.Context) (*connection, error) {
	select {
	case <-p.closed:
		return nil, runs.ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case c := <-p.free:
		return c, nil
	}
}

func (p *pool) release(c *connection) {
	if p.released != nil {
		p.released(c)
	}
	p.free <- c
}

func (p *pool) state(name string) door.PoolState {
	idle := len(p.free)
	return door.PoolState{Name: name, InUse: cap(p.free) - idle, Idle: idle, Max: cap(p.free)}
}

// close waits until all connections are back and closes them.
func (p *pool) close() error {
	close(p.closed)
	var failures []error
	for range cap(p.free) {
		failures = append(failures, (<-p.free).close())
	}
	return errors.Join(failures...)
}
