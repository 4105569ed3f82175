package sqlite

import (
	"context"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// applyOwed writes what the decisions of a batch owe, and the mailboxes.
func (b *batch) applyOwed(ctx context.Context, writes *runs.Writes) error {
	for _, effect := range writes.NewEffects {
		if err := b.insertEffect(ctx, effect); err != nil {
			return err
		}
	}
	for _, effect := range writes.UpdatedEffects {
		if err := b.updateEffect(ctx, effect); err != nil {
			return err
		}
	}
	for _, message := range writes.NewMessages {
		if err := b.insertMessage(ctx, message); err != nil {
			return err
		}
	}
	for _, message := range writes.UpdatedMessages {
		if err := b.updateMessage(ctx, message); err != nil {
			return err
		}
	}
	return nil
}

func (b *batch) insertEffect(ctx context.Context, e *model.Effect) error {
	_, err := b.write.exec(ctx, `INSERT INTO effects (`+effectColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		e.SessionID, e.EffectID, e.RunID, string(e.Kind), string(e.State), e.TargetSessionID, string(e.Payload),
		e.CreatedAtMs, orNull(e.DueAtMs), e.Attempts, orNull(e.LastError), orNull(e.FinishedAtMs))
	return err
}

// updateEffect writes how far an effect is. What it does never changes.
func (b *batch) updateEffect(ctx context.Context, e *model.Effect) error {
	return b.updateOne(ctx, "effect "+e.EffectID, `UPDATE effects SET
		state = ?, due_at_ms = ?, attempts = ?, last_error = ?, finished_at_ms = ? WHERE session_id = ? AND effect_id = ?`,
		string(e.State), orNull(e.DueAtMs), e.Attempts, orNull(e.LastError), orNull(e.FinishedAtMs), e.SessionID, e.EffectID)
}

func (b *batch) insertMessage(ctx context.Context, m *model.Message) error {
	_, err := b.write.exec(ctx, `INSERT INTO messages (`+messageColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		m.SessionID, m.MessageID, m.RunID, m.FromSessionID, string(m.State), m.Subject, string(m.Payload),
		m.CreatedAtMs, m.DeliveryAttempts, orNull(m.LeaseExpiresAtMs), orNull(m.LastError), orNull(m.AcknowledgedAtMs))
	return err
}

// updateMessage writes where a message is. What it says never changes. That it was
// acknowledged is named only when it was, for the sake of the index that depends on
// it (see updateRun).
func (b *batch) updateMessage(ctx context.Context, m *model.Message) error {
	query := `UPDATE messages SET state = ?, delivery_attempts = ?, lease_expires_at_ms = ?, last_error = ?`
	args := []any{string(m.State), m.DeliveryAttempts, orNull(m.LeaseExpiresAtMs), orNull(m.LastError)}
	if m.AcknowledgedAtMs != 0 {
		query += `, acknowledged_at_ms = ?`
		args = append(args, m.AcknowledgedAtMs)
	}
	return b.updateOne(ctx, "message "+m.MessageID, query+` WHERE session_id = ? AND message_id = ?`,
		append(args, m.SessionID, m.MessageID)...)
}
