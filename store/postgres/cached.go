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
	"github.com/holdpoint/holdpoint/store/facts"
	"github.com/holdpoint/holdpoint/store/load"
)

// Commit implements door.Engine, in one round trip.
func (e *engine) Commit(ctx context.Context, used facts.ReadSet, w runs.Writes) (nowMs int64, err error) {
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
	queueGuard(batch, &used, &nowMs)
	if len(used.Tokens) > 0 {
		queueGuardTokens(batch, used.Tokens)
	}
	if len(used.SignIns) > 0 {
		queueGuardSignIns(batch, used.SignIns)
	}
	before := make(map[string]*model.Session, len(used.Sessions))
	for _, session := range used.Sessions {
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

// queueGuard queues the statements that abort the transaction unless the facts hold.
func queueGuard(batch *pgx.Batch, used *facts.ReadSet, nowMs *int64) {
	scan := func(row pgx.Row) error { return row.Scan(nowMs) }
	if len(used.Sessions) == 1 && len(used.Rules) == 0 && len(used.Exact) == 0 {
		one := used.Sessions[0]
		batch.Queue(sqlGuardOne, one.SessionID, one.Version, used.NowMs, used.WithinMs, used.Incarnation).QueryRow(scan)
		return
	}
	ruleSessions := slices.Sorted(maps.Keys(used.Rules))
	if len(ruleSessions) > 0 {
		batch.Queue(sqlMarkRuleReader)
	}
	ruleVersions := make([]int64, len(ruleSessions))
	for i, sessionID := range ruleSessions {
		ruleVersions[i] = used.Rules[sessionID]
	}
	exactSessions, exactDigests := make([]string, len(used.Exact)), make([]string, len(used.Exact))
	for i, exact := range used.Exact {
		exactSessions[i], exactDigests[i] = exact.SessionID, exact.InputDigest
	}
	batch.Queue(sqlGuard,
		array(used.Sessions, func(s *model.Session) string { return s.SessionID }),
		array(used.Sessions, func(s *model.Session) int64 { return s.Version }),
		used.NowMs, used.WithinMs, ruleSessions, ruleVersions, exactSessions, exactDigests, used.Incarnation,
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

func queueGuardSignIns(batch *pgx.Batch, signIns map[string]string) {
	cookieHashes := slices.Sorted(maps.Keys(signIns))
	tokenIDs := make([]string, len(cookieHashes))
	for i, cookieHash := range cookieHashes {
		tokenIDs[i] = signIns[cookieHash]
	}
	batch.Queue(sqlGuardSignIns, cookieHashes, tokenIDs)
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
