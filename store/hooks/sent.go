package hooks

import (
	"context"

	"github.com/holdpoint/holdpoint/notify"
	"github.com/holdpoint/holdpoint/store/read"
	"github.com/holdpoint/holdpoint/store/tokens"
)

const selectSent = `
SELECT m.request_handle, m.channel, m.principal, m.message_id, m.reference, m.begun_at_ms, m.sent_at_ms
FROM sent_messages AS m
WHERE m.request_handle = $1 AND m.channel = $2
ORDER BY m.principal`

// SentMessages implements notify.SentStore.
func (k *Endpoints) SentMessages(ctx context.Context, handle, channel string) ([]notify.SentMessage, error) {
	targets := func(m *notify.SentMessage) []any {
		return []any{&m.RequestHandle, &m.Channel, &m.Principal, &m.MessageID, &m.Reference, &m.BegunAtMs, &m.SentAtMs}
	}
	return read.List(ctx, k.db, targets, selectSent, handle, channel)
}

// selectTold reads what is open of a session, of what a person had a message about. The latest deadline is 0 if one of the
// requests has none.
const selectTold = `
SELECT count(*), coalesce(min(q.handle), ''), CASE WHEN count(q.due_at_ms) < count(*) THEN 0 ELSE coalesce(max(q.due_at_ms), 0) END
FROM requests AS q
JOIN sent_messages AS m ON m.request_handle = q.handle AND m.channel = $2 AND m.principal = $3
WHERE q.kind IN ('approval', 'question') AND q.session_id = $1 AND q.settled_number IS NULL AND q.outcome IS NULL`

// Told implements notify.SentStore.
func (k *Endpoints) Told(ctx context.Context, sessionID, channel, principal string) (notify.Told, error) {
	targets := func(t *notify.Told) []any { return []any{&t.Open, &t.Handle, &t.UntilMs} }
	all, err := read.List(ctx, k.db, targets, selectTold, sessionID, channel, principal)
	if err != nil {
		return notify.Told{}, err
	}
	return all[0], nil
}

// PutSentMessage implements notify.SentStore.
func (k *Endpoints) PutSentMessage(ctx context.Context, m, before *notify.SentMessage) (bool, error) {
	put := tokens.Write{SQL: sqlAddSent, Args: []any{m.RequestHandle, m.Channel, m.Principal, m.MessageID, m.Reference, m.BegunAtMs, m.SentAtMs}}
	if before != nil {
		put = tokens.Write{SQL: sqlReplaceSent, Args: append(put.Args, before.MessageID, before.BegunAtMs)}
	}
	return k.writeAll(ctx, dropSent(m), put)
}

// dropSent deletes some messages that are forgotten when a newer one begins.
func dropSent(newer *notify.SentMessage) tokens.Write {
	return tokens.Write{SQL: sqlDropSent, Args: []any{newer.BegunAtMs - notify.KeepSentMs}}
}

// RemoveSentMessage implements notify.SentStore.
func (k *Endpoints) RemoveSentMessage(ctx context.Context, m *notify.SentMessage) error {
	_, err := k.write(ctx, nil, sqlRemoveSent, m.RequestHandle, m.Channel, m.Principal, m.MessageID)
	return err
}
