package sqlite

import (
	"context"

	"github.com/holdpoint/holdpoint/store/tokens"
)

var tokenStatements = tokens.Statements{
	ByIDs:         tokens.ByIDs("token_id IN (SELECT value FROM json_each($1))"),
	HeadsByID:     tokens.HeadsBy("session_id IN (SELECT value FROM json_each($1))"),
	SignInsByHash: tokens.SignInsBy("cookie_hash IN (SELECT value FROM json_each($1))"),
}

// WriteTokens implements [tokens.Writer]. It waits for its turn at the write connection.
func (s *Store) WriteTokens(ctx context.Context, writes ...tokens.Write) (changed int64, err error) {
	write, err := s.writers.acquire(ctx)
	if err != nil {
		return 0, readFailed(ctx, err)
	}
	defer s.writers.release(write)
	ctx = context.WithoutCancel(ctx)
	if _, err := write.exec(ctx, sqlBegin); err != nil {
		return 0, failed("begin", err)
	}
	for _, w := range writes {
		if changed, err = write.exec(ctx, w.SQL, w.Args...); err != nil {
			// SQLite may have rolled back already, and then there is nothing to do.
			_, _ = write.exec(ctx, sqlRollback)
			return 0, failed("write tokens", err)
		}
		if w.Entry == nil || changed == 0 {
			continue
		}
		if _, err := write.exec(ctx, tokens.AddEntry, tokens.EntryArgs(w.Entry)...); err != nil {
			_, _ = write.exec(ctx, sqlRollback) // as above
			return 0, failed("write the audit's log", err)
		}
	}
	if _, err := write.exec(ctx, sqlCommit); err != nil {
		_, _ = write.exec(ctx, sqlRollback) // as above
		return 0, failed("commit", err)
	}
	return changed, nil
}
