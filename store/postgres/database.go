package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdpoint/holdpoint/store/read"
)

// changing are the options of [sqlBegin]: a statement after a lock sees the rows as they are then, whatever the
// server's default isolation is.
var changing = pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite}

// database implements read.Database on the connections of the reads.
type database struct {
	reads *pgxpool.Pool
}

var _ read.Database = database{}

// List implements read.Database.
func (database) List(texts []string) any { return texts }

// Now implements read.Database: the statements use the server's clock.
func (database) Now() []any { return nil }

// Ask implements read.Database in one round trip.
func (d database) Ask(ctx context.Context, queries ...read.Query) error {
	if len(queries) > 1 {
		return readFailure(ctx, d.reads.SendBatch(ctx, batchOf(queries)).Close())
	}
	rows, err := d.reads.Query(ctx, queries[0].SQL, queries[0].Args...)
	if err != nil {
		return readFailure(ctx, err)
	}
	defer rows.Close()
	return readFailure(ctx, queries[0].Read(rows))
}

// AskAtOneMoment implements read.Database in one round trip.
func (d database) AskAtOneMoment(ctx context.Context, queries ...read.Query) error {
	batch := &pgx.Batch{}
	batch.Queue(sqlBeginSnapshot)
	queue(batch, queries)
	batch.Queue(sqlCommit)
	return readFailure(ctx, d.reads.SendBatch(ctx, batch).Close())
}

// Snapshot implements read.Database in one round trip for each call of ask, and two.
func (d database) Snapshot(ctx context.Context, do func(ask func(...read.Query) error) error) error {
	moment := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	return readFailure(ctx, pgx.BeginTxFunc(ctx, d.reads, moment, func(tx pgx.Tx) error {
		return do(func(queries ...read.Query) error { return tx.SendBatch(ctx, batchOf(queries)).Close() })
	}))
}

func batchOf(queries []read.Query) *pgx.Batch {
	batch := &pgx.Batch{}
	queue(batch, queries)
	return batch
}

func queue(batch *pgx.Batch, queries []read.Query) {
	for _, q := range queries {
		batch.Queue(q.SQL, q.Args...).Query(func(rows pgx.Rows) error { return q.Read(rows) })
	}
}
