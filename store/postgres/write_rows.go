package postgres

import "github.com/holdpoint/holdpoint/runs"

const sqlInsertSessions = `
INSERT INTO sessions (
	queued_count, last_event_id, ended_at_ms, created_at_ms, updated_at_ms, session_id,
	agent_id, parent_session_id, active_run_id, metadata)
SELECT
	u.queued_count, u.last_event_id, nullif(u.ended_at_ms, 0), u.created_at_ms,
	u.updated_at_ms, u.session_id, u.agent_id, nullif(u.parent_session_id, ''),
	nullif(u.active_run_id, ''), nullif(u.metadata, '')
FROM unnest(
		$1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[],
		$7::text[], $8::text[], $9::text[], $10::text[]
	) AS u (
		queued_count, last_event_id, ended_at_ms, created_at_ms, updated_at_ms, session_id,
		agent_id, parent_session_id, active_run_id, metadata)`

func insertSessionsArguments(rows []*runs.Session) []any {
	return []any{
		integers(rows, func(s *runs.Session) int64 { return s.QueuedCount }),
		integers(rows, func(s *runs.Session) int64 { return s.LastEventID }),
		integers(rows, func(s *runs.Session) int64 { return s.EndedAtMs }),
		integers(rows, func(s *runs.Session) int64 { return s.CreatedAtMs }),
		integers(rows, func(s *runs.Session) int64 { return s.UpdatedAtMs }),
		texts(rows, func(s *runs.Session) string { return s.SessionID }),
		texts(rows, func(s *runs.Session) string { return s.AgentID }),
		texts(rows, func(s *runs.Session) string { return s.ParentSessionID }),
		texts(rows, func(s *runs.Session) string { return s.ActiveRunID }),
		texts(rows, func(s *runs.Session) string { return string(s.Metadata) }),
	}
}

const sqlUpdateSessions = `
UPDATE sessions AS s SET
	queued_count = u.queued_count,
	last_event_id = u.last_event_id,
	ended_at_ms = nullif(u.ended_at_ms, 0),
	updated_at_ms = u.updated_at_ms,
	active_run_id = nullif(u.active_run_id, '')
FROM unnest(
		$1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[]
	) AS u (
		session_id, queued_count, last_event_id, ended_at_ms, updated_at_ms, active_run_id)
WHERE s.session_id = u.session_id`

func updateSessionsArguments(rows []*runs.Session) []any {
	return []any{
		texts(rows, func(s *runs.Session) string { return s.SessionID }),
		integers(rows, func(s *runs.Session) int64 { return s.QueuedCount }),
		integers(rows, func(s *runs.Session) int64 { return s.LastEventID }),
		integers(rows, func(s *runs.Session) int64 { return s.EndedAtMs }),
		integers(rows, func(s *runs.Session) int64 { return s.UpdatedAtMs }),
		texts(rows, func(s *runs.Session) string { return s.ActiveRunID }),
	}
}

const sqlInsertRequests = `
INSERT INTO requests (
	number, due_at_ms, created_at_ms, settled_number, settled_at_ms, session_id, run_id,
	request_id, kind, outcome, handle, suspension_id, suspension_digest, resolution, body)
SELECT
	u.number, nullif(u.due_at_ms, 0), u.created_at_ms, nullif(u.settled_number, 0),
	nullif(u.settled_at_ms, 0), u.session_id, u.run_id, u.request_id, u.kind,
	nullif(u.outcome, ''), u.handle, u.suspension_id, u.suspension_digest,
	nullif(u.resolution, ''), u.body
FROM unnest(
		$1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[],
		$7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[],
		$14::text[], $15::text[]
	) AS u (
		number, due_at_ms, created_at_ms, settled_number, settled_at_ms, session_id, run_id,
		request_id, kind, outcome, handle, suspension_id, suspension_digest, resolution, body)`

func insertRequestsArguments(rows []*runs.Request) []any {
	return []any{
		integers(rows, func(q *runs.Request) int64 { return q.Number }),
		integers(rows, func(q *runs.Request) int64 { return q.DueAtMs }),
		integers(rows, func(q *runs.Request) int64 { return q.CreatedAtMs }),
		integers(rows, func(q *runs.Request) int64 { return q.SettledNumber }),
		integers(rows, func(q *runs.Request) int64 { return q.SettledAtMs }),
		texts(rows, func(q *runs.Request) string { return q.SessionID }),
		texts(rows, func(q *runs.Request) string { return q.RunID }),
		texts(rows, func(q *runs.Request) string { return q.RequestID }),
		texts(rows, func(q *runs.Request) string { return string(q.Kind) }),
		texts(rows, func(q *runs.Request) string { return string(q.Outcome) }),
		texts(rows, func(q *runs.Request) string { return q.Handle }),
		texts(rows, func(q *runs.Request) string { return q.SuspensionID }),
		texts(rows, func(q *runs.Request) string { return q.SuspensionDigest }),
		texts(rows, func(q *runs.Request) string { return string(q.Resolution) }),
		texts(rows, func(q *runs.Request) string { return string(q.Body) }),
	}
}

const sqlSettleRequests = `
UPDATE requests AS q SET
	due_at_ms = nullif(u.due_at_ms, 0),
	settled_number = nullif(u.settled_number, 0),
	settled_at_ms = nullif(u.settled_at_ms, 0),
	outcome = nullif(u.outcome, ''),
	resolution = nullif(u.resolution, '')
FROM unnest(
		$1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[],
		$8::text[]
	) AS u (
		session_id, run_id, request_id, due_at_ms, settled_number, settled_at_ms, outcome,
		resolution)
WHERE q.session_id = u.session_id AND q.run_id = u.run_id AND q.request_id = u.request_id`

func settleRequestsArguments(rows []*runs.Request) []any {
	return []any{
		texts(rows, func(q *runs.Request) string { return q.SessionID }),
		texts(rows, func(q *runs.Request) string { return q.RunID }),
		texts(rows, func(q *runs.Request) string { return q.RequestID }),
		integers(rows, func(q *runs.Request) int64 { return q.DueAtMs }),
		integers(rows, func(q *runs.Request) int64 { return q.SettledNumber }),
		integers(rows, func(q *runs.Request) int64 { return q.SettledAtMs }),
		texts(rows, func(q *runs.Request) string { return string(q.Outcome) }),
		texts(rows, func(q *runs.Request) string { return string(q.Resolution) }),
	}
}

const sqlInsertEvents = `
INSERT INTO events (
	event_id, timestamp_ms, session_id, run_id, agent_id, type, body)
SELECT
	u.event_id, u.timestamp_ms, u.session_id, u.run_id, u.agent_id, u.type, u.body
FROM unnest(
		$1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[]
	) AS u (
		event_id, timestamp_ms, session_id, run_id, agent_id, type, body)`

func insertEventsArguments(rows []*runs.Event) []any {
	return []any{
		integers(rows, func(e *runs.Event) int64 { return e.EventID }),
		integers(rows, func(e *runs.Event) int64 { return e.TimestampMs }),
		texts(rows, func(e *runs.Event) string { return e.SessionID }),
		texts(rows, func(e *runs.Event) string { return e.RunID }),
		texts(rows, func(e *runs.Event) string { return e.AgentID }),
		texts(rows, func(e *runs.Event) string { return string(e.Type) }),
		texts(rows, func(e *runs.Event) string { return string(e.Body) }),
	}
}

const sqlInsertRecords = `
INSERT INTO idempotency_records (
	created_at_ms, scope, operation, idempotency_key, fingerprint, session_id, run_id)
SELECT
	u.created_at_ms, u.scope, u.operation, u.idempotency_key, u.fingerprint, u.session_id,
	u.run_id
FROM unnest(
		$1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[]
	) AS u (
		created_at_ms, scope, operation, idempotency_key, fingerprint, session_id, run_id)`

func insertRecordsArguments(rows []*runs.IdempotencyRecord) []any {
	return []any{
		integers(rows, func(r *runs.IdempotencyRecord) int64 { return r.CreatedAtMs }),
		texts(rows, func(r *runs.IdempotencyRecord) string { return r.Scope }),
		texts(rows, func(r *runs.IdempotencyRecord) string { return string(r.Operation) }),
		texts(rows, func(r *runs.IdempotencyRecord) string { return r.IdempotencyKey }),
		texts(rows, func(r *runs.IdempotencyRecord) string { return r.Fingerprint }),
		texts(rows, func(r *runs.IdempotencyRecord) string { return r.SessionID }),
		texts(rows, func(r *runs.IdempotencyRecord) string { return r.RunID }),
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
