package sqlite

import (
	"database/sql"

	"github.com/holdpoint/holdpoint/runs/model"
)

const sessionColumns = `session_id, agent_id, parent_session_id, metadata, active_run_id,
	queued_count, last_event_id, ended_at_ms, created_at_ms, updated_at_ms`

func sessionTargets(s *model.Session) []any {
	return []any{
		&s.SessionID, &s.AgentID, (*textOrEmpty)(&s.ParentSessionID), (*jsonText)(&s.Metadata), (*textOrEmpty)(&s.ActiveRunID),
		&s.QueuedCount, &s.LastEventID, (*integerOrZero)(&s.EndedAtMs), &s.CreatedAtMs, &s.UpdatedAtMs,
	}
}

func scanSession(rows *sql.Rows) (*model.Session, error) {
	session := &model.Session{}
	return session, rows.Scan(sessionTargets(session)...)
}

const runColumns = `run_id, session_id, agent_id, parent_run_id, kind, status,
	source_plugin, source_kind, actor_id, text_preview, question_count, metadata, payload_digest,
	submitted_at_ms, started_at_ms, finished_at_ms, updated_at_ms, first_event_id, last_event_id,
	attempt, stalled_attempts, fence, worker_id, lease_expires_at_ms, lease_end, last_call_digest,
	attached, claimable_at_ms, suspension_id, raised_count, settled_count, resume_after,
	output_count, error, output, requester`

// shownRunColumns are the columns of a run together with its place in the queue.
const shownRunColumns = runColumns + `,
	CASE WHEN status = 'queued' THEN (
		SELECT count(*) FROM runs AS ahead
		WHERE ahead.session_id = runs.session_id AND ahead.finished_at_ms IS NULL AND ahead.status = 'queued'
			AND ahead.first_event_id < runs.first_event_id
	) ELSE 0 END`

func runTargets(r *model.Run) []any {
	return []any{
		&r.RunID, &r.SessionID, &r.AgentID, (*textOrEmpty)(&r.ParentRunID), &r.Kind, &r.Status,
		&r.Request.SourcePlugin, &r.Request.SourceKind, &r.Request.ActorID, (*textOrEmpty)(&r.Request.TextPreview),
		&r.Request.QuestionCount, (*jsonText)(&r.Metadata), &r.PayloadDigest,
		&r.SubmittedAtMs, (*integerOrZero)(&r.StartedAtMs), (*integerOrZero)(&r.FinishedAtMs), &r.UpdatedAtMs, &r.FirstEventID, &r.LastEventID,
		&r.Attempt, &r.StalledAttempts, &r.Fence, (*textOrEmpty)(&r.WorkerID), (*integerOrZero)(&r.LeaseExpiresAtMs),
		(*textOrEmpty)(&r.LeaseEnd), (*textOrEmpty)(&r.LastCallDigest),
		&r.Attached, (*integerOrZero)(&r.ClaimableAtMs), (*textOrEmpty)(&r.SuspensionID), &r.RaisedCount, &r.SettledCount, &r.ResumeAfter,
		&r.OutputCount, (*textOrEmpty)(&r.Error), (*jsonText)(&r.Output), (*jsonText)(&r.Requester),
	}
}

func scanRun(rows *sql.Rows) (*model.Run, error) {
	run := &model.Run{}
	return run, rows.Scan(runTargets(run)...)
}

func scanShownRun(rows *sql.Rows) (*model.Run, error) {
	run := &model.Run{}
	return run, rows.Scan(append(runTargets(run), &run.QueuedAhead)...)
}

const requestColumns = `requests.session_id, requests.run_id, requests.request_id, requests.handle,
	requests.suspension_id, requests.suspension_digest, requests.number, requests.kind, requests.body,
	requests.due_at_ms, requests.created_at_ms, requests.outcome, requests.settled_number,
	requests.resolution, requests.settled_at_ms, requests.rule_id, requests.partial_answers`

func requestTargets(r *model.Request) []any {
	return []any{
		&r.SessionID, &r.RunID, &r.RequestID, &r.Handle,
		&r.SuspensionID, &r.SuspensionDigest, &r.Number, &r.Kind, (*jsonText)(&r.Body),
		(*integerOrZero)(&r.DueAtMs), &r.CreatedAtMs, (*textOrEmpty)(&r.Outcome), (*integerOrZero)(&r.SettledNumber),
		(*jsonText)(&r.Resolution), (*integerOrZero)(&r.SettledAtMs), (*textOrEmpty)(&r.RuleID), (*jsonText)(&r.PartialAnswers),
	}
}

func scanRequest(rows *sql.Rows) (model.Request, error) {
	var request model.Request
	err := rows.Scan(requestTargets(&request)...)
	return request, err
}

const eventColumns = `session_id, event_id, run_id, agent_id, type, timestamp_ms, body`

func scanEvent(rows *sql.Rows) (model.Event, error) {
	var e model.Event
	err := rows.Scan(&e.SessionID, &e.EventID, &e.RunID, &e.AgentID, &e.Type, &e.TimestampMs, (*jsonText)(&e.Body))
	return e, err
}

const recordColumns = `operation, scope, idempotency_key, fingerprint, session_id, run_id, created_at_ms`

func scanRecord(rows *sql.Rows) (*model.IdempotencyRecord, error) {
	record := &model.IdempotencyRecord{}
	return record, rows.Scan(&record.Operation, &record.Scope, &record.IdempotencyKey, &record.Fingerprint,
		&record.SessionID, &record.RunID, &record.CreatedAtMs)
}

const effectColumns = `session_id, effect_id, run_id, kind, state,
	target_session_id, payload, created_at_ms, due_at_ms, attempts,
	last_error, finished_at_ms`

func scanEffect(rows *sql.Rows) (model.Effect, error) {
	var e model.Effect
	err := rows.Scan(&e.SessionID, &e.EffectID, &e.RunID, &e.Kind, &e.State,
		&e.TargetSessionID, (*jsonText)(&e.Payload), &e.CreatedAtMs, (*integerOrZero)(&e.DueAtMs), &e.Attempts,
		(*textOrEmpty)(&e.LastError), (*integerOrZero)(&e.FinishedAtMs))
	return e, err
}

const messageColumns = `session_id, message_id, run_id, from_session_id, state,
	subject, payload, created_at_ms, delivery_attempts, lease_expires_at_ms,
	last_error, acknowledged_at_ms`

func scanMessage(rows *sql.Rows) (model.Message, error) {
	var m model.Message
	err := rows.Scan(&m.SessionID, &m.MessageID, &m.RunID, &m.FromSessionID, &m.State,
		&m.Subject, (*jsonText)(&m.Payload), &m.CreatedAtMs, &m.DeliveryAttempts, (*integerOrZero)(&m.LeaseExpiresAtMs),
		(*textOrEmpty)(&m.LastError), (*integerOrZero)(&m.AcknowledgedAtMs))
	return m, err
}
