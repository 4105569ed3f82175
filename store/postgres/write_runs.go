package postgres

import "github.com/holdpoint/holdpoint/runs/model"

// The bulk statements get the columns of their rows as arrays and take row i out of
// each by its subscript. One unnest of all the arrays would be shorter to write, but
// it starts a function scan for each column, which costs more than the rows do.

const sqlInsertRuns = `
INSERT INTO runs (
	submitted_at_ms, started_at_ms, finished_at_ms, updated_at_ms, first_event_id,
	last_event_id, attempt, stalled_attempts, fence, lease_expires_at_ms, claimable_at_ms,
	raised_count, settled_count, resume_after, output_count, question_count, attached, status,
	session_id, run_id, agent_id, kind, parent_run_id, worker_id, lease_end, suspension_id,
	last_call_digest, payload_digest, source_plugin, source_kind, actor_id, text_preview,
	error, metadata, output, checkpoint, input, requester)
SELECT
	($1::bigint[])[u.i], nullif(($2::bigint[])[u.i], 0), nullif(($3::bigint[])[u.i], 0),
	($4::bigint[])[u.i], ($5::bigint[])[u.i], ($6::bigint[])[u.i], ($7::bigint[])[u.i],
	($8::bigint[])[u.i], ($9::bigint[])[u.i], nullif(($10::bigint[])[u.i], 0),
	nullif(($11::bigint[])[u.i], 0), ($12::bigint[])[u.i], ($13::bigint[])[u.i],
	($14::bigint[])[u.i], ($15::bigint[])[u.i], ($16::bigint[])[u.i], ($17::boolean[])[u.i],
	($18::text[])[u.i], ($19::text[])[u.i], ($20::text[])[u.i], ($21::text[])[u.i],
	($22::text[])[u.i], nullif(($23::text[])[u.i], ''), nullif(($24::text[])[u.i], ''),
	nullif(($25::text[])[u.i], ''), nullif(($26::text[])[u.i], ''),
	nullif(($27::text[])[u.i], ''), ($28::text[])[u.i], ($29::text[])[u.i],
	($30::text[])[u.i], ($31::text[])[u.i], nullif(($32::text[])[u.i], ''),
	nullif(($33::text[])[u.i], ''), nullif(($34::text[])[u.i], ''),
	nullif(($35::text[])[u.i], ''), nullif(($36::text[])[u.i], ''), ($37::text[])[u.i],
	nullif(($38::text[])[u.i], '')
FROM generate_subscripts($19::text[], 1) AS u (i)`

func insertRunsArguments(rows []*model.Run) []any {
	return []any{
		integers(rows, func(r *model.Run) int64 { return r.SubmittedAtMs }),
		integers(rows, func(r *model.Run) int64 { return r.StartedAtMs }),
		integers(rows, func(r *model.Run) int64 { return r.FinishedAtMs }),
		integers(rows, func(r *model.Run) int64 { return r.UpdatedAtMs }),
		integers(rows, func(r *model.Run) int64 { return r.FirstEventID }),
		integers(rows, func(r *model.Run) int64 { return r.LastEventID }),
		integers(rows, func(r *model.Run) int64 { return r.Attempt }),
		integers(rows, func(r *model.Run) int64 { return r.StalledAttempts }),
		integers(rows, func(r *model.Run) int64 { return r.Fence }),
		integers(rows, func(r *model.Run) int64 { return r.LeaseExpiresAtMs }),
		integers(rows, func(r *model.Run) int64 { return r.ClaimableAtMs }),
		integers(rows, func(r *model.Run) int64 { return r.RaisedCount }),
		integers(rows, func(r *model.Run) int64 { return r.SettledCount }),
		integers(rows, func(r *model.Run) int64 { return r.ResumeAfter }),
		integers(rows, func(r *model.Run) int64 { return r.OutputCount }),
		integers(rows, func(r *model.Run) int64 { return r.Request.QuestionCount }),
		booleans(rows, func(r *model.Run) bool { return r.Attached }),
		texts(rows, func(r *model.Run) string { return string(r.Status) }),
		texts(rows, func(r *model.Run) string { return r.SessionID }),
		texts(rows, func(r *model.Run) string { return r.RunID }),
		texts(rows, func(r *model.Run) string { return r.AgentID }),
		texts(rows, func(r *model.Run) string { return string(r.Kind) }),
		texts(rows, func(r *model.Run) string { return r.ParentRunID }),
		texts(rows, func(r *model.Run) string { return r.WorkerID }),
		texts(rows, func(r *model.Run) string { return string(r.LeaseEnd) }),
		texts(rows, func(r *model.Run) string { return r.SuspensionID }),
		texts(rows, func(r *model.Run) string { return r.LastCallDigest }),
		texts(rows, func(r *model.Run) string { return r.PayloadDigest }),
		texts(rows, func(r *model.Run) string { return r.Request.SourcePlugin }),
		texts(rows, func(r *model.Run) string { return r.Request.SourceKind }),
		texts(rows, func(r *model.Run) string { return r.Request.ActorID }),
		texts(rows, func(r *model.Run) string { return r.Request.TextPreview }),
		texts(rows, func(r *model.Run) string { return r.Error }),
		texts(rows, func(r *model.Run) string { return string(r.Metadata) }),
		texts(rows, func(r *model.Run) string { return string(r.Output) }),
		texts(rows, func(r *model.Run) string { return string(r.Checkpoint) }),
		texts(rows, func(r *model.Run) string { return string(r.Input) }),
		texts(rows, func(r *model.Run) string { return string(r.Requester) }),
	}
}

// sqlUpdateRuns leaves alone what never changes once a run is there, its input above
// all, and a checkpoint that was not set, which stays where it is stored.
const sqlUpdateRuns = `
UPDATE runs AS r SET
	started_at_ms = nullif(($3::bigint[])[u.i], 0),
	finished_at_ms = nullif(($4::bigint[])[u.i], 0),
	updated_at_ms = ($5::bigint[])[u.i],
	last_event_id = ($6::bigint[])[u.i],
	attempt = ($7::bigint[])[u.i],
	stalled_attempts = ($8::bigint[])[u.i],
	fence = ($9::bigint[])[u.i],
	lease_expires_at_ms = nullif(($10::bigint[])[u.i], 0),
	claimable_at_ms = nullif(($11::bigint[])[u.i], 0),
	raised_count = ($12::bigint[])[u.i],
	settled_count = ($13::bigint[])[u.i],
	resume_after = ($14::bigint[])[u.i],
	output_count = ($15::bigint[])[u.i],
	attached = ($16::boolean[])[u.i],
	status = ($17::text[])[u.i],
	worker_id = nullif(($18::text[])[u.i], ''),
	lease_end = nullif(($19::text[])[u.i], ''),
	suspension_id = nullif(($20::text[])[u.i], ''),
	last_call_digest = nullif(($21::text[])[u.i], ''),
	error = nullif(($22::text[])[u.i], ''),
	output = nullif(($23::text[])[u.i], ''),
	checkpoint = CASE WHEN ($24::boolean[])[u.i] THEN nullif(($25::text[])[u.i], '') ELSE r.checkpoint END
FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS u (session_id, run_id, i)
WHERE r.session_id = u.session_id AND r.run_id = u.run_id`

func updateRunsArguments(rows []*model.Run) []any {
	return []any{
		texts(rows, func(r *model.Run) string { return r.SessionID }),
		texts(rows, func(r *model.Run) string { return r.RunID }),
		integers(rows, func(r *model.Run) int64 { return r.StartedAtMs }),
		integers(rows, func(r *model.Run) int64 { return r.FinishedAtMs }),
		integers(rows, func(r *model.Run) int64 { return r.UpdatedAtMs }),
		integers(rows, func(r *model.Run) int64 { return r.LastEventID }),
		integers(rows, func(r *model.Run) int64 { return r.Attempt }),
		integers(rows, func(r *model.Run) int64 { return r.StalledAttempts }),
		integers(rows, func(r *model.Run) int64 { return r.Fence }),
		integers(rows, func(r *model.Run) int64 { return r.LeaseExpiresAtMs }),
		integers(rows, func(r *model.Run) int64 { return r.ClaimableAtMs }),
		integers(rows, func(r *model.Run) int64 { return r.RaisedCount }),
		integers(rows, func(r *model.Run) int64 { return r.SettledCount }),
		integers(rows, func(r *model.Run) int64 { return r.ResumeAfter }),
		integers(rows, func(r *model.Run) int64 { return r.OutputCount }),
		booleans(rows, func(r *model.Run) bool { return r.Attached }),
		texts(rows, func(r *model.Run) string { return string(r.Status) }),
		texts(rows, func(r *model.Run) string { return r.WorkerID }),
		texts(rows, func(r *model.Run) string { return string(r.LeaseEnd) }),
		texts(rows, func(r *model.Run) string { return r.SuspensionID }),
		texts(rows, func(r *model.Run) string { return r.LastCallDigest }),
		texts(rows, func(r *model.Run) string { return r.Error }),
		texts(rows, func(r *model.Run) string { return string(r.Output) }),
		booleans(rows, func(r *model.Run) bool { return r.CheckpointSet }),
		texts(rows, func(r *model.Run) string { return string(r.Checkpoint) }),
	}
}
