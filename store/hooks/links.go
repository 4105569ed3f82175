package hooks

import (
	"context"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/audit/journal"
	"github.com/holdpoint/holdpoint/notify"
	"github.com/holdpoint/holdpoint/store/read"
	"github.com/holdpoint/holdpoint/store/tokens"
)

// selectLink finds no link whose address was removed or belongs to somebody else.
const selectLink = `
SELECT l.token_hash, l.principal, l.address_id, l.channel, l.session_id, l.request_handle, l.code_hash, l.tries, l.created_at_ms, l.expires_at_ms
FROM links AS l JOIN addresses AS a ON a.address_id = l.address_id AND a.principal = l.principal AND a.verified_at_ms > 0
WHERE l.token_hash = $1`

// AddLink implements notify.LinkStore.
func (k *Endpoints) AddLink(ctx context.Context, l *notify.LinkRow) error {
	_, err := k.writeAll(ctx,
		tokens.Write{SQL: sqlDropLinks, Args: []any{l.CreatedAtMs}},
		tokens.Write{SQL: sqlAddLink, Args: []any{
			l.TokenHash, l.Principal, l.AddressID, l.Channel, l.SessionID, l.RequestHandle, l.CodeHash, l.CreatedAtMs, l.ExpiresAtMs,
		}})
	return err
}

// LinkByHash implements notify.LinkStore.
func (k *Endpoints) LinkByHash(ctx context.Context, tokenHash string) (*notify.LinkRow, error) {
	targets := func(l *notify.LinkRow) []any {
		return []any{
			&l.TokenHash, &l.Principal, &l.AddressID, &l.Channel, &l.SessionID, &l.RequestHandle, &l.CodeHash, &l.Tries, &l.CreatedAtMs, &l.ExpiresAtMs,
		}
	}
	return read.Find(ctx, k.db, targets, selectLink, tokenHash)
}

// TryLink implements notify.LinkStore.
func (k *Endpoints) TryLink(ctx context.Context, principal, tokenHash string, count, nowMs int64, entry *journal.Entry) (bool, error) {
	args := []any{tokenHash, count, int64(api.LinkCodeTries), nowMs, int64(api.LinkCodeTriesOfPerson)}
	return k.writeAll(ctx,
		tokens.Write{SQL: sqlLockSubject, Args: []any{notify.SubjectOfPerson(principal), nowMs}},
		tokens.Write{SQL: sqlLockLink, Entry: entry, Args: args},
		tokens.Write{SQL: sqlTryLink, Args: args})
}

// NoteLink implements notify.LinkStore.
func (k *Endpoints) NoteLink(ctx context.Context, tokenHash string, nowMs int64, entry *journal.Entry) error {
	_, err := k.write(ctx, entry, sqlNoteLink, tokenHash, nowMs)
	return err
}
