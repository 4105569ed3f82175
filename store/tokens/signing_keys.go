package tokens

import (
	"context"

	"github.com/holdpoint/holdpoint/audit/journal"
	"github.com/holdpoint/holdpoint/auth/signing"
	"github.com/holdpoint/holdpoint/store/read"
)

const signingKeys = `SELECT key_id, public_key, created_at_ms FROM signing_keys ORDER BY created_at_ms DESC, key_id DESC LIMIT CAST($1 AS bigint)`

var _ signing.Keeper = (*Keeper)(nil)

// AddSigningKeys implements signing.Keeper.
func (k *Keeper) AddSigningKeys(ctx context.Context, keys []signing.PublicKey, entries []*journal.Entry) error {
	writes := make([]Write, len(keys))
	for i, key := range keys {
		writes[i] = Write{SQL: sqlAddSigningKey, Args: []any{key.KeyID, key.X, key.CreatedAtMs}, Entry: entries[i]}
	}
	_, err := k.write(ctx, writes...)
	return err
}

// SigningKeys implements signing.Keeper.
func (k *Keeper) SigningKeys(ctx context.Context, limit int) ([]signing.PublicKey, error) {
	targets := func(key *signing.PublicKey) []any { return []any{&key.KeyID, &key.X, &key.CreatedAtMs} }
	return read.List(ctx, k.db, targets, signingKeys, limit)
}
