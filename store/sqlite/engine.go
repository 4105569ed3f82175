package sqlite

import (
	"context"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/store/columns"
	"github.com/holdpoint/holdpoint/store/door"
	"github.com/holdpoint/holdpoint/store/load"
	"github.com/holdpoint/holdpoint/store/read"
)

// engine is the door's view of the database.
type engine struct {
	store *Store
	// dataVersion is the last result of sqlDataVersion, 0 at first. The owner of the write
	// connection uses it.
	dataVersion int64
}

var (
	_ door.Engine = (*engine)(nil)
	_ door.Batch  = (*batch)(nil)
)

// SessionOf implements [door.Engine].
func (e *engine) SessionOf(ctx context.Context, runID string) (string, error) {
	sessionID, err := read.Find(ctx, e.store.reads, columns.Itself[string], read.SameStatements.SessionOf, runID)
	if sessionID == nil {
		return "", err
	}
	return *sessionID, nil
}

// batch is the one write transaction. From Begin to Commit or Rollback it has the
// write connection to itself.
type batch struct {
	*load.States

	store *Store
	write *connection // nil when the batch is over
	nowMs int64
}

// Begin implements [door.Engine]. The database's one write lock is the lock
// of every session. Statements inside a transaction run to their end whatever
// becomes of the context, so that the connection is never left half way.
func (e *engine) Begin(ctx context.Context, loads []door.Load) (door.Batch, error) {
	b, err := e.begin(ctx)
	if err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx)
	b.nowMs, b.States = e.store.nowMs(), load.New(loads)
	// Rows loaded from now on may be cached.
	if e.dataVersion == 0 {
		_, err = e.changedByOthers(ctx, b.write)
	}
	if err == nil {
		err = b.loadAll(ctx)
	}
	if err != nil {
		b.Rollback(ctx)
		return nil, failed("load", err)
	}
	return b, nil
}

// begin begins the one write transaction.
func (e *engine) begin(ctx context.Context) (*batch, error) {
	write, err := e.store.writers.acquire(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := write.exec(context.WithoutCancel(ctx), sqlBegin); err != nil {
		e.store.writers.release(write)
		return nil, failed("begin", err)
	}
	return &batch{store: e.store, write: write}, nil
}

// AwaitRuleReaders implements [door.Engine]. There is one transaction at a time.
func (*engine) AwaitRuleReaders(context.Context) error { return nil }

// NowMs implements [door.Batch].
func (b *batch) NowMs() int64 { return b.nowMs }

// Incarnation implements [door.Batch]. The data version reveals changes to the file by
// others.
func (b *batch) Incarnation() int64 { return 0 }

// loadAll fills the states of the batch's sessions.
func (b *batch) loadAll(ctx context.Context) error {
	return b.Ask(func(question string, lists []load.Keys, read func(columns.Rows) error) error {
		arguments := make([]any, len(lists))
		for i, list := range lists {
			var err error
			if arguments[i], err = list.JSON(); err != nil {
				return err
			}
		}
		if comparesNow[question] {
			arguments = append(arguments, b.nowMs)
		}
		return b.write.query(ctx, loadStatements[question], arguments, read)
	})
}

// Commit implements [door.Batch].
func (b *batch) Commit(ctx context.Context, writes runs.Writes) error {
	return b.commit(context.WithoutCancel(ctx), &writes, b.Amended(writes.UpdatedSessions))
}

// commit writes and commits. amended are the updated sessions whose metadata changed.
func (b *batch) commit(ctx context.Context, writes *runs.Writes, amended []*model.Session) error {
	doing := "write"
	err := writeAll(ctx, b.write, writes, amended)
	if err == nil {
		doing = "commit"
		_, err = b.write.exec(ctx, sqlCommit)
	}
	if err != nil {
		b.Rollback(ctx)
		return failed(doing, err)
	}
	b.end()
	return nil
}

// Rollback implements [door.Batch].
func (b *batch) Rollback(ctx context.Context) {
	if b.write == nil {
		return
	}
	// SQLite may have rolled back already, and then there is nothing to do.
	_, _ = b.write.exec(context.WithoutCancel(ctx), sqlRollback)
	b.end()
}

func (b *batch) end() {
	write := b.write
	b.write = nil
	b.store.writers.release(write)
}
