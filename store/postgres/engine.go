package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/store/columns"
	"github.com/holdpoint/holdpoint/store/committer"
	"github.com/holdpoint/holdpoint/store/load"
)

// engine is the committer's side of the store. Its connections are its own: a lane
// never waits for a reader.
type engine struct {
	lanes *pgxpool.Pool
	reads *pgxpool.Pool
	// localSettings: nothing may be left on a connection, so each transaction brings
	// its settings along.
	localSettings bool
	// incarnation is that of the server that was met last, 0 before the first.
	incarnation atomic.Int64
}

var (
	_ committer.Engine    = (*engine)(nil)
	_ committer.Versioned = (*engine)(nil)
)

// SessionOf implements committer.Engine.
func (e *engine) SessionOf(ctx context.Context, runID string) (string, error) {
	var sessionID string
	err := e.reads.QueryRow(ctx, sqlSessionOf, runID).Scan(&sessionID)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	return sessionID, err
}

// Histories implements committer.Versioned.
func (e *engine) Histories(ctx context.Context, sessionIDs []string, eventIDs []int64) (map[string]committer.History, error) {
	rows, err := e.reads.Query(ctx, sqlHistories, sessionIDs, eventIDs)
	if err != nil {
		return nil, err
	}
	histories := make(map[string]committer.History, len(sessionIDs))
	var sessionID string
	var found committer.History
	_, err = pgx.ForEachRow(rows, []any{&sessionID, &found.Life, &found.Version, &found.LastEventID, &found.EventHash}, func() error {
		histories[sessionID] = found
		return nil
	})
	return histories, err
}

// Begin implements committer.Engine, in one round trip. A connection that turns out
// to be dead is replaced: nothing can have happened yet.
func (e *engine) Begin(ctx context.Context, loads []committer.Load) (committer.Batch, error) {
	attempts := int(e.lanes.Config().MaxConns) + 1
	for {
		conn, err := e.lanes.Acquire(ctx)
		if err != nil {
			return nil, fmt.Errorf("connect: %w", err)
		}
		t := &transaction{conn: conn}
		err = t.begin(ctx, loads, e.localSettings)
		if err == nil {
			e.meet(t.incarnation)
			return t, nil
		}
		attempts--
		dead := conn.Conn().IsClosed() && ctx.Err() == nil && attempts > 0
		t.Rollback(ctx)
		if !dead {
			return nil, asRefusal(err)
		}
	}
}

// meet has the connections to other incarnations closed: what is read next is read from this one.
func (e *engine) meet(incarnation int64) {
	if before := e.incarnation.Swap(incarnation); before != incarnation && before != 0 {
		e.lanes.Reset()
		e.reads.Reset()
	}
}

// AwaitRuleReaders implements committer.Engine.
func (e *engine) AwaitRuleReaders(ctx context.Context) error {
	open, err := e.ruleReaders(ctx)
	for pause := time.Millisecond; err == nil && len(open) > 0; pause = min(2*pause, 50*time.Millisecond) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
		var still map[string]bool
		if still, err = e.ruleReaders(ctx); err == nil {
			maps.DeleteFunc(open, func(transaction string, _ bool) bool { return !still[transaction] })
		}
	}
	return err
}

// ruleReaders returns the transactions that have read rules and are not over.
func (e *engine) ruleReaders(ctx context.Context) (map[string]bool, error) {
	rows, err := e.reads.Query(ctx, sqlRuleReaders)
	if err != nil {
		return nil, err
	}
	transactions, err := pgx.CollectRows(rows, pgx.RowTo[string])
	readers := make(map[string]bool, len(transactions))
	for _, transaction := range transactions {
		readers[transaction] = true
	}
	return readers, err
}

// transaction is one open transaction. It implements committer.Batch.
type transaction struct {
	conn        *pgxpool.Conn // nil once the transaction is over
	nowMs       int64
	incarnation int64
	*load.States
}

func (t *transaction) begin(ctx context.Context, loads []committer.Load, localSettings bool) error {
	t.States = load.New(loads)
	batch := &pgx.Batch{}
	t.queueBegin(batch, localSettings, t.plansAreOld(loads))
	// The mark comes before the rules are read.
	if anyNeeds(loads, func(n *runs.Needs) bool { return n.Rules }) {
		batch.Queue(sqlMarkRuleReader)
	}
	err := t.Ask(func(question string, lists []load.Keys, read func(columns.Rows) error) error {
		var arguments []any
		for _, list := range lists {
			arguments = append(arguments, list.Columns()...)
		}
		batch.Queue(loadStatements[question], arguments...).Query(func(rows pgx.Rows) error { return read(rows) })
		return nil
	})
	if err != nil {
		return err
	}
	batch.Queue(sqlClock).QueryRow(func(row pgx.Row) error { return row.Scan(&t.nowMs, &t.incarnation) })
	if err := t.conn.SendBatch(ctx, batch).Close(); err != nil {
		return err
	}
	return t.findLocked(ctx)
}

// findLocked tells the sessions without a row that are locked from those that do not exist. At
// rest only the first command of a session that its caller named needs it.
func (t *transaction) findLocked(ctx context.Context) error {
	missing := t.Missing()
	if len(missing) == 0 {
		return nil
	}
	rows, err := t.conn.Query(ctx, sqlSessionsThere, missing)
	if err != nil {
		return err
	}
	defer rows.Close()
	return columns.Each(rows, func(id *string) []any { return []any{id} }, func(id *string) { t.There(*id) })
}

func (t *transaction) queueBegin(batch *pgx.Batch, localSettings, plansAreOld bool) {
	if plansAreOld {
		batch.Queue(sqlDiscardPlans)
	}
	batch.Queue(sqlBegin)
	if localSettings {
		batch.Queue(sqlLocalSettings)
	}
}

func anyNeeds(loads []committer.Load, needed func(*runs.Needs) bool) bool {
	for i := range loads {
		for n := range loads[i].Needs {
			if needed(&loads[i].Needs[n]) {
				return true
			}
		}
	}
	return false
}

// The keys of a connection's counts: of all transactions, and of those that look at
// effects or messages, whose tables may begin to fill long after the others.
const (
	transactionCount = "holdpoint_transactions"
	effectCount      = "holdpoint_effect_transactions"
)

// plansAreOld counts the transactions of the connection and returns true at 8, 32,
// 128, 512 and so on. A plan that was made for a table of a few rows walks all of
// it, and the server keeps it until the table is analysed; in a database that
// fills up quickly that is too late. So the plans are made again each time the
// tables may have grown to the fourfold.
func (t *transaction) plansAreOld(loads []committer.Load) bool {
	old := t.growing(transactionCount)
	if anyNeeds(loads, func(n *runs.Needs) bool { return n.Mailbox || n.EffectID != "" || n.MessageID != "" }) {
		old = t.growing(effectCount) || old
	}
	return old
}

func (t *transaction) growing(key string) bool {
	data := t.conn.Conn().PgConn().CustomData()
	count, _ := data[key].(int)
	count++
	data[key] = count
	return count >= 8 && bits.OnesCount(uint(count)) == 1 && bits.TrailingZeros(uint(count))%2 == 1
}

// NowMs implements committer.Batch.
func (t *transaction) NowMs() int64 { return t.nowMs }

// Incarnation implements committer.Batch.
func (t *transaction) Incarnation() int64 { return t.incarnation }

// Commit implements committer.Batch, in one round trip.
func (t *transaction) Commit(ctx context.Context, w runs.Writes) error {
	batch := &pgx.Batch{}
	queueWrites(batch, &w, t.Amended(w.UpdatedSessions))
	return t.commit(ctx, batch)
}

// commit sends what is queued with a COMMIT behind it.
func (t *transaction) commit(ctx context.Context, batch *pgx.Batch) error {
	batch.Queue(sqlCommit).Exec(func(tag pgconn.CommandTag) error {
		if tag.String() != "COMMIT" {
			return fmt.Errorf("the transaction ended with %s", tag)
		}
		return nil
	})
	if err := t.conn.SendBatch(ctx, batch).Close(); err != nil {
		return asRefusal(err)
	}
	t.release()
	return nil
}

// Rollback implements committer.Batch.
func (t *transaction) Rollback(ctx context.Context) {
	if t.conn == nil {
		return
	}
	defer t.release()
	if t.conn.Conn().IsClosed() || t.conn.Conn().PgConn().TxStatus() == 'I' {
		return
	}
	// A connection that cannot even roll back is dropped by the pool.
	_, _ = t.conn.Exec(ctx, sqlRollback)
}

func (t *transaction) release() {
	t.conn.Release()
	t.conn = nil
}
