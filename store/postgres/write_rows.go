package postgres

import "github.com/holdpoint/holdpoint/runs/model"

const sqlInsertSessions = `
INSERT INTO sessions (
	queued_count, last_event_id, ended_at_ms, created_at_ms, updated_at_ms, session_id,
	agent_id, parent_session_id, active_run_id, metadata)
SELECT
	($1::bigint[])[u.i], ($2::bigint[])[u.i], nullif(($3::bigint[])[u.i], 0),
	($4::bigint[])[u.i], ($5::bigint[])[u.i], ($6::text[])[u.i], ($7::text[])[u.i],
	nullif(($8::text[])[u.i], ''), nullif(($9::text[])[u.i], ''),
	nullif(($10::text[])[u.i], '')
FROM generate_subscripts($6::text[], 1) AS u (i)`

func insertSessionsArguments(rows []*model.Session) []any {
	return []any{
		integers(rows, func(s *model.Session) int64 { return s.QueuedCount }),
		integers(rows, func(s *model.Session) int64 { return s.LastEventID }),
		integers(rows, func(s *model.Session) int64 { return s.EndedAtMs }),
		integers(rows, func(s *model.Session) int64 { return s.CreatedAtMs }),
		integers(rows, func(s *model.Session) int64 { return s.UpdatedAtMs }),
		texts(rows, func(s *model.Session) string { return s.SessionID }),
		texts(rows, func(s *model.Session) string { return s.AgentID }),
		texts(rows, func(s *model.Session) string { return s.ParentSessionID }),
		texts(rows, func(s *model.Session) string { return s.ActiveRunID }),
		texts(rows, func(s *model.Session) string { return string(s.Metadata) }),
	}
}

const sqlUpdateSessions = `
UPDATE sessions AS s SET
	queued_count = ($2::bigint[])[u.i],
	last_event_id = ($3::bigint[])[u.i],
	ended_at_ms = nullif(($4::bigint[])[u.i], 0),
	updated_at_ms = ($5::bigint[])[u.i],
	active_run_id = nullif(($6::text[])[u.i], '')
FROM unnest($1::text[]) WITH ORDINALITY AS u (session_id, i)
WHERE s.session_id = u.session_id`

func updateSessionsArguments(rows []*model.Session) []any {
	return []any{
		texts(rows, func(s *model.Session) string { return s.SessionID }),
		integers(rows, func(s *model.Session) int64 { return s.QueuedCount }),
		integers(rows, func(s *model.Session) int64 { return s.LastEventID }),
		integers(rows, func(s *model.Session) int64 { return s.EndedAtMs }),
		integers(rows, func(s *model.Session) int64 { return s.UpdatedAtMs }),
		texts(rows, func(s *model.Session) string { return s.ActiveRunID }),
	}
}

// sqlAmendSessions writes metadata, which sqlUpdateSessions leaves where it is stored:
// it may be large and seldom changes.
const sqlAmendSessions = `
UPDATE sessions AS s SET metadata = nullif(($2::text[])[u.i], '')
FROM unnest($1::text[]) WITH ORDINALITY AS u (session_id, i)
WHERE s.session_id = u.session_id`

func amendSessionsArguments(rows []*model.Session) []any {
	return []any{
		texts(rows, func(s *model.Session) string { return s.SessionID }),
		texts(rows, func(s *model.Session) string { return string(s.Metadata) }),
	}
}

const sqlInsertRequests = `
INSERT INTO requests (
	number, due_at_ms, created_at_ms, settled_number, settled_at_ms, session_id, run_id,
	request_id, kind, outcome, handle, suspension_id, suspension_digest, resolution, body,
	rule_id, partial_answers)
SELECT
	($1::bigint[])[u.i], nullif(($2::bigint[])[u.i], 0), ($3::bigint[])[u.i],
	nullif(($4::bigint[])[u.i], 0), nullif(($5::bigint[])[u.i], 0), ($6::text[])[u.i],
	($7::text[])[u.i], ($8::text[])[u.i], ($9::text[])[u.i], nullif(($10::text[])[u.i], ''),
	($11::text[])[u.i], ($12::text[])[u.i], ($13::text[])[u.i],
	nullif(($14::text[])[u.i], ''), ($15::text[])[u.i], nullif(($16::text[])[u.i], ''),
	nullif(($17::text[])[u.i], '')
FROM generate_subscripts($6::text[], 1) AS u (i)`

func insertRequestsArguments(rows []*model.Request) []any {
	return []any{
		integers(rows, func(q *model.Request) int64 { return q.Number }),
		integers(rows, func(q *model.Request) int64 { return q.DueAtMs }),
		integers(rows, func(q *model.Request) int64 { return q.CreatedAtMs }),
		integers(rows, func(q *model.Request) int64 { return q.SettledNumber }),
		integers(rows, func(q *model.Request) int64 { return q.SettledAtMs }),
		texts(rows, func(q *model.Request) string { return q.SessionID }),
		texts(rows, func(q *model.Request) string { return q.RunID }),
		texts(rows, func(q *model.Request) string { return q.RequestID }),
		texts(rows, func(q *model.Request) string { return string(q.Kind) }),
		texts(rows, func(q *model.Request) string { return string(q.Outcome) }),
		texts(rows, func(q *model.Request) string { return q.Handle }),
		texts(rows, func(q *model.Request) string { return q.SuspensionID }),
		texts(rows, func(q *model.Request) string { return q.SuspensionDigest }),
		texts(rows, func(q *model.Request) string { return string(q.Resolution) }),
		texts(rows, func(q *model.Request) string { return string(q.Body) }),
		texts(rows, func(q *model.Request) string { return q.RuleID }),
		texts(rows, func(q *model.Request) string { return string(q.PartialAnswers) }),
	}
}

// sqlSettleRequests also writes requests that stay open and have a part of their
// answers: then it changes no indexed column.
const sqlSettleRequests = `
UPDATE requests AS q SET
	due_at_ms = nullif(($4::bigint[])[u.i], 0),
	settled_number = nullif(($5::bigint[])[u.i], 0),
	settled_at_ms = nullif(($6::bigint[])[u.i], 0),
	outcome = nullif(($7::text[])[u.i], ''),
	resolution = nullif(($8::text[])[u.i], ''),
	rule_id = nullif(($9::text[])[u.i], ''),
	partial_answers = nullif(($10::text[])[u.i], '')
FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS u (session_id, run_id, request_id, i)
WHERE q.session_id = u.session_id AND q.run_id = u.run_id AND q.request_id = u.request_id`

func settleRequestsArguments(rows []*model.Request) []any {
	return []any{
		texts(rows, func(q *model.Request) string { return q.SessionID }),
		texts(rows, func(q *model.Request) string { return q.RunID }),
		texts(rows, func(q *model.Request) string { return q.RequestID }),
		integers(rows, func(q *model.Request) int64 { return q.DueAtMs }),
		integers(rows, func(q *model.Request) int64 { return q.SettledNumber }),
		integers(rows, func(q *model.Request) int64 { return q.SettledAtMs }),
		texts(rows, func(q *model.Request) string { return string(q.Outcome) }),
		texts(rows, func(q *model.Request) string { return string(q.Resolution) }),
		texts(rows, func(q *model.Request) string { return q.RuleID }),
		texts(rows, func(q *model.Request) string { return string(q.PartialAnswers) }),
	}
}

const sqlInsertEvents = `
INSERT INTO events (
	event_id, timestamp_ms, session_id, run_id, agent_id, type, body)
SELECT
	($1::bigint[])[u.i], ($2::bigint[])[u.i], ($3::text[])[u.i], ($4::text[])[u.i],
	($5::text[])[u.i], ($6::text[])[u.i], ($7::text[])[u.i]
FROM generate_subscripts($3::text[], 1) AS u (i)`

func insertEventsArguments(rows []*model.Event) []any {
	return []any{
		integers(rows, func(e *model.Event) int64 { return e.EventID }),
		integers(rows, func(e *model.Event) int64 { return e.TimestampMs }),
		texts(rows, func(e *model.Event) string { return e.SessionID }),
		texts(rows, func(e *model.Event) string { return e.RunID }),
		texts(rows, func(e *model.Event) string { return e.AgentID }),
		texts(rows, func(e *model.Event) string { return string(e.Type) }),
		texts(rows, func(e *model.Event) string { return string(e.Body) }),
	}
}

const sqlInsertRecords = `
INSERT INTO idempotency_records (
	created_at_ms, scope, operation, idempotency_key, fingerprint, session_id, run_id)
SELECT
	($1::bigint[])[u.i], ($2::text[])[u.i], ($3::text[])[u.i], ($4::text[])[u.i],
	($5::text[])[u.i], ($6::text[])[u.i], ($7::text[])[u.i]
FROM generate_subscripts($6::text[], 1) AS u (i)`

func insertRecordsArguments(rows []*model.IdempotencyRecord) []any {
	return []any{
		integers(rows, func(r *model.IdempotencyRecord) int64 { return r.CreatedAtMs }),
		texts(rows, func(r *model.IdempotencyRecord) string { return r.Scope }),
		texts(rows, func(r *model.IdempotencyRecord) string { return string(r.Operation) }),
		texts(rows, func(r *model.IdempotencyRecord) string { return r.IdempotencyKey }),
		texts(rows, func(r *model.IdempotencyRecord) string { return r.Fingerprint }),
		texts(rows, func(r *model.IdempotencyRecord) string { return r.SessionID }),
		texts(rows, func(r *model.IdempotencyRecord) string { return r.RunID }),
	}
}

// integers, texts and booleans are the columns of rows as arrays.
func integers[R any](rows []*R, of func(*R) int64) []int64 {
	column := make([]int64, len(rows))
	for i, row := range rows {
		column[i] = of(row)
	}
	return column
}

func texts[R any](rows []*R, of func(*R) string) []string {
	column := make([]string, len(rows))
	for i, row := range rows {
		column[i] = of(row)
	}
	return column
}

func booleans[R any](rows []*R, of func(*R) bool) []bool {
	column := make([]bool, len(rows))
	for i, row := range rows {
		column[i] = of(row)
	}
	return column
}
