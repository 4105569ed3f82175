package sqlite

import (
	"context"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/store/committer"
)

// engine is what the group committer sees of the database.
type engine struct {
	store *Store
}

var (
	_ committer.Engine = (*engine)(nil)
	_ committer.Batch  = (*batch)(nil)
)

// SessionOf implements [committer.Engine].
func (e *engine) SessionOf(ctx context.Context, runID string) (string, error) {
	var sessionID string
	err := e.store.read(ctx, func(c *connection) error {
		var err error
		sessionID, _, err = one(ctx, c, scanOne[string], `SELECT session_id FROM runs WHERE run_id = ?`, runID)
		return err
	})
	return sessionID, err
}

// batch is the one write transaction. From Begin to Commit or Rollback it has the
// write connection to itself.
type batch struct {
	store  *Store
	write  *connection // nil when the batch is over
	nowMs  int64
	states map[string]*runs.State
}

// Begin implements [committer.Engine]. The database's one write lock is the lock
// of every session. Statements inside a transaction run to their end whatever
// becomes of the context, so that the connection is never left half way.
func (e *engine) Begin(ctx context.Context, loads []committer.Load) (committer.Batch, error) {
	write, err := e.store.writers.take(ctx)
	if err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx)
	if _, err := write.exec(ctx, "BEGIN IMMEDIATE"); err != nil {
		e.store.writers.put(write)
		return nil, failed("begin", err)
	}
	b := &batch{store: e.store, write: write, nowMs: e.store.nowMs(), states: make(map[string]*runs.State, len(loads))}
	if err := b.load(ctx, loads); err != nil {
		b.Rollback(ctx)
		return nil, failed("load", err)
	}
	return b, nil
}

// NowMs implements [committer.Batch].
func (b *batch) NowMs() int64 { return b.nowMs }

// State implements [committer.Batch].
func (b *batch) State(sessionID string) *runs.State { return b.states[sessionID] }

// Commit implements [committer.Batch].
func (b *batch) Commit(ctx context.Context, writes runs.Writes) error {
	ctx = context.WithoutCancel(ctx)
	if err := b.apply(ctx, &writes); err != nil {
		b.Rollback(ctx)
		return failed("write", err)
	}
	if _, err := b.write.exec(ctx, "COMMIT"); err != nil {
		b.Rollback(ctx)
		return failed("commit", err)
	}
	b.end()
	return nil
}

// Rollback implements [committer.Batch].
func (b *batch) Rollback(ctx context.Context) {
	if b.write == nil {
		return
	}
	// SQLite may have rolled back by itself, and then there is nothing to do.
	_, _ = b.write.exec(context.WithoutCancel(ctx), "ROLLBACK")
	b.end()
}

func (b *batch) end() {
	write := b.write
	b.write = nil
	b.store.writers.put(write)
}
