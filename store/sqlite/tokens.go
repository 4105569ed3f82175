package sqlite

import (
	"context"

	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/store/retain"
	"github.com/holdpoint/holdpoint/store/tokens"
)

var tokenStatements = tokens.Statements{
	ByIDs:         tokens.ByIDs("token_id IN (SELECT value FROM json_each($1))"),
	HeadsByID:     tokens.HeadsBy("session_id IN (SELECT value FROM json_each($1))"),
	SignInsByHash: tokens.SignInsBy("cookie_hash IN (SELECT value FROM json_each($1))"),
}

// WriteTokens implements [tokens.Writer]. It waits for its turn at the write connection.
func (s *Store) WriteTokens(ctx context.Context, writes ...tokens.Write) (changed int64, err error) {
	err = s.alone(ctx, "write tokens", func(ctx context.Context, tx retain.Transaction) (err error) {
		for _, w := range tokens.Guarded(writes) {
			if changed, err = tx.Write(ctx, w.SQL, w.Args...); err != nil {
				return err
			}
			if w.Needed && changed == 0 {
				return auth.Invalid()
			}
			if w.Entry == nil || changed == 0 {
				continue
			}
			if _, err = tx.Write(ctx, tokens.AddEntry, tokens.EntryArgs(w.Entry)...); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return changed, nil
}
