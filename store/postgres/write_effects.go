package postgres

import "github.com/holdpoint/holdpoint/runs/model"

const sqlInsertEffects = `
INSERT INTO effects (
	created_at_ms, due_at_ms, attempts, finished_at_ms, session_id, effect_id, run_id, kind,
	state, target_session_id, last_error, payload)
SELECT
	($1::bigint[])[u.i], nullif(($2::bigint[])[u.i], 0), ($3::bigint[])[u.i],
	nullif(($4::bigint[])[u.i], 0), ($5::text[])[u.i], ($6::text[])[u.i], ($7::text[])[u.i],
	($8::text[])[u.i], ($9::text[])[u.i], ($10::text[])[u.i],
	nullif(($11::text[])[u.i], ''), ($12::text[])[u.i]
FROM generate_subscripts($5::text[], 1) AS u (i)`

func insertEffectsArguments(rows []*model.Effect) []any {
	return []any{
		integers(rows, func(f *model.Effect) int64 { return f.CreatedAtMs }),
		integers(rows, func(f *model.Effect) int64 { return f.DueAtMs }),
		integers(rows, func(f *model.Effect) int64 { return f.Attempts }),
		integers(rows, func(f *model.Effect) int64 { return f.FinishedAtMs }),
		texts(rows, func(f *model.Effect) string { return f.SessionID }),
		texts(rows, func(f *model.Effect) string { return f.EffectID }),
		texts(rows, func(f *model.Effect) string { return f.RunID }),
		texts(rows, func(f *model.Effect) string { return string(f.Kind) }),
		texts(rows, func(f *model.Effect) string { return string(f.State) }),
		texts(rows, func(f *model.Effect) string { return f.TargetSessionID }),
		texts(rows, func(f *model.Effect) string { return f.LastError }),
		texts(rows, func(f *model.Effect) string { return string(f.Payload) }),
	}
}

// sqlUpdateEffects leaves alone what an effect does, which never changes.
const sqlUpdateEffects = `
UPDATE effects AS f SET
	due_at_ms = nullif(($3::bigint[])[u.i], 0),
	attempts = ($4::bigint[])[u.i],
	finished_at_ms = nullif(($5::bigint[])[u.i], 0),
	state = ($6::text[])[u.i],
	last_error = nullif(($7::text[])[u.i], '')
FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS u (session_id, effect_id, i)
WHERE f.session_id = u.session_id AND f.effect_id = u.effect_id`

func updateEffectsArguments(rows []*model.Effect) []any {
	return []any{
		texts(rows, func(f *model.Effect) string { return f.SessionID }),
		texts(rows, func(f *model.Effect) string { return f.EffectID }),
		integers(rows, func(f *model.Effect) int64 { return f.DueAtMs }),
		integers(rows, func(f *model.Effect) int64 { return f.Attempts }),
		integers(rows, func(f *model.Effect) int64 { return f.FinishedAtMs }),
		texts(rows, func(f *model.Effect) string { return string(f.State) }),
		texts(rows, func(f *model.Effect) string { return f.LastError }),
	}
}

const sqlInsertMessages = `
INSERT INTO messages (
	created_at_ms, delivery_attempts, lease_expires_at_ms, acknowledged_at_ms, session_id,
	message_id, run_id, from_session_id, state, subject, last_error, payload)
SELECT
	($1::bigint[])[u.i], ($2::bigint[])[u.i], nullif(($3::bigint[])[u.i], 0),
	nullif(($4::bigint[])[u.i], 0), ($5::text[])[u.i], ($6::text[])[u.i], ($7::text[])[u.i],
	($8::text[])[u.i], ($9::text[])[u.i], ($10::text[])[u.i],
	nullif(($11::text[])[u.i], ''), ($12::text[])[u.i]
FROM generate_subscripts($5::text[], 1) AS u (i)`

func insertMessagesArguments(rows []*model.Message) []any {
	return []any{
		integers(rows, func(m *model.Message) int64 { return m.CreatedAtMs }),
		integers(rows, func(m *model.Message) int64 { return m.DeliveryAttempts }),
		integers(rows, func(m *model.Message) int64 { return m.LeaseExpiresAtMs }),
		integers(rows, func(m *model.Message) int64 { return m.AcknowledgedAtMs }),
		texts(rows, func(m *model.Message) string { return m.SessionID }),
		texts(rows, func(m *model.Message) string { return m.MessageID }),
		texts(rows, func(m *model.Message) string { return m.RunID }),
		texts(rows, func(m *model.Message) string { return m.FromSessionID }),
		texts(rows, func(m *model.Message) string { return string(m.State) }),
		texts(rows, func(m *model.Message) string { return m.Subject }),
		texts(rows, func(m *model.Message) string { return m.LastError }),
		texts(rows, func(m *model.Message) string { return string(m.Payload) }),
	}
}

// sqlUpdateMessages leaves alone what a message says, which never changes.
const sqlUpdateMessages = `
UPDATE messages AS m SET
	delivery_attempts = ($3::bigint[])[u.i],
	lease_expires_at_ms = nullif(($4::bigint[])[u.i], 0),
	acknowledged_at_ms = nullif(($5::bigint[])[u.i], 0),
	state = ($6::text[])[u.i],
	last_error = nullif(($7::text[])[u.i], '')
FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS u (session_id, message_id, i)
WHERE m.session_id = u.session_id AND m.message_id = u.message_id`

func updateMessagesArguments(rows []*model.Message) []any {
	return []any{
		texts(rows, func(m *model.Message) string { return m.SessionID }),
		texts(rows, func(m *model.Message) string { return m.MessageID }),
		integers(rows, func(m *model.Message) int64 { return m.DeliveryAttempts }),
		integers(rows, func(m *model.Message) int64 { return m.LeaseExpiresAtMs }),
		integers(rows, func(m *model.Message) int64 { return m.AcknowledgedAtMs }),
		texts(rows, func(m *model.Message) string { return string(m.State) }),
		texts(rows, func(m *model.Message) string { return m.LastError }),
	}
}
