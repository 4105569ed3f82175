package tokens

import (
	"context"

	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/store/columns"
	"github.com/holdpoint/holdpoint/store/read"
)

// The statements of sign-ins, which both engines take.
const (
	readSignIns = `SELECT cookie_hash, token_id, created_at_ms, expires_at_ms FROM sign_ins`

	addSignIn = `
INSERT INTO sign_ins (cookie_hash, token_id, created_at_ms, expires_at_ms) VALUES ($1, $2, $3, $4)`
	dropExpiredSignIns = `
DELETE FROM sign_ins WHERE cookie_hash IN (
	SELECT old.cookie_hash FROM sign_ins AS old WHERE old.expires_at_ms <= CAST($1 AS bigint) ORDER BY old.expires_at_ms LIMIT 1000)`
	dropOldestSignIns = `
DELETE FROM sign_ins WHERE token_id = $1 AND cookie_hash IN (
	SELECT old.cookie_hash FROM sign_ins AS old WHERE old.token_id = $1 ORDER BY old.expires_at_ms DESC LIMIT 1000 OFFSET CAST($2 AS bigint))`
	dropSignInsOfToken = `DELETE FROM sign_ins WHERE token_id = $1`
	renewSignIn        = `UPDATE sign_ins SET expires_at_ms = $2 WHERE cookie_hash = $1 AND expires_at_ms < $2`
	endSignIn          = `DELETE FROM sign_ins WHERE cookie_hash = $1`
)

// SignInsBy returns the statement that reads the sign-ins for which a condition holds.
func SignInsBy(condition string) string { return readSignIns + " WHERE " + condition }

// AddSignIn implements auth.SignIns.
func (k *Keeper) AddSignIn(ctx context.Context, in *auth.SignIn) error {
	_, err := k.write(ctx,
		Write{dropExpiredSignIns, []any{in.CreatedAtMs}},
		Write{dropOldestSignIns, []any{in.TokenID, auth.MaxSignIns - 1}},
		Write{addSignIn, []any{in.CookieHash, in.TokenID, in.CreatedAtMs, in.ExpiresAtMs}})
	return err
}

// SignInsByHash implements auth.SignIns.
func (k *Keeper) SignInsByHash(ctx context.Context, cookieHashes []string) ([]auth.SignedIn, error) {
	reading, cancel := context.WithTimeout(ctx, read.Timeout)
	defer cancel()
	var found []auth.SignedIn
	err := k.db.Ask(reading, read.Query{SQL: k.statements.SignInsByHash, Args: []any{k.db.List(cookieHashes)}, Read: func(rows columns.Rows) error {
		targets := func(in *auth.SignIn) []any {
			return []any{&in.CookieHash, &in.TokenID, &in.CreatedAtMs, &in.ExpiresAtMs}
		}
		return columns.Each(rows, targets, func(in *auth.SignIn) { found = append(found, auth.SignedIn{SignIn: *in}) })
	}})
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
	_, err := k.write(ctx, Write{renewSignIn, []any{cookieHash, expiresAtMs}})
	return err
}

// EndSignIn implements auth.SignIns.
func (k *Keeper) EndSignIn(ctx context.Context, cookieHash string) error {
	_, err := k.write(ctx, Write{endSignIn, []any{cookieHash}})
	return err
}
