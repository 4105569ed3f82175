package api

// EffectKind says what an effect does. An effect is what a decision in one session
// causes in another, or later; it is stored with the decision and carried out after the commit.
type EffectKind string

// The kinds of effects.
const (
	// EffectOpenClarification creates the clarification's run in the parent's session.
	EffectOpenClarification EffectKind = "open_clarification"
	// EffectDeliverAnswer delivers the answer to the child.
	EffectDeliverAnswer EffectKind = "deliver_answer"
	// EffectReviewApproval announces an approval to its automatic reviewer.
	EffectReviewApproval EffectKind = "review_approval"
	// EffectDrainSession cancels or declines what a session that was ended or interrupted
	// still had beyond the first part.
	EffectDrainSession EffectKind = "drain_session"
	// EffectCancelAbandoned cancels a run whose worker is gone. It is done in the session of the
	// run, and is due when the worker could have been silent for too long.
	EffectCancelAbandoned EffectKind = "cancel_abandoned"
	// EffectDeliverWebhook posts an event to a webhook.
	EffectDeliverWebhook EffectKind = "deliver_webhook"
	// EffectAdvanceRequest tells people of a request that is open for a while. It is done in the session of the
	// request.
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

// EffectState says how far an effect is.
type EffectState string

// The states of effects.
const (
	EffectPending EffectState = "pending"
	EffectDone    EffectState = "done"
	// EffectFailed: given up after its last attempt, or because it can never succeed. An
	// operator may retry it.
	EffectFailed EffectState = "failed"
)

// EffectView is an effect on the wire.
type EffectView struct {
	EffectID string `json:"effect_id"`
	// SessionID and RunID are those of the decision.
	SessionID       string      `json:"session_id"`
	RunID           string      `json:"run_id"`
	Kind            EffectKind  `json:"kind"`
	State           EffectState `json:"state"`
	TargetSessionID string      `json:"target_session_id"`
	// WebhookID is where the effect posts to; empty when it posts nowhere.
	WebhookID    string `json:"webhook_id,omitempty"`
	CreatedAtMs  int64  `json:"created_at_ms"`
	DueAtMs      int64  `json:"due_at_ms,omitzero"` // of the next attempt
	Attempts     int64  `json:"attempts"`
	LastError    string `json:"last_error,omitempty"`
	FinishedAtMs int64  `json:"finished_at_ms,omitzero"`
}
