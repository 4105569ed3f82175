package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdpoint/holdpoint/store/tokens"
)

var tokenStatements = tokens.Statements{
	Insert: sqlAddToken, Rotate: sqlRotateToken, Revoke: sqlRevokeToken, Touch: sqlTouchToken, LockRevoke: sqlLockRevokeToken,
	ByIDs:     tokens.ByIDs("token_id = ANY($1::text[])"),
	AddSignIn: sqlAddSignIn, RenewSignIn: sqlRenewSignIn, EndSignIn: sqlEndSignIn,
	DropExpiredSignIns: sqlDropExpiredSignIns, DropOldestSignIns: sqlDropOldestSignIns, DropSignInsOfToken: sqlDropSignInsOfToken,
	AddTicket: sqlAddTicket, SpendTicket: sqlSpendTicket, DropExpiredTickets: sqlDropExpiredTickets, DropOldestTickets: sqlDropOldestTickets,
	AddSigningKey: sqlAddSigningKey, AddCheckpoint: sqlAddCheckpoint,
	HeadsByID:     tokens.HeadsBy("session_id = ANY($1::text[])"),
	SignInsByHash: tokens.SignInsBy("cookie_hash = ANY($1::text[])"),
}

// WriteTokens implements [tokens.Writer], in one round trip.
func (s *Store) WriteTokens(ctx context.Context, writes ...tokens.Write) (changed int64, err error) {
	batch := &pgx.Batch{}
	batch.Queue(sqlBegin)
	for _, w := range writes {
		batch.Queue(w.SQL, w.Args...).Exec(func(tag pgconn.CommandTag) error {
			changed = tag.RowsAffected()
			return nil
		})
	}
	batch.Queue(sqlCommit)
	err = s.reads.SendBatch(ctx, batch).Close()
	return changed, readFailure(ctx, err)
}
