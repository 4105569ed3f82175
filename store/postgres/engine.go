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
	"github.com/holdpoint/holdpoint/store/door"
	"github.com/holdpoint/holdpoint/store/load"
	"github.com/holdpoint/holdpoint/store/read"
)

// engine is the door's side of the store. Its connections are its own: a lane
// never waits for a reader.
type engine struct {
	lanes *pgxpool.Pool
	reads *pgxpool.Pool
	// localSettings: connections keep no state, so each transaction sends its settings.
	localSettings bool
	// incarnation identifies the server last seen, 0 before the first.
	incarnation atomic.Int64
}

var (
	_ door.Engine    = (*engine)(nil)
	_ door.Versioned = (*engine)(nil)
)

// SessionOf implements door.Engine.
func (e *engine) SessionOf(ctx context.Context, runID string) (string, error) {
	var sessionID string
	err := e.reads.QueryRow(ctx, read.SameStatements.SessionOf, runID).Scan(&sessionID)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	return sessionID, err
}

// Histories implements door.Versioned.
func (e *engine) Histories(ctx context.Context, sessionIDs []string, eventIDs []int64) (map[string]door.History, error) {
	rows, err := e.reads.Query(ctx, sqlHistories, sessionIDs, eventIDs)
	if err != nil {
		return nil, err
	}
	histories := make(map[string]door.History, len(sessionIDs))
	var sessionID string
	var found door.History
	_, err = pgx.ForEachRow(rows, []any{&sessionID, &found.Life, &found.Version, &found.LastEventID, &found.EventHash}, func() error {
		histories[sessionID] = found
		return nil
	})
	return histories, err
}

// Begin implements door.Engine, in one round trip. It replaces a dead connection: nothing
// has happened yet.
func (e *engine) Begin(ctx context.Context, loads []door.Load) (door.Batch, error) {
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

// meet closes the connections to other incarnations, so that later reads use this one.
func (e *engine) meet(incarnation int64) {
	if before := e.incarnation.Swap(incarnation); before != incarnation && before != 0 {
		e.lanes.Reset()
		e.reads.Reset()
	}
}

// AwaitRuleReaders implements door.Engine.
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

// ruleReaders returns the unfinished transactions that have read rules.
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

// transaction is one open transaction. It implements door.Batch.
type transaction struct {
	conn        *pgxpool.Conn // nil once the transaction is over
	nowMs       int64
	incarnation int64
	*load.States
}

func (t *transaction) begin(ctx context.Context, loads []door.Load, localSettings bool) error {
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

// findLocked distinguishes locked sessions without a row from missing ones. Without contention,
// only the first command of a session with a chosen id needs it.
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
	return columns.Each(rows, columns.Itself[string], func(id *string) { t.There(*id) })
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

func anyNeeds(loads []door.Load, needed func(*runs.Needs) bool) bool {
	for i := range loads {
		for n := range loads[i].Needs {
			if needed(&loads[i].Needs[n]) {
				return true
			}
		}
	}
	return false
}

// Keys of a connection's counters: all transactions, and those that read effects or messages,
// whose tables may start to grow much later.
const (
	transactionCount = "holdpoint_transactions"
	effectCount      = "holdpoint_effect_transactions"
)

// plansAreOld counts the connection's transactions and returns true at 8, 32, 128, 512 and so
// on. A plan made for a tiny table scans all of it, and the server keeps the plan until the
// table is analysed, which is too late if the database fills quickly. So plans are renewed each
// time the tables may have grown fourfold.
func (t *transaction) plansAreOld(loads []door.Load) bool {
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

// NowMs implements door.Batch.
func (t *transaction) NowMs() int64 { return t.nowMs }

// Incarnation implements door.Batch.
func (t *transaction) Incarnation() int64 { return t.incarnation }

// Commit implements door.Batch, in one round trip.
func (t *transaction) Commit(ctx context.Context, w runs.Writes) error {
	batch := &pgx.Batch{}
	queueWrites(batch, &w, t.Amended(w.UpdatedSessions))
	return t.commit(ctx, batch)
}

// commit sends the queued statements followed by a COMMIT.
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

// Rollback implements door.Batch.
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
