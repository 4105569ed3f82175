package hooks

import (
	"context"

	"github.com/holdpoint/holdpoint/notify"
	"github.com/holdpoint/holdpoint/store/columns"
	"github.com/holdpoint/holdpoint/store/read"
	"github.com/holdpoint/holdpoint/store/tokens"
)

const selectSent = `
SELECT m.request_handle, m.channel, m.principal, m.message_id, m.reference, m.begun_at_ms, m.sent_at_ms
FROM sent_messages AS m
WHERE m.request_handle = $1 AND m.channel = $2
ORDER BY m.principal`

// SentMessages implements notify.SentStore.
func (k *Endpoints) SentMessages(ctx context.Context, handle, channel string) (sent []notify.SentMessage, err error) {
	ctx, cancel := context.WithTimeout(ctx, read.Timeout)
	defer cancel()
	err = k.db.Ask(ctx, read.Query{SQL: selectSent, Args: []any{handle, channel}, Read: func(rows columns.Rows) error {
		targets := func(m *notify.SentMessage) []any {
			return []any{&m.RequestHandle, &m.Channel, &m.Principal, &m.MessageID, &m.Reference, &m.BegunAtMs, &m.SentAtMs}
		}
		return columns.Each(rows, targets, func(m *notify.SentMessage) { sent = append(sent, *m) })
	}})
	return sent, err
}

// PutSentMessage implements notify.SentStore.
func (k *Endpoints) PutSentMessage(ctx context.Context, m, before *notify.SentMessage) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, read.Timeout)
	defer cancel()
	put := tokens.Write{SQL: sqlAddSent, Args: []any{m.RequestHandle, m.Channel, m.Principal, m.MessageID, m.Reference, m.BegunAtMs, m.SentAtMs}}
	if before != nil {
		put = tokens.Write{SQL: sqlReplaceSent, Args: append(put.Args, before.MessageID, before.BegunAtMs)}
	}
	changed, err := k.writer.WriteTokens(ctx, tokens.Write{SQL: sqlDropSent, Args: []any{m.BegunAtMs - notify.KeepSentMs}}, put)
	return changed > 0, err
}

// RemoveSentMessage implements notify.SentStore.
func (k *Endpoints) RemoveSentMessage(ctx context.Context, m *notify.SentMessage) error {
	_, err := k.write(ctx, nil, sqlRemoveSent, m.RequestHandle, m.Channel, m.Principal, m.MessageID)
	return err
}
