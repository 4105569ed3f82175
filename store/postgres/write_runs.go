package postgres

import "github.com/holdpoint/holdpoint/runs"

const sqlInsertRuns = `
INSERT INTO runs (
	submitted_at_ms, started_at_ms, finished_at_ms, updated_at_ms, first_event_id,
	last_event_id, attempt, stalled_attempts, fence, lease_expires_at_ms, claimable_at_ms,
	raised_count, settled_count, resume_after, output_count, question_count, attached, status,
	session_id, run_id, agent_id, kind, parent_run_id, worker_id, lease_end, suspension_id,
	last_call_digest, payload_digest, source_plugin, source_kind, actor_id, text_preview,
	error, metadata, output, checkpoint, input)
SELECT
	u.submitted_at_ms, nullif(u.started_at_ms, 0), nullif(u.finished_at_ms, 0),
	u.updated_at_ms, u.first_event_id, u.last_event_id, u.attempt, u.stalled_attempts,
	u.fence, nullif(u.lease_expires_at_ms, 0), nullif(u.claimable_at_ms, 0), u.raised_count,
	u.settled_count, u.resume_after, u.output_count, u.question_count, u.attached, u.status,
	u.session_id, u.run_id, u.agent_id, u.kind, nullif(u.parent_run_id, ''),
	nullif(u.worker_id, ''), nullif(u.lease_end, ''), nullif(u.suspension_id, ''),
	nullif(u.last_call_digest, ''), u.payload_digest, u.source_plugin, u.source_kind,
	u.actor_id, nullif(u.text_preview, ''), nullif(u.error, ''), nullif(u.metadata, ''),
	nullif(u.output, ''), nullif(u.checkpoint, ''), u.input
FROM unnest(
		$1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[],
		$7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[],
		$13::bigint[], $14::bigint[], $15::bigint[], $16::bigint[], $17::boolean[], $18::text[],
		$19::text[], $20::text[], $21::text[], $22::text[], $23::text[], $24::text[],
		$25::text[], $26::text[], $27::text[], $28::text[], $29::text[], $30::text[],
		$31::text[], $32::text[], $33::text[], $34::text[], $35::text[], $36::text[], $37::text[]
	) AS u (
		submitted_at_ms, started_at_ms, finished_at_ms, updated_at_ms, first_event_id,
		last_event_id, attempt, stalled_attempts, fence, lease_expires_at_ms, claimable_at_ms,
		raised_count, settled_count, resume_after, output_count, question_count, attached,
		status, session_id, run_id, agent_id, kind, parent_run_id, worker_id, lease_end,
		suspension_id, last_call_digest, payload_digest, source_plugin, source_kind, actor_id,
		text_preview, error, metadata, output, checkpoint, input)`

func insertRunsArguments(rows []*runs.Run) []any {
	return []any{
		integers(rows, func(r *runs.Run) int64 { return r.SubmittedAtMs }),
		integers(rows, func(r *runs.Run) int64 { return r.StartedAtMs }),
		integers(rows, func(r *runs.Run) int64 { return r.FinishedAtMs }),
		integers(rows, func(r *runs.Run) int64 { return r.UpdatedAtMs }),
		integers(rows, func(r *runs.Run) int64 { return r.FirstEventID }),
		integers(rows, func(r *runs.Run) int64 { return r.LastEventID }),
		integers(rows, func(r *runs.Run) int64 { return r.Attempt }),
		integers(rows, func(r *runs.Run) int64 { return r.StalledAttempts }),
		integers(rows, func(r *runs.Run) int64 { return r.Fence }),
		integers(rows, func(r *runs.Run) int64 { return r.LeaseExpiresAtMs }),
		integers(rows, func(r *runs.Run) int64 { return r.ClaimableAtMs }),
		integers(rows, func(r *runs.Run) int64 { return r.RaisedCount }),
		integers(rows, func(r *runs.Run) int64 { return r.SettledCount }),
		integers(rows, func(r *runs.Run) int64 { return r.ResumeAfter }),
		integers(rows, func(r *runs.Run) int64 { return r.OutputCount }),
		integers(rows, func(r *runs.Run) int64 { return r.Request.QuestionCount }),
		booleans(rows, func(r *runs.Run) bool { return r.Attached }),
		texts(rows, func(r *runs.Run) string { return string(r.Status) }),
		texts(rows, func(r *runs.Run) string { return r.SessionID }),
		texts(rows, func(r *runs.Run) string { return r.RunID }),
		texts(rows, func(r *runs.Run) string { return r.AgentID }),
		texts(rows, func(r *runs.Run) string { return string(r.Kind) }),
		texts(rows, func(r *runs.Run) string { return r.ParentRunID }),
		texts(rows, func(r *runs.Run) string { return r.WorkerID }),
		texts(rows, func(r *runs.Run) string { return string(r.LeaseEnd) }),
		texts(rows, func(r *runs.Run) string { return r.SuspensionID }),
		texts(rows, func(r *runs.Run) string { return r.LastCallDigest }),
		texts(rows, func(r *runs.Run) string { return r.PayloadDigest }),
		texts(rows, func(r *runs.Run) string { return r.Request.SourcePlugin }),
		texts(rows, func(r *runs.Run) string { return r.Request.SourceKind }),
		texts(rows, func(r *runs.Run) string { return r.Request.ActorID }),
		texts(rows, func(r *runs.Run) string { return r.Request.TextPreview }),
		texts(rows, func(r *runs.Run) string { return r.Error }),
		texts(rows, func(r *runs.Run) string { return string(r.Metadata) }),
		texts(rows, func(r *runs.Run) string { return string(r.Output) }),
		texts(rows, func(r *runs.Run) string { return string(r.Checkpoint) }),
		texts(rows, func(r *runs.Run) string { return string(r.Input) }),
	}
}

// sqlUpdateRuns leaves alone what never changes once a run is there, its input above
// all, and a checkpoint that was not set, which stays where it is stored.
const sqlUpdateRuns = `
UPDATE runs AS r SET
	started_at_ms = nullif(u.started_at_ms, 0),
	finished_at_ms = nullif(u.finished_at_ms, 0),
	updated_at_ms = u.updated_at_ms,
	last_event_id = u.last_event_id,
	attempt = u.attempt,
	stalled_attempts = u.stalled_attempts,
	fence = u.fence,
	lease_expires_at_ms = nullif(u.lease_expires_at_ms, 0),
	claimable_at_ms = nullif(u.claimable_at_ms, 0),
	raised_count = u.raised_count,
	settled_count = u.settled_count,
	resume_after = u.resume_after,
	output_count = u.output_count,
	attached = u.attached,
	status = u.status,
	worker_id = nullif(u.worker_id, ''),
	lease_end = nullif(u.lease_end, ''),
	suspension_id = nullif(u.suspension_id, ''),
	last_call_digest = nullif(u.last_call_digest, ''),
	error = nullif(u.error, ''),
	output = nullif(u.output, ''),
	checkpoint = CASE WHEN u.checkpoint_set THEN nullif(u.checkpoint, '') ELSE r.checkpoint END
FROM unnest(
		$1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[],
		$7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[],
		$13::bigint[], $14::bigint[], $15::bigint[], $16::boolean[], $17::text[], $18::text[],
		$19::text[], $20::text[], $21::text[], $22::text[], $23::text[], $24::boolean[],
		$25::text[]
	) AS u (
		session_id, run_id, started_at_ms, finished_at_ms, updated_at_ms, last_event_id, attempt,
		stalled_attempts, fence, lease_expires_at_ms, claimable_at_ms, raised_count,
		settled_count, resume_after, output_count, attached, status, worker_id, lease_end,
		suspension_id, last_call_digest, error, output, checkpoint_set, checkpoint)
WHERE r.session_id = u.session_id AND r.run_id = u.run_id`

func updateRunsArguments(rows []*runs.Run) []any {
	return []any{
		texts(rows, func(r *runs.Run) string { return r.SessionID }),
		texts(rows, func(r *runs.Run) string { return r.RunID }),
		integers(rows, func(r *runs.Run) int64 { return r.StartedAtMs }),
		integers(rows, func(r *runs.Run) int64 { return r.FinishedAtMs }),
		integers(rows, func(r *runs.Run) int64 { return r.UpdatedAtMs }),
		integers(rows, func(r *runs.Run) int64 { return r.LastEventID }),
		integers(rows, func(r *runs.Run) int64 { return r.Attempt }),
		integers(rows, func(r *runs.Run) int64 { return r.StalledAttempts }),
		integers(rows, func(r *runs.Run) int64 { return r.Fence }),
		integers(rows, func(r *runs.Run) int64 { return r.LeaseExpiresAtMs }),
		integers(rows, func(r *runs.Run) int64 { return r.ClaimableAtMs }),
		integers(rows, func(r *runs.Run) int64 { return r.RaisedCount }),
		integers(rows, func(r *runs.Run) int64 { return r.SettledCount }),
		integers(rows, func(r *runs.Run) int64 { return r.ResumeAfter }),
		integers(rows, func(r *runs.Run) int64 { return r.OutputCount }),
		booleans(rows, func(r *runs.Run) bool { return r.Attached }),
		texts(rows, func(r *runs.Run) string { return string(r.Status) }),
		texts(rows, func(r *runs.Run) string { return r.WorkerID }),
		texts(rows, func(r *runs.Run) string { return string(r.LeaseEnd) }),
		texts(rows, func(r *runs.Run) string { return r.SuspensionID }),
		texts(rows, func(r *runs.Run) string { return r.LastCallDigest }),
		texts(rows, func(r *runs.Run) string { return r.Error }),
		texts(rows, func(r *runs.Run) string { return string(r.Output) }),
		booleans(rows, func(r *runs.Run) bool { return r.CheckpointSet }),
		texts(rows, func(r *runs.Run) string { return string(r.Checkpoint) }),
	}
}
