package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/store/tokens"
)

var tokenStatements = tokens.Statements{
	LockRevoke:    sqlLockRevokeToken,
	ByIDs:         tokens.ByIDs("token_id = ANY($1::text[])"),
	LockSeal:      sqlLockSeal,
	HeadsByID:     tokens.HeadsBy("session_id = ANY($1::text[])"),
	SignInsByHash: tokens.SignInsBy("cookie_hash = ANY($1::text[])"),
}

// WriteTokens implements [tokens.Writer]. It takes one round trip, unless a caller has to be checked.
func (s *Store) WriteTokens(ctx context.Context, writes ...tokens.Write) (changed int64, err error) {
	writes = tokens.Guarded(writes)
	if slices.ContainsFunc(writes, func(w tokens.Write) bool { return w.Needed }) {
		err = pgx.BeginTxFunc(ctx, s.reads, changing, func(tx pgx.Tx) (err error) {
			changed, err = writeForCaller(ctx, tx, writes)
			return err
		})
		return changed, readFailure(ctx, err)
	}
	batch := &pgx.Batch{}
	batch.Queue(sqlBegin)
	for _, w := range writes {
		sql, args := w.SQL, w.Args
		if w.Entry != nil {
			sql, args = withEntry(w)
		}
		batch.Queue(sql, args...).Exec(func(tag pgconn.CommandTag) error {
			changed = tag.RowsAffected()
			return nil
		})
	}
	batch.Queue(sqlCommit)
	err = s.reads.SendBatch(ctx, batch).Close()
	return changed, readFailure(ctx, err)
}

// writeForCaller runs statements one after the other, because a caller who is refused ends them.
func writeForCaller(ctx context.Context, tx pgx.Tx, writes []tokens.Write) (changed int64, err error) {
	for _, w := range writes {
		sql, args := w.SQL, w.Args
		if w.Entry != nil {
			sql, args = withEntry(w)
		}
		tag, err := tx.Exec(ctx, sql, args...)
		if err != nil {
			return 0, err
		}
		if changed = tag.RowsAffected(); w.Needed && changed == 0 {
			return 0, auth.Invalid()
		}
	}
	return changed, nil
}

// withEntry returns a statement that also writes a line of the audit's own log if it changes a
// row.
func withEntry(w tokens.Write) (sql string, args []any) {
	n := len(w.Args)
	insert, _, _ := strings.Cut(tokens.AddEntry, "VALUES")
	sql = fmt.Sprintf("WITH changed AS (%s\nRETURNING 1)\n%sSELECT $%d::bigint, $%d::text, $%d::text, $%d::text, $%d::text\nWHERE EXISTS (SELECT 1 FROM changed)",
		w.SQL, insert, n+1, n+2, n+3, n+4, n+5)
	return sql, append(slices.Clip(w.Args), tokens.EntryArgs(w.Entry)...)
}
