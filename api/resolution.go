package api

import "time"

// Outcome is what became of a request. It is written once and never overwritten;
// expired is never shown as denied.
type Outcome string

// The outcomes of requests.
const (
	OutcomeAllowed   Outcome = "allowed"
	OutcomeDenied    Outcome = "denied"
	OutcomeAnswered  Outcome = "answered"
	OutcomeDeclined  Outcome = "declined"
	OutcomeCancelled Outcome = "cancelled"
	OutcomeExpired   Outcome = "expired"
)

// Behavior is the decision about an approval, on the wire.
type Behavior string

// The two behaviors.
const (
	BehaviorAllow Behavior = "allow"
	BehaviorDeny  Behavior = "deny"
)

// The ways by which a resolution comes about (Resolution.Via). A dialect adds its own
// name.
const (
	// ViaAPI is followed by a colon and the X-Via of the call when that says which program it was.
	ViaAPI       = "api"
	ViaClock     = "clock"
	ViaWorker    = "worker"
	ViaRunEnded  = "run_ended"
	ViaCancel    = "cancel"
	ViaInterrupt = "interrupt"
	ViaEnd       = "session_end"
	// ViaRule is followed by the id of the rule that settled the request.
	ViaRule = "rule:"
)

// ResolvedBySystem is the resolved_by of a request that no person settled.
const ResolvedBySystem = "system"

// ApprovalResolution is a decision about one approval, as a caller gives it.
type ApprovalResolution struct {
	_         struct{} `body:"closed"`
	RequestID string   `json:"request_id" body:"required"`
	Behavior  Behavior `json:"behavior"   body:"required"`
	// UpdatedInput replaces the input whole. It is recorded on a deny and has no effect
	// there.
	UpdatedInput  JSON   `json:"updated_input,omitzero"`
	Justification string `json:"justification,omitempty"`
	Reason        string `json:"reason,omitempty"`
	// Remember also writes a rule. It holds for RememberForMs (0: no expiry); when that
	// is absent as long as the session, or DefaultRuleAgeMs for all sessions.
	Remember      Remember `json:"remember,omitempty"`
	RememberForMs *int64   `json:"remember_for_ms,omitempty"`
	// RememberAs says what the rule is about: RememberExact when empty.
	RememberAs RememberAs `json:"remember_as,omitempty"`
	// InputDigest and Handle are those of the request that was decided about. When one is given
	// and the open request has another, the whole batch is refused with approval_changed.
	InputDigest string `json:"input_digest,omitempty"`
	Handle      string `json:"handle,omitempty"`
}

// ResolveApprovalsBody decides open approvals of one run, all or none.
type ResolveApprovalsBody struct {
	IdempotencyKey *string `json:"idempotency_key,omitzero"`
	// Resolutions are 1 to MaxResolutionsPerBatch. An empty array is approval_batch_empty; a
	// nil slice is sent as one.
	Resolutions []ApprovalResolution `json:"resolutions" body:"required"`
}

// UserQuestionResolution is an answer to one question request, as a caller gives it.
type UserQuestionResolution struct {
	_             struct{}             `body:"closed"`
	RequestID     string               `json:"request_id" body:"required"`
	Answers       []UserQuestionAnswer `json:"answers,omitempty"`
	Declined      bool                 `json:"declined,omitzero"`
	Value         JSON                 `json:"value,omitzero"` // of a typed question
	Justification string               `json:"justification,omitempty"`
}

// UserQuestionAnswer answers one structured question.
type UserQuestionAnswer struct {
	_                 struct{} `body:"closed"`
	QuestionID        string   `json:"question_id" body:"required"`
	SelectedOptionIDs []string `json:"selected_option_ids,omitempty"`
	FreeformAnswer    string   `json:"freeform_answer,omitempty"`
	// Sensitive stands for an answer that is not shown. The service sets it and ignores what a
	// caller sends.
	Sensitive bool `json:"sensitive,omitzero"`
}

// AnswerQuestionBody answers or declines one open question request.
type AnswerQuestionBody struct {
	IdempotencyKey *string                `json:"idempotency_key,omitzero"`
	Resolution     UserQuestionResolution `json:"resolution" body:"required"`
}

// CancelQuestionBody cancels an open question. The body may be absent.
type CancelQuestionBody struct {
	IdempotencyKey *string `json:"idempotency_key,omitzero"`
	Justification  string  `json:"justification,omitempty"`
}

// Resolution is what was recorded for a request: the resolution as it was given, and
// by whom, when and by what way.
type Resolution struct {
	RequestID string  `json:"request_id"`
	Outcome   Outcome `json:"outcome"`
	// Behavior is set for approvals only; deny for an expired or cancelled one.
	Behavior     Behavior             `json:"behavior,omitempty"`
	UpdatedInput JSON                 `json:"updated_input,omitzero"`
	Answers      []UserQuestionAnswer `json:"answers,omitempty"`
	// Declined is set for questions only.
	Declined      *bool  `json:"declined,omitempty"`
	Value         JSON   `json:"value,omitzero"`
	Justification string `json:"justification,omitempty"`
	Reason        string `json:"reason,omitempty"`
	ResolvedBy    string `json:"resolved_by"`
	ResolvedAtMs  int64  `json:"resolved_at_ms"`
	Via           string `json:"via"`
	// ViaPrincipal is whose credential it was, when that acted for ResolvedBy.
	ViaPrincipal string `json:"via_principal,omitempty"`
	// Rule made the decision, or was written with it.
	Rule *AppliedRule `json:"rule,omitempty"`
	// RuntimePayload is what a dialect adds for the worker's runtime.
	RuntimePayload JSON `json:"runtime_payload,omitzero"`
	// Grant is set in views of an allowed approval, and never recorded.
	Grant *Grant `json:"grant,omitempty"`
}

// RecordedDecision is the decision that a late call is refused with.
type RecordedDecision struct {
	RequestID    string  `json:"request_id"`
	Outcome      Outcome `json:"outcome"`
	ResolvedBy   string  `json:"resolved_by"`
	ResolvedAtMs int64   `json:"resolved_at_ms"`
	Via          string  `json:"via"`
	// ViaPrincipal is whose credential it was, when that acted for ResolvedBy.
	ViaPrincipal string `json:"via_principal,omitempty"`
}

// String says who decided, when, and by what way: "a1 was allowed by user:mara at
// 2025-06-15T15:06:40Z, via api:inbox".
func (d *RecordedDecision) String() string {
	text := d.RequestID + " was " + string(d.Outcome)
	if d.ResolvedBy != "" {
		text += " by " + d.ResolvedBy
	}
	return text + " at " + time.UnixMilli(d.ResolvedAtMs).UTC().Format(time.RFC3339) + ", via " + d.Via
}
