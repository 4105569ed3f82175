package storetest

import (
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/rules"
)

func sessionColumns(s *model.Session) map[string]any {
	return map[string]any{
		"session_id": s.SessionID, "agent_id": s.AgentID, "parent_session_id": s.ParentSessionID,
		"metadata": string(s.Metadata), "about": string(s.About), "principal": s.Principal, "requesters": s.Requesters, "active_run_id": s.ActiveRunID, "queued_count": s.QueuedCount,
		"output_count":  s.OutputCount,
		"last_event_id": s.LastEventID, "last_event_hash": s.LastEventHash, "life": s.Life, "first_kept_event_id": s.FirstKeptEventID, "ended_at_ms": s.EndedAtMs, "created_at_ms": s.CreatedAtMs, "updated_at_ms": s.UpdatedAtMs,
	}
}

func runColumns(r *model.Run) map[string]any {
	return map[string]any{
		"run_id": r.RunID, "session_id": r.SessionID, "agent_id": r.AgentID, "parent_run_id": r.ParentRunID,
		"kind": string(r.Kind), "status": string(r.Status), "source_plugin": r.Request.SourcePlugin,
		"source_kind": r.Request.SourceKind, "actor_id": r.Request.ActorID, "text_preview": r.Request.TextPreview,
		"question_count": r.Request.QuestionCount, "metadata": string(r.Metadata), "requester": string(r.Requester), "payload_digest": r.PayloadDigest, "principal": r.Principal, "data_key": r.DataKey,
		"submitted_at_ms": r.SubmittedAtMs, "started_at_ms": r.StartedAtMs, "finished_at_ms": r.FinishedAtMs,
		"updated_at_ms": r.UpdatedAtMs, "first_event_id": r.FirstEventID, "last_event_id": r.LastEventID,
		"attempt": r.Attempt, "stalled_attempts": r.StalledAttempts, "failed_attempts": r.FailedAttempts, "retries": r.Retries, "last_error": r.LastError, "secrets_erased": r.SecretsErased, "fence": r.Fence, "worker_id": r.WorkerID, "holder_principal": r.HolderPrincipal,
		"lease_expires_at_ms": r.LeaseExpiresAtMs, "lease_end": string(r.LeaseEnd), "last_call_digest": r.LastCallDigest,
		"attached": r.Attached, "claimable_at_ms": r.ClaimableAtMs, "suspension_id": r.SuspensionID,
		"raised_count": r.RaisedCount, "settled_count": r.SettledCount, "resume_after": r.ResumeAfter,
		"output_count": r.OutputCount, "error": r.Error, "output": string(r.Output),
		"input": string(r.Input), "checkpoint": string(r.Checkpoint),
	}
}

func requestColumns(r *model.Request) map[string]any {
	return map[string]any{
		"session_id": r.SessionID, "run_id": r.RunID, "request_id": r.RequestID, "handle": r.Handle,
		"suspension_id": r.SuspensionID, "suspension_digest": r.SuspensionDigest, "number": r.Number,
		"kind": string(r.Kind), "body": string(r.Body), "due_at_ms": r.DueAtMs, "created_at_ms": r.CreatedAtMs,
		"outcome": string(r.Outcome), "settled_number": r.SettledNumber, "resolution": string(r.Resolution), "settled_at_ms": r.SettledAtMs,
		"rule_id": r.RuleID, "resolved_by": r.ResolvedBy, "partial_answers": string(r.PartialAnswers), "acknowledgement": string(r.Acknowledgement), "escalation_state": string(r.EscalationState), "sealed": string(r.Sealed), "redemption": string(r.Redemption),
	}
}

func eventColumns(e *model.Event) map[string]any {
	return map[string]any{
		"session_id": e.SessionID, "event_id": e.EventID, "run_id": e.RunID, "agent_id": e.AgentID,
		"type": string(e.Type), "timestamp_ms": e.TimestampMs, "body": string(e.Body),
		"actor": e.Actor, "body_digest": e.BodyDigest, "prev": e.Prev,
	}
}

func recordColumns(r *model.IdempotencyRecord) map[string]any {
	return map[string]any{
		"operation": string(r.Operation), "scope": r.Scope, "idempotency_key": r.IdempotencyKey,
		"fingerprint": r.Fingerprint, "session_id": r.SessionID, "run_id": r.RunID, "event_id": r.EventID, "created_at_ms": r.CreatedAtMs,
	}
}

func effectColumns(e *model.Effect) map[string]any {
	return map[string]any{
		"session_id": e.SessionID, "effect_id": e.EffectID, "run_id": e.RunID, "kind": string(e.Kind), "state": string(e.State),
		"target_session_id": e.TargetSessionID, "webhook_id": e.WebhookID, "payload": string(e.Payload), "created_at_ms": e.CreatedAtMs,
		"due_at_ms": e.DueAtMs, "attempts": e.Attempts, "last_error": e.LastError, "finished_at_ms": e.FinishedAtMs,
	}
}

func messageColumns(m *model.Message) map[string]any {
	return map[string]any{
		"session_id": m.SessionID, "message_id": m.MessageID, "run_id": m.RunID, "from_session_id": m.FromSessionID,
		"state": string(m.State), "subject": m.Subject, "payload": string(m.Payload), "created_at_ms": m.CreatedAtMs,
		"delivery_attempts": m.DeliveryAttempts, "lease_expires_at_ms": m.LeaseExpiresAtMs, "last_error": m.LastError,
		"acknowledged_at_ms": m.AcknowledgedAtMs,
	}
}

func ruleColumns(r *rules.Rule) map[string]any {
	match, err := document.Canonical(r.Match)
	if err != nil {
		panic("storetest: a match has no JSON form: " + err.Error())
	}
	return map[string]any{
		"session_id": r.SessionID, "rule_id": r.RuleID, "agent_id": r.AgentID, "tool_name": r.ToolName, "effect": string(r.Effect),
		"match": string(match), "input_digest": r.Match.InputDigest, "reason": r.Reason, "text": r.Text,
		"created_by": r.CreatedBy, "via_principal": r.ViaPrincipal, "created_at_ms": r.CreatedAtMs, "expires_at_ms": r.ExpiresAtMs, "max_uses": r.MaxUses, "uses": r.Uses,
		"source_run_id": r.SourceRunID, "source_request_id": r.SourceRequestID, "revoked_at_ms": r.RevokedAtMs, "revoked_by": r.RevokedBy,
		"payload_digest": r.PayloadDigest, "escalation": r.EscalationText(),
	}
}
