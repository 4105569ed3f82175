package postgres

import (
	"github.com/jackc/pgx/v5"

	"github.com/holdpoint/holdpoint/runs/model"
)

// The columns of each row in the order in which they are scanned. NULL is read as
// the zero value that it stands for.

const sessionColumns = `
	s.session_id, s.agent_id, coalesce(s.parent_session_id, ''), s.metadata, coalesce(s.active_run_id, ''),
	s.queued_count, s.last_event_id, coalesce(s.ended_at_ms, 0), s.created_at_ms, s.updated_at_ms`

func sessionTargets(s *model.Session) []any {
	return []any{
		&s.SessionID, &s.AgentID, &s.ParentSessionID, (*[]byte)(&s.Metadata), &s.ActiveRunID,
		&s.QueuedCount, &s.LastEventID, &s.EndedAtMs, &s.CreatedAtMs, &s.UpdatedAtMs,
	}
}

const runColumns = `
	r.run_id, r.session_id, r.agent_id, coalesce(r.parent_run_id, ''), r.kind, r.status,
	r.source_plugin, r.source_kind, r.actor_id, coalesce(r.text_preview, ''), r.question_count,
	r.metadata, r.payload_digest,
	r.submitted_at_ms, coalesce(r.started_at_ms, 0), coalesce(r.finished_at_ms, 0), r.updated_at_ms,
	r.first_event_id, r.last_event_id,
	r.attempt, r.stalled_attempts, r.fence, coalesce(r.worker_id, ''), coalesce(r.lease_expires_at_ms, 0),
	coalesce(r.lease_end, ''), coalesce(r.last_call_digest, ''), r.attached, coalesce(r.claimable_at_ms, 0),
	coalesce(r.suspension_id, ''), r.raised_count, r.settled_count, r.resume_after,
	r.output_count, coalesce(r.error, ''), r.output, r.requester`

// queuedAhead counts the queued runs that go before r.
const queuedAhead = `
	CASE WHEN r.status = 'queued' THEN (
		SELECT count(*) FROM runs AS ahead
		WHERE ahead.session_id = r.session_id AND ahead.finished_at_ms IS NULL
			AND ahead.status = 'queued' AND ahead.first_event_id < r.first_event_id
	) ELSE 0 END`

func runTargets(r *model.Run) []any {
	return []any{
		&r.RunID, &r.SessionID, &r.AgentID, &r.ParentRunID, (*string)(&r.Kind), (*string)(&r.Status),
		&r.Request.SourcePlugin, &r.Request.SourceKind, &r.Request.ActorID, &r.Request.TextPreview, &r.Request.QuestionCount,
		(*[]byte)(&r.Metadata), &r.PayloadDigest,
		&r.SubmittedAtMs, &r.StartedAtMs, &r.FinishedAtMs, &r.UpdatedAtMs,
		&r.FirstEventID, &r.LastEventID,
		&r.Attempt, &r.StalledAttempts, &r.Fence, &r.WorkerID, &r.LeaseExpiresAtMs,
		(*string)(&r.LeaseEnd), &r.LastCallDigest, &r.Attached, &r.ClaimableAtMs,
		&r.SuspensionID, &r.RaisedCount, &r.SettledCount, &r.ResumeAfter,
		&r.OutputCount, &r.Error, (*[]byte)(&r.Output), (*[]byte)(&r.Requester),
	}
}

const requestColumns = `
	q.session_id, q.run_id, q.request_id, q.handle, q.suspension_id, q.suspension_digest,
	q.number, q.kind, q.body, coalesce(q.due_at_ms, 0), q.created_at_ms,
	coalesce(q.outcome, ''), coalesce(q.settled_number, 0), q.resolution, coalesce(q.settled_at_ms, 0),
	coalesce(q.rule_id, ''), q.partial_answers`

func requestTargets(q *model.Request) []any {
	return []any{
		&q.SessionID, &q.RunID, &q.RequestID, &q.Handle, &q.SuspensionID, &q.SuspensionDigest,
		&q.Number, (*string)(&q.Kind), (*[]byte)(&q.Body), &q.DueAtMs, &q.CreatedAtMs,
		(*string)(&q.Outcome), &q.SettledNumber, (*[]byte)(&q.Resolution), &q.SettledAtMs,
		&q.RuleID, (*[]byte)(&q.PartialAnswers),
	}
}

const eventColumns = `
	e.session_id, e.event_id, e.run_id, e.agent_id, e.type, e.timestamp_ms, e.body`

func eventTargets(e *model.Event) []any {
	return []any{
		&e.SessionID, &e.EventID, &e.RunID, &e.AgentID, (*string)(&e.Type), &e.TimestampMs, (*[]byte)(&e.Body),
	}
}

const recordColumns = `
	i.scope, i.operation, i.idempotency_key, i.fingerprint, i.session_id, i.run_id, i.created_at_ms`

func recordTargets(i *model.IdempotencyRecord) []any {
	return []any{
		&i.Scope, (*string)(&i.Operation), &i.IdempotencyKey, &i.Fingerprint, &i.SessionID, &i.RunID, &i.CreatedAtMs,
	}
}

const effectColumns = `
	f.session_id, f.effect_id, f.run_id, f.kind, f.state, f.target_session_id, f.payload,
	f.created_at_ms, coalesce(f.due_at_ms, 0), f.attempts, coalesce(f.last_error, ''), coalesce(f.finished_at_ms, 0)`

func effectTargets(f *model.Effect) []any {
	return []any{
		&f.SessionID, &f.EffectID, &f.RunID, (*string)(&f.Kind), (*string)(&f.State), &f.TargetSessionID, (*[]byte)(&f.Payload),
		&f.CreatedAtMs, &f.DueAtMs, &f.Attempts, &f.LastError, &f.FinishedAtMs,
	}
}

const messageColumns = `
	m.session_id, m.message_id, m.run_id, m.from_session_id, m.state, m.subject, m.payload,
	m.created_at_ms, m.delivery_attempts, coalesce(m.lease_expires_at_ms, 0),
	coalesce(m.last_error, ''), coalesce(m.acknowledged_at_ms, 0)`

func messageTargets(m *model.Message) []any {
	return []any{
		&m.SessionID, &m.MessageID, &m.RunID, &m.FromSessionID, (*string)(&m.State), &m.Subject, (*[]byte)(&m.Payload),
		&m.CreatedAtMs, &m.DeliveryAttempts, &m.LeaseExpiresAtMs,
		&m.LastError, &m.AcknowledgedAtMs,
	}
}

// nowMs is the moment at which the statement began.
const nowMs = `floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint`

// openOrAfter is the settled number by which requests_of_run sorts: behind all
// others while the request is open.
const openOrAfter = `coalesce(q.settled_number, 9223372036854775807)`

// each scans all rows, a row a value.
func each[R any](rows pgx.Rows, targets func(*R) []any, take func(*R)) error {
	for rows.Next() {
		row := new(R)
		if err := rows.Scan(targets(row)...); err != nil {
			return err
		}
		take(row)
	}
	return rows.Err()
}
