package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/holdpoint/holdpoint/audit/journal"
	"github.com/holdpoint/holdpoint/migrations"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/store/columns"
	"github.com/holdpoint/holdpoint/store/tokens"
)

var (
	_ model.Walker         = (*Store)(nil)
	_ model.StorageChecker = (*Inspector)(nil)
)

// Inspector reads a database on its own connection and never writes to it.
type Inspector struct {
	conn *pgx.Conn
}

// OpenInspector connects to a database for reading. The URL may lead to a proxy that pools by
// transaction. The error wraps [migrations.ErrSchemaBehind] or [migrations.ErrSchemaAhead] if the
// schema is not the one known to this program.
func OpenInspector(ctx context.Context, url string) (*Inspector, error) {
	config, err := connConfig(url)
	if err != nil {
		return nil, err
	}
	// The connection may belong to a proxy, so leave no state on it.
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	if err := checkSchema(ctx, config); err != nil {
		return nil, err
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("connect to database: %w", err)
	}
	return &Inspector{conn: conn}, nil
}

func checkSchema(ctx context.Context, config *pgx.ConnConfig) (err error) {
	db := stdlib.OpenDB(*config)
	defer func() { err = errors.Join(err, db.Close()) }()
	migrator, err := migrations.New(db, migrations.Postgres, nil)
	if err != nil {
		return err
	}
	return migrator.Check(ctx)
}

// Walk implements [model.Walker]. Meanwhile the server keeps the row versions of its snapshot.
func (i *Inspector) Walk(ctx context.Context, visit func(*model.SessionRows) error) error {
	return inspected(walk(ctx, i.conn, visit))
}

// inspected marks the error of a damaged page or index.
func inspected(err error) error {
	if failure, is := errors.AsType[*pgconn.PgError](err); is && (failure.Code == pgerrcode.DataCorrupted || failure.Code == pgerrcode.IndexCorrupted) {
		return fmt.Errorf("%w: %w", model.ErrDamaged, err)
	}
	return err
}

// sqlUnlisted compares claimable_runs, which triggers write, with the runs.
const sqlUnlisted = `
SELECT coalesce(r.session_id, c.session_id), coalesce(r.run_id, c.run_id), c.run_id IS NULL, r.run_id IS NULL
FROM (SELECT one.session_id, one.run_id, one.agent_id, one.claimable_at_ms FROM runs AS one WHERE one.claimable_at_ms IS NOT NULL) AS r
FULL JOIN claimable_runs AS c ON c.session_id = r.session_id AND c.run_id = r.run_id
WHERE (r.agent_id, r.claimable_at_ms) IS DISTINCT FROM (c.agent_id, c.claimable_at_ms)
LIMIT $1::bigint`

// CheckStorage implements [model.StorageChecker].
func (i *Inspector) CheckStorage(ctx context.Context, report func(fault string)) error {
	rows, err := i.conn.Query(ctx, sqlUnlisted, int64(model.MaxStorageFaults))
	if err != nil {
		return inspected(readFailure(ctx, err))
	}
	defer rows.Close()
	type unlisted struct {
		sessionID, runID      string
		withoutRow, withoutIt bool
	}
	targets := func(u *unlisted) []any { return []any{&u.sessionID, &u.runID, &u.withoutRow, &u.withoutIt} }
	return inspected(readFailure(ctx, columns.Each(rows, targets, func(u *unlisted) {
		fault := "says something else than the run"
		switch {
		case u.withoutRow:
			fault = "lacks the run, and no worker gets it"
		case u.withoutIt:
			fault = "has the run, which cannot be claimed"
		}
		report(fmt.Sprintf("claimable_runs %s: %s of session %s", fault, u.runID, u.sessionID))
	})))
}

// Close closes the connection.
func (i *Inspector) Close() error { return i.conn.Close(context.Background()) }

// Walk implements model.Walker. It uses one of the reading connections.
func (s *Store) Walk(ctx context.Context, visit func(*model.SessionRows) error) error {
	conn, err := s.reads.Acquire(ctx)
	if err != nil {
		return readFailure(ctx, err)
	}
	defer conn.Release()
	return walk(ctx, conn.Conn(), visit)
}

// walkPage is the number of rows that a cursor fetches at a time. Rows may be large, and one page
// of each table is in memory.
const walkPage = 256

// walk reads all tables in parallel, with a cursor for each in one transaction, whose first
// statement fixes the snapshot.
func walk(ctx context.Context, conn *pgx.Conn, visit func(*model.SessionRows) error) (err error) {
	if _, err := conn.Exec(ctx, sqlBeginSnapshot); err != nil {
		return readFailure(ctx, err)
	}
	defer func() {
		// Always end the read-only transaction, even if the context has ended.
		if _, rollback := conn.Exec(context.WithoutCancel(ctx), sqlRollback); rollback != nil && err == nil {
			err = readFailure(ctx, rollback)
		}
	}()
	streams := model.RowStreams{
		Sessions: readTable(ctx, conn, columns.Sessions), Runs: readTable(ctx, conn, columns.Runs),
		Requests: readTable(ctx, conn, columns.Requests), Events: readTable(ctx, conn, columns.Events, "event_id"),
		Records: readTable(ctx, conn, columns.Records), Effects: readTable(ctx, conn, columns.Effects),
		Messages: readTable(ctx, conn, columns.Messages), Rules: readTable(ctx, conn, columns.Rules),
		Entries: readCursor(ctx, conn, "audit_entries", tokens.WalkEntries, func(rows pgx.Rows, do func(*journal.Entry)) error {
			return columns.Each(rows, tokens.EntryTargets, do)
		}),
	}
	return streams.Visit(visit)
}

// readTable reads a whole table by session.
func readTable[R any](ctx context.Context, conn *pgx.Conn, table *columns.Table[R], order ...string) model.NextRow[R] {
	return readCursor(ctx, conn, table.Name, table.Walk(order...), func(rows pgx.Rows, do func(*R)) error { return table.Each(rows, do) })
}

// readCursor declares a cursor for a statement when its first row is read.
func readCursor[R any](ctx context.Context, conn *pgx.Conn, name, sql string, each func(pgx.Rows, func(*R)) error) model.NextRow[R] {
	cursor := "walk_" + name
	fetch := "FETCH FORWARD " + strconv.Itoa(walkPage) + " FROM " + cursor
	var page []*R
	declared, last := false, false
	return func() (*R, error) {
		if !declared {
			declared = true
			if _, err := conn.Exec(ctx, "DECLARE "+cursor+" NO SCROLL CURSOR FOR "+sql); err != nil {
				return nil, readFailure(ctx, err)
			}
		}
		if len(page) == 0 && !last {
			rows, err := conn.Query(ctx, fetch)
			if err != nil {
				return nil, readFailure(ctx, err)
			}
			page = make([]*R, 0, walkPage)
			err = each(rows, func(row *R) { page = append(page, row) })
			rows.Close()
			if err != nil {
				return nil, readFailure(ctx, err)
			}
			last = len(page) < walkPage
		}
		if len(page) == 0 {
			return nil, nil
		}
		row := page[0]
		page = page[1:]
		return row, nil
	}
}
