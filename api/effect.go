package api

// EffectKind is the kind of an effect. An effect is follow-up work of a decision, in another
// session or at a later time. It is stored with the decision and carried out after the commit.
type EffectKind string

// Kinds of effects.
const (
	// EffectOpenClarification creates the clarification's run in the parent's session.
	EffectOpenClarification EffectKind = "open_clarification"
	// EffectDeliverAnswer delivers the answer to the child.
	EffectDeliverAnswer EffectKind = "deliver_answer"
	// EffectReviewApproval notifies the automatic reviewer of an approval.
	EffectReviewApproval EffectKind = "review_approval"
	// EffectDrainSession cancels or declines the remaining requests and runs of a session that was
	// ended or interrupted. The call itself handles only the first part.
	EffectDrainSession EffectKind = "drain_session"
	// EffectCancelAbandoned cancels a run whose worker is gone. It belongs to the run's session and
	// becomes due after the longest silence that the worker is allowed.
	EffectCancelAbandoned EffectKind = "cancel_abandoned"
	// EffectDeliverWebhook posts an event to a webhook.
	EffectDeliverWebhook EffectKind = "deliver_webhook"
	// EffectAdvanceRequest notifies people of a request that has been open for a while. It runs in
	// the session of the request.
	EffectAdvanceRequest EffectKind = "advance_request"
	// EffectNotify sends a message to a person.
	EffectNotify EffectKind = "notify"
)

// EffectKinds returns all kinds.
func EffectKinds() []EffectKind {
	return []EffectKind{
		EffectOpenClarification, EffectDeliverAnswer, EffectReviewApproval, EffectDrainSession, EffectCancelAbandoned, EffectDeliverWebhook,
		EffectAdvanceRequest, EffectNotify,
	}
}

// EffectState is the state of an effect.
type EffectState string

// States of effects.
const (
	EffectPending EffectState = "pending"
	EffectDone    EffectState = "done"
	// EffectFailed: the last attempt failed, or the effect can never succeed. An operator may retry
	// it.
	EffectFailed EffectState = "failed"
)

// EffectView is an effect on the wire.
type EffectView struct {
	EffectID string `json:"effect_id"`
	// SessionID and RunID identify the run of the decision.
	SessionID       string      `json:"session_id"`
	RunID           string      `json:"run_id"`
	Kind            EffectKind  `json:"kind"`
	State           EffectState `json:"state"`
	TargetSessionID string      `json:"target_session_id"`
	// AgentID and Session are how people recognise the session, TargetAgentID and TargetSession the
	// other one, if the target is another. Absent for a session that the caller cannot read.
	AgentID       string        `json:"agent_id,omitempty"`
	Session       *SessionAbout `json:"session,omitempty"`
	TargetAgentID string        `json:"target_agent_id,omitempty"`
	TargetSession *SessionAbout `json:"target_session,omitempty"`
	// WebhookID is the webhook that the effect posts to; empty for other effects.
	WebhookID    string `json:"webhook_id,omitempty"`
	CreatedAtMs  int64  `json:"created_at_ms"`
	DueAtMs      int64  `json:"due_at_ms,omitzero"` // of the next attempt
	Attempts     int64  `json:"attempts"`
	LastError    string `json:"last_error,omitempty"`
	FinishedAtMs int64  `json:"finished_at_ms,omitzero"`
}
