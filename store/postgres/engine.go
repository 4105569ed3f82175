package postgres

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/rules"
	"github.com/holdpoint/holdpoint/store/committer"
)

// engine is the committer's side of the store. Its connections are its own: a lane
// never waits for a reader.
type engine struct {
	lanes *pgxpool.Pool
	reads *pgxpool.Pool
	// localSettings: nothing may be left on a connection, so each transaction brings
	// its settings along.
	localSettings bool
}

var _ committer.Engine = (*engine)(nil)

const sqlSessionOf = `SELECT r.session_id FROM runs AS r WHERE r.run_id = $1`

// SessionOf implements committer.Engine.
func (e *engine) SessionOf(ctx context.Context, runID string) (string, error) {
	var sessionID string
	err := e.reads.QueryRow(ctx, sqlSessionOf, runID).Scan(&sessionID)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	return sessionID, err
}

const (
	sqlBegin    = `BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE`
	sqlCommit   = `COMMIT`
	sqlRollback = `ROLLBACK`
)

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

// transaction is one open transaction. It implements committer.Batch.
type transaction struct {
	conn  *pgxpool.Conn // nil once the transaction is over
	nowMs int64
	loader
}

func (t *transaction) begin(ctx context.Context, loads []committer.Load, localSettings bool) error {
	t.loader = loader{
		states:   make(map[string]*runs.State, len(loads)),
		sessions: make(map[string]*model.Session, len(loads)),
		chosen:   map[string][]*runs.State{},
		records:  map[model.RecordKey][]*runs.State{},
		named:    map[string][]*runs.State{},
	}
	batch := &pgx.Batch{}
	if t.plansAreOld(loads) {
		batch.Queue(sqlDiscardPlans)
	}
	batch.Queue(sqlBegin)
	if localSettings {
		batch.Queue(sqlLocalSettings)
	}
	queueGate(batch, loads)
	t.queue(batch, loads)
	batch.Queue(sqlClock).QueryRow(func(row pgx.Row) error { return row.Scan(&t.nowMs) })
	return t.conn.SendBatch(ctx, batch).Close()
}

// sqlDiscardPlans makes the server plan the prepared statements anew.
const sqlDiscardPlans = `DISCARD PLANS`

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
	if slices.ContainsFunc(loads, func(l committer.Load) bool {
		return l.Mailbox || len(l.EffectIDs) > 0 || len(l.MessageIDs) > 0
	}) {
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

// State implements committer.Batch.
func (t *transaction) State(sessionID string) *runs.State { return t.states[sessionID] }

// Commit implements committer.Batch, in one round trip. Rows of each kind go in the
// order of their keys, so that transactions that meet at a unique index meet in one
// order.
func (t *transaction) Commit(ctx context.Context, w runs.Writes) error {
	slices.SortFunc(w.NewSessions, func(a, b *model.Session) int { return cmp.Compare(a.SessionID, b.SessionID) })
	slices.SortFunc(w.NewRuns, func(a, b *model.Run) int { return cmp.Compare(a.RunID, b.RunID) })
	slices.SortFunc(w.Records, func(a, b *model.IdempotencyRecord) int {
		return cmp.Or(cmp.Compare(a.Scope, b.Scope), cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.IdempotencyKey, b.IdempotencyKey))
	})
	slices.SortFunc(w.NewRules, func(a, b *rules.Rule) int { return cmp.Compare(a.RuleID, b.RuleID) })
	batch := &pgx.Batch{}
	queueRows(batch, sqlInsertSessions, w.NewSessions, insertSessionsArguments)
	queueRows(batch, sqlUpdateSessions, w.UpdatedSessions, updateSessionsArguments)
	queueRows(batch, sqlAmendSessions, t.amended(w.UpdatedSessions), amendSessionsArguments)
	// A run that ends frees the slot for another one of its session, and the unique
	// index on the slot is checked row by row.
	over, going := split(w.UpdatedRuns)
	queueRows(batch, sqlUpdateRuns, over, updateRunsArguments)
	queueRows(batch, sqlUpdateRuns, going, updateRunsArguments)
	queueRows(batch, sqlInsertRuns, w.NewRuns, insertRunsArguments)
	queueRows(batch, sqlSettleRequests, w.SettledRequests, settleRequestsArguments)
	queueRows(batch, sqlInsertRequests, w.NewRequests, insertRequestsArguments)
	queueRows(batch, sqlInsertEvents, w.Events, insertEventsArguments)
	queueRows(batch, sqlInsertRecords, w.Records, insertRecordsArguments)
	queueRows(batch, sqlUpdateEffects, w.UpdatedEffects, updateEffectsArguments)
	queueRows(batch, sqlInsertEffects, w.NewEffects, insertEffectsArguments)
	queueRows(batch, sqlUpdateMessages, w.UpdatedMessages, updateMessagesArguments)
	queueRows(batch, sqlInsertMessages, w.NewMessages, insertMessagesArguments)
	queueRows(batch, sqlUpdateRules, w.UpdatedRules, updateRulesArguments)
	queueRows(batch, sqlInsertRules, w.NewRules, insertRulesArguments)
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

// amended returns the sessions whose metadata is no longer what was loaded.
func (t *transaction) amended(updated []*model.Session) []*model.Session {
	var amended []*model.Session
	for _, session := range updated {
		if loaded := t.sessions[session.SessionID]; loaded == nil || !bytes.Equal(loaded.Metadata, session.Metadata) {
			amended = append(amended, session)
		}
	}
	return amended
}

// split parts the runs that are over from the others when a session occurs more
// than once; else one statement will do.
func split(updated []*model.Run) (over, going []*model.Run) {
	seen := make(map[string]bool, len(updated))
	again := false
	for _, run := range updated {
		again = again || seen[run.SessionID]
		seen[run.SessionID] = true
	}
	if !again {
		return nil, updated
	}
	for _, run := range updated {
		if model.Terminal(run.Status) {
			over = append(over, run)
		} else {
			going = append(going, run)
		}
	}
	return over, going
}

// queueRows queues one statement that writes all the rows, or none when there are
// none. All of them must be written: the lock on the session says that they are
// there.
func queueRows[R any](batch *pgx.Batch, sql string, rows []*R, arguments func([]*R) []any) {
	if len(rows) == 0 {
		return
	}
	batch.Queue(sql, arguments(rows)...).Exec(func(tag pgconn.CommandTag) error {
		if tag.RowsAffected() != int64(len(rows)) {
			return fmt.Errorf("wrote %d rows of %d", tag.RowsAffected(), len(rows))
		}
		return nil
	})
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
