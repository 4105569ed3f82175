package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/jackc/pgx/v5"
)

// sizes measures a database.
type sizes interface {
	// head and row return the end of a row of a Markdown table.
	head() string
	row(ctx context.Context) (string, error)
	close()
}

// begin is the start of the head of each table.
const begin = "| time | done | runs | kept | "

func sizesOf(ctx context.Context, database string) (sizes, error) {
	if path, is := strings.CutPrefix(database, "sqlite:"); is {
		return file(path), nil
	}
	conn, err := pgx.Connect(ctx, database)
	if err != nil {
		return nil, errors.New("connect to the database to measure it") // the driver's text may contain the password
	}
	return server{conn}, nil
}

// file is a SQLite database.
type file string

func (file) head() string {
	return begin + "file | log |\n|---|---|---|---|---|---|"
}

func (f file) row(context.Context) (string, error) {
	main, err := os.Stat(string(f))
	if err != nil {
		return "", err
	}
	var log int64
	switch wal, err := os.Stat(string(f) + "-wal"); {
	case err == nil:
		log = wal.Size()
	case !errors.Is(err, fs.ErrNotExist):
		return "", err
	}
	return fmt.Sprintf("%s | %s |", megabytes(main.Size()), megabytes(log)), nil
}

func (file) close() {}

// server is a Postgres database. It is used by one goroutine at a time.
type server struct{ conn *pgx.Conn }

// measured are the tables with rows of runs.
var measured = []string{"runs", "events", "requests", "sessions", "claimable_runs", "idempotency_records"}

func (server) head() string {
	return begin + "database | " + strings.Join(measured, " | ") + " |\n|---|---|---|---|---|" + strings.Repeat("---|", len(measured)) +
		"\n| | | | | | " + strings.Repeat("heap + indexes, dead rows, vacuums | ", len(measured))
}

const sqlTable = `
SELECT pg_table_size(s.relid), pg_indexes_size(s.relid), s.n_dead_tup, s.autovacuum_count
FROM pg_stat_user_tables AS s WHERE s.relname = $1`

func (s server) row(ctx context.Context) (string, error) {
	var size int64
	if err := s.conn.QueryRow(ctx, `SELECT pg_database_size(current_database())`).Scan(&size); err != nil {
		return "", err
	}
	cells := []string{megabytes(size)}
	for _, table := range measured {
		var heap, indexes, dead, vacuums int64
		if err := s.conn.QueryRow(ctx, sqlTable, table).Scan(&heap, &indexes, &dead, &vacuums); err != nil {
			return "", err
		}
		cells = append(cells, fmt.Sprintf("%s + %s, %d, %d", megabytes(heap), megabytes(indexes), dead, vacuums))
	}
	return strings.Join(cells, " | ") + " |", nil
}

func (s server) close() { _ = s.conn.Close(context.Background()) }

func megabytes(bytes int64) string { return fmt.Sprintf("%.0f MB", float64(bytes)/1e6) }
