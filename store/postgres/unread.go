package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/store/door"
	"github.com/holdpoint/holdpoint/store/facts"
	"github.com/holdpoint/holdpoint/store/load"
)

var _ door.Unread = (*engine)(nil)

// CommitUnread implements door.Unread, in one round trip.
func (e *engine) CommitUnread(ctx context.Context, guard facts.ReadSet, w runs.Writes) (nowMs int64, err error) {
	conn, err := e.acquireAlive(ctx)
	if err != nil {
		return 0, err
	}
	t := &transaction{conn: conn}
	defer t.Rollback(ctx)
	batch := &pgx.Batch{}
	plansAreOld := t.growing(transactionCount)
	if e.localSettings {
		t.queueBegin(batch, true, plansAreOld)
	} else if plansAreOld {
		batch.Queue(sqlDiscardPlans)
	}
	queueGuard(batch, &guard, &nowMs)
	if len(guard.Tokens) > 0 {
		queueGuardTokens(batch, guard.Tokens)
	}
	before := make(map[string]*model.Session, len(guard.Sessions))
	for _, session := range guard.Sessions {
		before[session.SessionID] = session
	}
	queueWrites(batch, &w, load.Amended(before, w.UpdatedSessions))
	if e.localSettings {
		err = t.commit(ctx, batch)
	} else {
		// The statements up to one Sync are a transaction, which ends there.
		err = asRefusal(t.conn.SendBatch(ctx, batch).Close())
	}
	return nowMs, err
}

// queueGuard queues the statements that abort the transaction unless the guard holds.
func queueGuard(batch *pgx.Batch, guard *facts.ReadSet, nowMs *int64) {
	scan := func(row pgx.Row) error { return row.Scan(nowMs) }
	if len(guard.Sessions) == 1 && len(guard.Rules) == 0 && len(guard.Exact) == 0 {
		one := guard.Sessions[0]
		batch.Queue(sqlGuardOne, one.SessionID, one.Version, guard.NowMs, guard.WithinMs, guard.Incarnation).QueryRow(scan)
		return
	}
	ruleSessions := slices.Sorted(maps.Keys(guard.Rules))
	if len(ruleSessions) > 0 {
		batch.Queue(sqlMarkRuleReader)
	}
	ruleVersions := make([]int64, len(ruleSessions))
	for i, sessionID := range ruleSessions {
		ruleVersions[i] = guard.Rules[sessionID]
	}
	exactSessions, exactDigests := make([]string, len(guard.Exact)), make([]string, len(guard.Exact))
	for i, exact := range guard.Exact {
		exactSessions[i], exactDigests[i] = exact.SessionID, exact.InputDigest
	}
	batch.Queue(sqlGuard,
		array(guard.Sessions, func(s *model.Session) string { return s.SessionID }),
		array(guard.Sessions, func(s *model.Session) int64 { return s.Version }),
		guard.NowMs, guard.WithinMs, ruleSessions, ruleVersions, exactSessions, exactDigests, guard.Incarnation,
	).QueryRow(scan)
}

func queueGuardTokens(batch *pgx.Batch, tokens []*auth.Token) {
	batch.Queue(sqlGuardTokens,
		array(tokens, func(t *auth.Token) string { return t.TokenID }),
		array(tokens, func(t *auth.Token) string { return t.SecretHash }),
		array(tokens, func(t *auth.Token) string { return t.PreviousHash }),
		array(tokens, func(t *auth.Token) int64 { return t.PreviousUntilMs }),
		array(tokens, func(t *auth.Token) int64 { return t.ExpiresAtMs }))
}

// acquireAlive returns a connection that is not known to be closed. Statements sent on it may be
// executed, and must not be sent again.
func (e *engine) acquireAlive(ctx context.Context) (*pgxpool.Conn, error) {
	attempts := int(e.lanes.Config().MaxConns) + 1
	for {
		conn, err := e.lanes.Acquire(ctx)
		if err != nil {
			return nil, fmt.Errorf("connect: %w", err)
		}
		attempts--
		if attempts == 0 || quiet(conn.Conn().PgConn().Conn()) {
			return conn, nil
		}
		// The pool drops a connection that is closed.
		err = conn.Conn().Close(ctx)
		conn.Release()
		if err != nil && errors.Is(err, ctx.Err()) {
			return nil, err
		}
	}
}
