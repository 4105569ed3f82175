package sqlite

import (
	"context"
	"fmt"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/store/committer"
)

// The members of run_payloads.
const (
	memberInput      = "input"
	memberCheckpoint = "checkpoint"
)

// apply writes the rows of a batch.
func (b *batch) apply(ctx context.Context, writes *runs.Writes) error {
	for _, session := range writes.NewSessions {
		if err := b.insertSession(ctx, session); err != nil {
			return err
		}
	}
	for _, session := range writes.UpdatedSessions {
		if err := b.updateSession(ctx, session); err != nil {
			return err
		}
	}
	// A session has one active run at every moment, also between two statements: runs
	// give up the slot before others take it.
	for _, active := range []bool{false, true} {
		for _, run := range writes.UpdatedRuns {
			if active != holdsSlot(run) {
				continue
			}
			if err := b.updateRun(ctx, run); err != nil {
				return err
			}
		}
	}
	for _, run := range writes.NewRuns {
		if err := b.insertRun(ctx, run); err != nil {
			return err
		}
	}
	for _, request := range writes.NewRequests {
		if err := b.insertRequest(ctx, request); err != nil {
			return err
		}
	}
	for _, request := range writes.SettledRequests {
		write := b.settleRequest
		if request.Open() {
			write = b.keepAnswers
		}
		if err := write(ctx, request); err != nil {
			return err
		}
	}
	for _, event := range writes.Events {
		if err := b.insertEvent(ctx, event); err != nil {
			return err
		}
	}
	for _, record := range writes.Records {
		if err := b.insertRecord(ctx, record); err != nil {
			return err
		}
	}
	if err := b.applyRules(ctx, writes); err != nil {
		return err
	}
	return b.applyOwed(ctx, writes)
}

func holdsSlot(r *model.Run) bool {
	return r.Status != api.StatusQueued && !model.Terminal(r.Status)
}

func (b *batch) insertSession(ctx context.Context, s *model.Session) error {
	_, err := b.write.exec(ctx, `INSERT INTO sessions (`+sessionColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		s.SessionID, s.AgentID, orNull(s.ParentSessionID), documentOrNull(s.Metadata), orNull(s.ActiveRunID),
		s.QueuedCount, s.LastEventID, orNull(s.EndedAtMs), s.CreatedAtMs, s.UpdatedAtMs)
	return err
}

func (b *batch) updateSession(ctx context.Context, s *model.Session) error {
	return b.updateOne(ctx, "session "+s.SessionID, `UPDATE sessions SET
		metadata = ?, active_run_id = ?, queued_count = ?, last_event_id = ?, ended_at_ms = ?, updated_at_ms = ? WHERE session_id = ?`,
		documentOrNull(s.Metadata), orNull(s.ActiveRunID), s.QueuedCount, s.LastEventID, orNull(s.EndedAtMs), s.UpdatedAtMs, s.SessionID)
}

func (b *batch) insertRun(ctx context.Context, r *model.Run) error {
	_, err := b.write.exec(ctx, `INSERT INTO runs (`+runColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,
		?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		r.RunID, r.SessionID, r.AgentID, orNull(r.ParentRunID), string(r.Kind), string(r.Status),
		r.Request.SourcePlugin, r.Request.SourceKind, r.Request.ActorID, orNull(r.Request.TextPreview),
		r.Request.QuestionCount, documentOrNull(r.Metadata), r.PayloadDigest,
		r.SubmittedAtMs, orNull(r.StartedAtMs), orNull(r.FinishedAtMs), r.UpdatedAtMs, r.FirstEventID, r.LastEventID,
		r.Attempt, r.StalledAttempts, r.Fence, orNull(r.WorkerID), orNull(r.LeaseExpiresAtMs),
		orNull(string(r.LeaseEnd)), orNull(r.LastCallDigest),
		r.Attached, orNull(r.ClaimableAtMs), orNull(r.SuspensionID), r.RaisedCount, r.SettledCount, r.ResumeAfter,
		r.OutputCount, orNull(r.Error), documentOrNull(r.Output), documentOrNull(r.Requester))
	if err != nil {
		return err
	}
	if err := b.putPayload(ctx, r.RunID, memberInput, r.Input); err != nil {
		return err
	}
	return b.putPayload(ctx, r.RunID, memberCheckpoint, r.Checkpoint)
}

// updateRun writes what can change in a run. What it was created with cannot. The
// end is named only when it has come: SQLite rewrites the entries of every index
// that depends on a column that is named, changed or not.
func (b *batch) updateRun(ctx context.Context, r *model.Run) error {
	args := []any{
		string(r.Status), orNull(r.StartedAtMs), r.UpdatedAtMs, r.LastEventID,
		r.Attempt, r.StalledAttempts, r.Fence, orNull(r.WorkerID), orNull(r.LeaseExpiresAtMs), orNull(string(r.LeaseEnd)),
		orNull(r.LastCallDigest), r.Attached, orNull(r.ClaimableAtMs), orNull(r.SuspensionID), r.RaisedCount, r.SettledCount,
		r.ResumeAfter, r.OutputCount, r.Request.QuestionCount, orNull(r.Error), documentOrNull(r.Output),
	}
	query := `UPDATE runs SET status = ?, started_at_ms = ?, updated_at_ms = ?, last_event_id = ?,
		attempt = ?, stalled_attempts = ?, fence = ?, worker_id = ?, lease_expires_at_ms = ?, lease_end = ?,
		last_call_digest = ?, attached = ?, claimable_at_ms = ?, suspension_id = ?, raised_count = ?, settled_count = ?,
		resume_after = ?, output_count = ?, question_count = ?, error = ?, output = ?`
	if r.FinishedAtMs != 0 {
		query += `, finished_at_ms = ?`
		args = append(args, r.FinishedAtMs)
	}
	err := b.updateOne(ctx, "run "+r.RunID, query+` WHERE run_id = ?`, append(args, r.RunID)...)
	if err != nil || !r.CheckpointSet {
		return err
	}
	if r.Checkpoint == nil {
		_, err := b.write.exec(ctx, `DELETE FROM run_payloads WHERE run_id = ? AND member = ?`, r.RunID, memberCheckpoint)
		return err
	}
	return b.putPayload(ctx, r.RunID, memberCheckpoint, r.Checkpoint)
}

func (b *batch) putPayload(ctx context.Context, runID, member string, value api.JSON) error {
	if value == nil {
		return nil
	}
	_, err := b.write.exec(ctx, `INSERT INTO run_payloads (run_id, member, value) VALUES (?, ?, ?)
		ON CONFLICT (run_id, member) DO UPDATE SET value = excluded.value`, runID, member, string(value))
	return err
}

func (b *batch) insertRequest(ctx context.Context, r *model.Request) error {
	_, err := b.write.exec(ctx, `INSERT INTO requests (session_id, run_id, request_id, handle,
		suspension_id, suspension_digest, number, kind, body, due_at_ms, created_at_ms,
		outcome, settled_number, resolution, settled_at_ms, rule_id, partial_answers)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		r.SessionID, r.RunID, r.RequestID, r.Handle, r.SuspensionID, r.SuspensionDigest, r.Number, string(r.Kind), string(r.Body),
		orNull(r.DueAtMs), r.CreatedAtMs, orNull(string(r.Outcome)), orNull(r.SettledNumber), documentOrNull(r.Resolution), orNull(r.SettledAtMs),
		orNull(r.RuleID), documentOrNull(r.PartialAnswers))
	return err
}

// settleRequest writes an outcome, once: one that is there is never overwritten.
func (b *batch) settleRequest(ctx context.Context, r *model.Request) error {
	return b.updateOne(ctx, "open request "+r.RequestID, `UPDATE requests SET
		due_at_ms = ?, outcome = ?, settled_number = ?, resolution = ?, settled_at_ms = ?, rule_id = ?, partial_answers = ?
		WHERE session_id = ? AND request_id = ? AND run_id = ? AND outcome IS NULL`,
		orNull(r.DueAtMs), orNull(string(r.Outcome)), orNull(r.SettledNumber), documentOrNull(r.Resolution), orNull(r.SettledAtMs),
		orNull(r.RuleID), documentOrNull(r.PartialAnswers), r.SessionID, r.RequestID, r.RunID)
}

// keepAnswers writes answers to some of a request's questions. It names nothing else,
// for the sake of the indexes (see updateRun).
func (b *batch) keepAnswers(ctx context.Context, r *model.Request) error {
	return b.updateOne(ctx, "open request "+r.RequestID, `UPDATE requests SET partial_answers = ?
		WHERE session_id = ? AND request_id = ? AND run_id = ? AND outcome IS NULL`,
		documentOrNull(r.PartialAnswers), r.SessionID, r.RequestID, r.RunID)
}

func (b *batch) insertEvent(ctx context.Context, e *model.Event) error {
	_, err := b.write.exec(ctx, `INSERT INTO events (`+eventColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		e.SessionID, e.EventID, e.RunID, e.AgentID, string(e.Type), e.TimestampMs, string(e.Body))
	return err
}

func (b *batch) insertRecord(ctx context.Context, r *model.IdempotencyRecord) error {
	_, err := b.write.exec(ctx, `INSERT INTO idempotency_records (`+recordColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		string(r.Operation), r.Scope, r.IdempotencyKey, r.Fingerprint, r.SessionID, r.RunID, r.CreatedAtMs)
	return err
}

// updateOne runs an update that must find its row.
func (b *batch) updateOne(ctx context.Context, what, query string, args ...any) error {
	changed, err := b.write.exec(ctx, query, args...)
	if err == nil && changed != 1 {
		err = fmt.Errorf("%w: %s is not there to be updated", committer.ErrRefused, what)
	}
	return err
}
