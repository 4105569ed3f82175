package api

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

// Ways by which a resolution can have come about (Resolution.Via).
const (
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

// ResolvedBySystem is who settled what no person settled.
const ResolvedBySystem = "system"

// ApprovalResolution is a decision about one approval, as a caller gives it.
type ApprovalResolution struct {
	RequestID string   `json:"request_id"`
	Behavior  Behavior `json:"behavior"`
	// UpdatedInput replaces the input whole. It is kept on a deny and has no effect
	// there.
	UpdatedInput  JSON   `json:"updated_input,omitzero"`
	Justification string `json:"justification,omitempty"`
	Reason        string `json:"reason,omitempty"`
	// Remember also writes a rule. It holds for RememberForMs (0: for ever),
	// DefaultRuleAgeMs when that is absent.
	Remember      Remember `json:"remember,omitempty"`
	RememberForMs *int64   `json:"remember_for_ms,omitempty"`
}

// UserQuestionResolution is an answer to one question request, as a caller gives
// it.
type UserQuestionResolution struct {
	RequestID     string               `json:"request_id"`
	Answers       []UserQuestionAnswer `json:"answers,omitempty"`
	Declined      bool                 `json:"declined,omitzero"`
	Value         JSON                 `json:"value,omitzero"`
	Justification string               `json:"justification,omitempty"`
}

// UserQuestionAnswer answers one structured question.
type UserQuestionAnswer struct {
	QuestionID        string   `json:"question_id"`
	SelectedOptionIDs []string `json:"selected_option_ids,omitempty"`
	FreeformAnswer    string   `json:"freeform_answer,omitempty"`
}

// Resolution is what was recorded for a request: the resolution as it was given,
// and who, when and by what way (decisions.md 1).
type Resolution struct {
	RequestID string  `json:"request_id"`
	Outcome   Outcome `json:"outcome"`
	// Behavior is given for approvals only; deny for an expired or cancelled one.
	Behavior     Behavior             `json:"behavior,omitempty"`
	UpdatedInput JSON                 `json:"updated_input,omitzero"`
	Answers      []UserQuestionAnswer `json:"answers,omitempty"`
	// Declined is given for questions only.
	Declined      *bool  `json:"declined,omitempty"`
	Value         JSON   `json:"value,omitzero"`
	Justification string `json:"justification,omitempty"`
	Reason        string `json:"reason,omitempty"`
	ResolvedBy    string `json:"resolved_by"`
	ResolvedAtMs  int64  `json:"resolved_at_ms"`
	Via           string `json:"via"`
	// Rule made the decision, or was written with it.
	Rule *AppliedRule `json:"rule,omitempty"`
	// RuntimePayload is what a dialect owes the worker's runtime.
	RuntimePayload JSON `json:"runtime_payload,omitzero"`
}

// RecordedDecision is what a caller who came too late is told (kheish.md,
// decision 2).
type RecordedDecision struct {
	RequestID    string  `json:"request_id"`
	Outcome      Outcome `json:"outcome"`
	ResolvedBy   string  `json:"resolved_by"`
	ResolvedAtMs int64   `json:"resolved_at_ms"`
	Via          string  `json:"via"`
}
