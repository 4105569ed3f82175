package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/holdpoint/holdpoint/migrations"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/store/columns"
	"github.com/holdpoint/holdpoint/store/tokens"
)

var (
	_ model.Walker         = (*Store)(nil)
	_ model.StorageChecker = (*Inspector)(nil)
)

// Inspector reads a database file and never writes to it. It does not need the lock that
// excludes a second process: WAL mode lets it read next to the writing process.
type Inspector struct {
	db *sql.DB
}

// inspectSettings configure a connection that sorts on disk if memory is not enough. mode=ro
// opens the file itself read-only.
const inspectSettings = "mode=ro&_busy_timeout=5000&_dqs=0&_query_only=1&_pragma=temp_store(file)&_pragma=cache_size(-16384)"

// OpenInspector opens a database file read-only, even while a process has it open. The file's
// directory must be writable unless such a process is running, because readers of a WAL share a
// file next to it. It returns an error that wraps [os.ErrNotExist] if the file is missing,
// [migrations.ErrSchemaBehind] or [migrations.ErrSchemaAhead] if this program does not know the
// schema, or SQLite's own. In-memory databases cannot be inspected.
func OpenInspector(ctx context.Context, path string) (*Inspector, error) {
	path, err := realPath(path)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("database file: %w", err)
	}
	if err := errors.Join(checkLog(path), checkName(path)); err != nil {
		return nil, err
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

// Walk implements [model.Walker]. Meanwhile the writing process cannot restart its WAL, which
// grows with its writes.
func (i *Inspector) Walk(ctx context.Context, visit func(*model.SessionRows) error) error {
	conn, err := i.db.Conn(ctx)
	if err != nil {
		return readFailed(ctx, err)
	}
	defer conn.Close()
	return inspected(walk(ctx, conn, visit))
}

// inspected marks the error of a damaged file.
func inspected(err error) error {
	if Damaged(err) {
		return fmt.Errorf("%w: %w", model.ErrDamaged, err)
	}
	return err
}

// CheckStorage implements [model.StorageChecker]: it reads every page, and compares each index with its table.
func (i *Inspector) CheckStorage(ctx context.Context, report func(fault string)) error {
	rows, err := i.db.QueryContext(ctx, "PRAGMA integrity_check("+strconv.Itoa(model.MaxStorageFaults)+")")
	if err != nil {
		return inspected(readFailed(ctx, err))
	}
	defer rows.Close()
	err = columns.Each(rows, columns.Itself[string], func(said *string) {
		if *said != "ok" {
			report(*said)
		}
	})
	return inspected(readFailed(ctx, cmp.Or(err, rows.Err())))
}

// Close closes the file.
func (i *Inspector) Close() error { return i.db.Close() }

// Walk implements [model.Walker]. It uses its own connection, so it blocks no reader; an
// in-memory database has only one, and commands wait for the end of the walk.
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
	// The connection is not reused: its settings differ from the readers'.
	defer func() { _ = conn.Raw(func(any) error { return driver.ErrBadConn }) }()
	if _, err := conn.ExecContext(ctx, "PRAGMA temp_store = file"); err != nil {
		return readFailed(ctx, err)
	}
	return walk(ctx, conn, visit)
}

// walk reads all tables in parallel in one transaction, whose first statement fixes the
// snapshot.
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
		Requests: readTable(&open, columns.Requests), Events: readRows(&open, columns.Events.Walk("event_id"), columns.Events.Targets),
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
func readTable[R any](open *openTables, table *columns.Table[R]) model.NextRow[R] {
	return readRows(open, table.Walk(), table.Targets)
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
		_ = rows.Close() // errors of reading were reported already
	}
}
