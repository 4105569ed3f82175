package api

import "time"

// Outcome is the outcome of a request. It is written once and never overwritten. An expired request
// is never shown as denied.
type Outcome string

// Outcomes of requests.
const (
	OutcomeAllowed   Outcome = "allowed"
	OutcomeDenied    Outcome = "denied"
	OutcomeAnswered  Outcome = "answered"
	OutcomeDeclined  Outcome = "declined"
	OutcomeCancelled Outcome = "cancelled"
	OutcomeExpired   Outcome = "expired"
)

// Behavior is the decision about an approval.
type Behavior string

// The two behaviors.
const (
	BehaviorAllow Behavior = "allow"
	BehaviorDeny  Behavior = "deny"
)

// Values of Resolution.Via. A dialect adds its own name.
const (
	// ViaAPI is followed by a colon and the call's X-Via when that names the program.
	ViaAPI       = "api"
	ViaClock     = "clock"
	ViaWorker    = "worker"
	ViaRunEnded  = "run_ended"
	ViaCancel    = "cancel"
	ViaInterrupt = "interrupt"
	ViaEnd       = "session_end"
	// ViaLink is followed by the kind of the channel whose message had the link: "link:email".
	ViaLink = "link:"
	// ViaRule is followed by the id of the rule that settled the request.
	ViaRule = "rule:"
)

// ResolvedBySystem is the resolved_by of a request that was not settled by a person.
const ResolvedBySystem = "system"

// ApprovalResolution is a caller's decision about one approval.
type ApprovalResolution struct {
	_         struct{} `body:"closed"`
	RequestID string   `json:"request_id" body:"required"`
	Behavior  Behavior `json:"behavior"   body:"required"`
	// UpdatedInput replaces the whole input. On a deny it is recorded but has no effect.
	UpdatedInput  JSON   `json:"updated_input,omitzero"`
	Justification string `json:"justification,omitempty"`
	Reason        string `json:"reason,omitempty"`
	// Remember also creates a rule. It is valid for RememberForMs (0: no expiry). Without
	// RememberForMs it is valid for the session's lifetime, or for DefaultRuleAgeMs when it covers
	// all sessions.
	Remember      Remember `json:"remember,omitempty" body:"filled"`
	RememberForMs *int64   `json:"remember_for_ms,omitempty"`
	// RememberAs selects the calls that the rule matches. Empty means RememberExact.
	RememberAs RememberAs `json:"remember_as,omitempty" body:"filled"`
	// InputDigest and Handle identify the request that the caller saw. When one is given and the
	// open request differs, the whole batch is refused with approval_changed.
	InputDigest string `json:"input_digest,omitempty" body:"filled"`
	Handle      string `json:"handle,omitempty" body:"filled"`
}

// ResolveApprovalsBody decides open approvals of one run, all or none.
type ResolveApprovalsBody struct {
	IdempotencyKey *string `json:"idempotency_key,omitzero"`
	// Resolutions are 1 to MaxResolutionsPerBatch. An empty array is approval_batch_empty. A nil
	// slice is sent as an empty array.
	Resolutions []ApprovalResolution `json:"resolutions" body:"required"`
}

// UserQuestionResolution is a caller's answer to one question request.
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
	// Sensitive marks an answer that is not shown. The service sets it and ignores a value from the
	// caller.
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

// Resolution is the recorded resolution of a request: the caller's resolution, by whom, when and
// how it was made.
type Resolution struct {
	RequestID string  `json:"request_id"`
	Outcome   Outcome `json:"outcome"`
	// Behavior is set for approvals only. It is deny for an expired or cancelled one.
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
	// ViaPrincipal is the principal of the credential when it acted for ResolvedBy.
	ViaPrincipal string `json:"via_principal,omitempty"`
	// Rule is the rule that made the decision, or that was created with it.
	Rule *AppliedRule `json:"rule,omitempty"`
	// RuntimePayload is added by a dialect for the worker's runtime.
	RuntimePayload JSON `json:"runtime_payload,omitzero"`
	// Grant is set in views of an allowed approval. It is never stored.
	Grant *Grant `json:"grant,omitempty"`
}

// RecordedDecision is the earlier decision that a late call's error contains.
type RecordedDecision struct {
	RequestID    string  `json:"request_id"`
	Outcome      Outcome `json:"outcome"`
	ResolvedBy   string  `json:"resolved_by"`
	ResolvedAtMs int64   `json:"resolved_at_ms"`
	Via          string  `json:"via"`
	// ViaPrincipal is the principal of the credential when it acted for ResolvedBy.
	ViaPrincipal string `json:"via_principal,omitempty"`
}

// String says who decided, when and how: "a1 was allowed by user:mara at 2025-06-15T15:06:40Z, via
// api:inbox".
func (d *RecordedDecision) String() string {
	text := d.RequestID + " was " + string(d.Outcome)
	if d.ResolvedBy != "" {
		text += " by " + d.ResolvedBy
	}
	return text + " at " + time.UnixMilli(d.ResolvedAtMs).UTC().Format(time.RFC3339) + ", via " + d.Via
}
