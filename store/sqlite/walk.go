package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"

	"github.com/holdpoint/holdpoint/migrations"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/store/columns"
	"github.com/holdpoint/holdpoint/store/tokens"
)

var (
	_ model.Walker = (*Store)(nil)
	_ model.Walker = (*Inspector)(nil)
)

// Inspector reads a database file and never writes to it. It takes no part in the
// lock that keeps a second process off the file: WAL mode lets it read beside the
// process that writes.
type Inspector struct {
	db *sql.DB
}

// inspectSettings are those of a connection that sorts on disk what is too much for
// memory. mode=ro holds the file itself open for reading alone.
const inspectSettings = "mode=ro&_busy_timeout=5000&_dqs=0&_query_only=1&_pragma=temp_store(file)&_pragma=cache_size(-16384)"

// OpenInspector opens a database file for reading, also while a process has it
// open. The file's directory must be writable unless such a process is running,
// because readers of a WAL share a file beside it. It returns an error that wraps
// [os.ErrNotExist] when there is no such file, [migrations.ErrSchemaBehind] or
// [migrations.ErrSchemaAhead] when its schema is not the one that this program
// knows, or SQLite's own. A database in memory cannot be inspected.
func OpenInspector(ctx context.Context, path string) (*Inspector, error) {
	path, err := realPath(path)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("database file: %w", err)
	}
	db, err := sql.Open("sqlite", fileURI(path, inspectSettings))
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	migrator, err := migrations.New(db, migrations.SQLite, nil)
	if err == nil {
		err = migrator.Check(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), db.Close())
	}
	return &Inspector{db: db}, nil
}

// Walk implements [runs.Walker]. While it lasts, the process that writes cannot
// start its WAL over, which grows by what is written meanwhile.
func (i *Inspector) Walk(ctx context.Context, visit func(*model.SessionRows) error) error {
	conn, err := i.db.Conn(ctx)
	if err != nil {
		return readFailed(ctx, err)
	}
	defer conn.Close()
	return walk(ctx, conn, visit)
}

// Close closes the file.
func (i *Inspector) Close() error { return i.db.Close() }

// Walk implements [runs.Walker]. It has a connection of its own, so that it holds
// up no reader; a database in memory has only one, and commands wait for the end of
// the walk.
func (s *Store) Walk(ctx context.Context, visit func(*model.SessionRows) error) error {
	if s.owned.read == nil {
		c, err := s.writers.acquire(ctx)
		if err != nil {
			return err
		}
		defer s.writers.release(c)
		return walk(ctx, c.conn, visit)
	}
	conn, err := s.owned.read.Conn(ctx)
	if err != nil {
		return readFailed(ctx, err)
	}
	// The connection is not used again: its setting is not that of the readers.
	defer func() { _ = conn.Raw(func(any) error { return driver.ErrBadConn }) }()
	if _, err := conn.ExecContext(ctx, "PRAGMA temp_store = file"); err != nil {
		return readFailed(ctx, err)
	}
	return walk(ctx, conn, visit)
}

// walk reads all tables side by side in one transaction: its first statement fixes
// the moment that all of them show.
func walk(ctx context.Context, conn *sql.Conn, visit func(*model.SessionRows) error) (err error) {
	if _, err := conn.ExecContext(ctx, sqlBeginSnapshot); err != nil {
		return readFailed(ctx, err)
	}
	defer func() {
		if _, rollback := conn.ExecContext(context.WithoutCancel(ctx), sqlRollback); rollback != nil && err == nil {
			err = readFailed(ctx, rollback)
		}
	}()
	open := openTables{ctx: ctx, conn: conn}
	defer open.close()
	streams := model.RowStreams{
		Sessions: readTable(&open, columns.Sessions), Runs: readTable(&open, columns.Runs),
		Requests: readTable(&open, columns.Requests), Events: readRows(&open, columns.Events.WalkWhere(anyThere, "event_id"), columns.Events.Targets),
		Records: readTable(&open, columns.Records), Effects: readTable(&open, columns.Effects),
		Messages: readTable(&open, columns.Messages), Rules: readTable(&open, columns.Rules),
		Entries: readRows(&open, tokens.WalkEntries, tokens.EntryTargets),
	}
	return streams.Visit(visit)
}

// openTables are the statements of a walk.
type openTables struct {
	ctx  context.Context
	conn *sql.Conn
	rows []*sql.Rows
}

// readTable reads a whole table by sessions.
func readTable[R any](open *openTables, table *columns.Table[R], order ...string) model.NextRow[R] {
	return readRows(open, table.Walk(order...), table.Targets)
}

// readRows starts a statement with its first row.
func readRows[R any](open *openTables, statement string, targets func(*R) []any) model.NextRow[R] {
	var rows *sql.Rows
	return func() (*R, error) {
		if rows == nil {
			var err error
			if rows, err = open.conn.QueryContext(open.ctx, statement); err != nil {
				return nil, readFailed(open.ctx, err)
			}
			open.rows = append(open.rows, rows)
		}
		if !rows.Next() {
			return nil, readFailed(open.ctx, rows.Err())
		}
		row := new(R)
		if err := rows.Scan(targets(row)...); err != nil {
			return nil, readFailed(open.ctx, err)
		}
		return row, nil
	}
}

func (t *openTables) close() {
	for _, rows := range t.rows {
		_ = rows.Close() // the errors of reading have been seen
	}
}
