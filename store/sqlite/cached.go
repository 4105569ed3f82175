package sqlite

import (
	"context"
	"fmt"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/store/columns"
	"github.com/holdpoint/holdpoint/store/door"
	"github.com/holdpoint/holdpoint/store/facts"
	"github.com/holdpoint/holdpoint/store/load"
)

var _ door.Clocked = (*engine)(nil)

// NowMs implements [door.Clocked].
func (e *engine) NowMs() int64 { return e.store.nowMs() }

// Commit implements [door.Engine].
func (e *engine) Commit(ctx context.Context, used facts.ReadSet, writes runs.Writes) (nowMs int64, err error) {
	b, err := e.begin(ctx)
	if err != nil {
		return 0, err
	}
	ctx = context.WithoutCancel(ctx)
	defer b.Rollback(ctx)
	b.nowMs = e.store.nowMs()
	if err := e.check(ctx, b, &used); err != nil {
		return 0, failed("check", err)
	}
	before := make(map[string]*model.Session, len(used.Sessions))
	for _, session := range used.Sessions {
		before[session.SessionID] = session
	}
	return b.nowMs, b.commit(ctx, &writes, load.Amended(before, writes.UpdatedSessions))
}

// check returns an error that wraps [facts.ErrStale] unless the facts hold.
func (e *engine) check(ctx context.Context, b *batch, used *facts.ReadSet) error {
	changed, err := e.changedByOthers(ctx, b.write)
	if err != nil {
		return err
	}
	if changed {
		return facts.ErrStaleDatabase
	}
	if off := b.nowMs - used.NowMs; max(off, -off) > used.WithinMs {
		return facts.ErrStaleClock
	}
	return checkRows(ctx, b.write, used)
}

// checkRows is the part of check that asks for rows.
func checkRows(ctx context.Context, c *connection, used *facts.ReadSet) error {
	for _, session := range used.Sessions {
		version, there, err := number(ctx, c, sqlSessionVersion, session.SessionID)
		if err != nil {
			return err
		}
		if !there || version != session.Version {
			return facts.ErrStale
		}
	}
	for sessionID, expected := range used.Rules {
		version, _, err := number(ctx, c, sqlRuleVersion, sessionID)
		if err != nil {
			return err
		}
		if version != expected {
			return facts.ErrStaleRules
		}
	}
	// unless returns stale unless a query has a row, or unless it has none.
	unless := func(wanted bool, stale error, sql string, args ...any) error {
		_, there, err := number(ctx, c, sql, args...)
		if err == nil && there != wanted {
			err = stale
		}
		return err
	}
	for _, exact := range used.Exact {
		if err := unless(false, facts.ErrStaleRules, sqlExactRule, exact.SessionID, exact.InputDigest, used.NowMs); err != nil {
			return err
		}
	}
	for _, token := range used.Tokens {
		if err := unless(true, facts.ErrStaleTokens, sqlSameToken,
			token.TokenID, token.SecretHash, token.PreviousHash, token.PreviousUntilMs, token.ExpiresAtMs); err != nil {
			return err
		}
	}
	for cookieHash, tokenID := range used.SignIns {
		if err := unless(true, facts.ErrStaleTokens, sqlSignedIn, cookieHash, tokenID); err != nil {
			return err
		}
	}
	return nil
}

// changedByOthers reports whether another connection has changed the database since the last
// call: a person with a shell, because no service does. Unlike Postgres, there are no triggers
// that would give the session a new version.
func (e *engine) changedByOthers(ctx context.Context, write *connection) (bool, error) {
	version, _, err := number(ctx, write, sqlDataVersion)
	if err != nil {
		return false, fmt.Errorf("version of the data: %w", err)
	}
	changed := e.dataVersion != 0 && e.dataVersion != version
	e.dataVersion = version
	return changed, nil
}

// number returns the number that a query has, if it has a row.
func number(ctx context.Context, c *connection, sql string, args ...any) (found int64, there bool, err error) {
	err = c.query(ctx, sql, args, func(rows columns.Rows) error {
		return columns.Each(rows, columns.Itself[int64], func(n *int64) { found, there = *n, true })
	})
	return found, there, err
}
