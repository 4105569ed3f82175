package tokens

import (
	"context"

	"github.com/holdpoint/holdpoint/audit/journal"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/store/read"
)

// readSignIns is without its condition.
const readSignIns = `SELECT cookie_hash, token_id, created_at_ms, expires_at_ms FROM sign_ins`

// SignInsBy returns the statement that reads the sign-ins that meet a condition.
func SignInsBy(condition string) string { return readSignIns + " WHERE " + condition }

// AddSignIn implements auth.SignIns.
func (k *Keeper) AddSignIn(ctx context.Context, in *auth.SignIn, secretHash string, entry *journal.Entry) error {
	added, err := k.write(ctx,
		Write{SQL: sqlLockToken, Args: []any{in.TokenID}},
		Write{SQL: sqlDropExpiredSignIns, Args: []any{in.CreatedAtMs}},
		Write{SQL: sqlDropOldestSignIns, Args: []any{in.TokenID, auth.MaxSignIns - 1}},
		Write{SQL: sqlAddSignIn, Args: []any{in.CookieHash, in.TokenID, in.CreatedAtMs, in.ExpiresAtMs, secretHash}, Entry: entry})
	if err == nil && added == 0 {
		err = auth.Invalid()
	}
	return err
}

// SignInsByHash implements auth.SignIns.
func (k *Keeper) SignInsByHash(ctx context.Context, cookieHashes []string) ([]auth.SignedIn, error) {
	targets := func(in *auth.SignedIn) []any {
		return []any{&in.CookieHash, &in.TokenID, &in.CreatedAtMs, &in.ExpiresAtMs}
	}
	found, err := read.List(ctx, k.db, targets, k.statements.SignInsByHash, k.db.List(cookieHashes))
	if err != nil || len(found) == 0 {
		return nil, err
	}
	tokenIDs := make([]string, len(found))
	for i := range found {
		tokenIDs[i] = found[i].TokenID
	}
	tokens, err := k.TokensByID(ctx, tokenIDs)
	if err != nil {
		return nil, err
	}
	byID := map[string]*auth.Token{}
	for i := range tokens {
		byID[tokens[i].TokenID] = &tokens[i]
	}
	signedIn := found[:0]
	for _, one := range found {
		if token := byID[one.TokenID]; token != nil {
			one.Token = *token
			signedIn = append(signedIn, one)
		}
	}
	return signedIn, nil
}

// RenewSignIn implements auth.SignIns.
func (k *Keeper) RenewSignIn(ctx context.Context, cookieHash string, expiresAtMs int64) error {
	_, err := k.write(ctx, Write{SQL: sqlRenewSignIn, Args: []any{cookieHash, expiresAtMs}})
	return err
}

// EndSignIn implements auth.SignIns.
func (k *Keeper) EndSignIn(ctx context.Context, cookieHash string, entry *journal.Entry) error {
	_, err := k.write(ctx, Write{SQL: sqlEndSignIn, Args: []any{cookieHash}, Entry: entry})
	return err
}
