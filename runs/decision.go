package runs

import (
	"fmt"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// ApprovalDecision is a decision about one approval: the members of an api.ApprovalResolution,
// and those that only a face of the service sets. Its JSON form is part of the fingerprint of a
// keyed call.
type ApprovalDecision struct {
	RequestID     string       `json:"request_id"`
	Behavior      api.Behavior `json:"behavior"`
	UpdatedInput  api.JSON     `json:"updated_input,omitzero"`
	Justification string       `json:"justification,omitempty"`
	Reason        string       `json:"reason,omitempty"`
	Remember      api.Remember `json:"remember,omitempty"`
	RememberForMs *int64       `json:"remember_for_ms,omitempty"`
	// RememberAs says what the rule is about, the exact call when empty.
	RememberAs api.RememberAs `json:"remember_as,omitempty"`
	// InputDigest and Handle are those of the request that was decided about, empty for no
	// check; a face that decides by the request itself leaves them empty.
	InputDigest string `json:"input_digest,omitempty"`
	Handle      string `json:"handle,omitempty"`
	// RememberMatch is what the remembered rule matches. Nil means the tool and the
	// exact input of the request (docs/spec/v1.md#remember).
	RememberMatch *api.RuleMatch `json:"remember_match,omitempty"`
	// RuntimePayload is passed to the worker unchanged, for a runtime that has its own form of
	// a decision.
	RuntimePayload api.JSON `json:"runtime_payload,omitzero"`

	// ruleID and ruleAgeMs are those of the rule that Remember writes; set by prepareRemember.
	ruleID    string
	ruleAgeMs int64
}

// DecisionOf returns the decision for a resolution of /v1.
func DecisionOf(given api.ApprovalResolution) ApprovalDecision {
	return ApprovalDecision{
		RequestID: given.RequestID, Behavior: given.Behavior, UpdatedInput: given.UpdatedInput,
		Justification: given.Justification, Reason: given.Reason,
		Remember: given.Remember, RememberForMs: given.RememberForMs, RememberAs: given.RememberAs,
		InputDigest: given.InputDigest, Handle: given.Handle,
	}
}

// DecisionsOf returns the decisions for the resolutions of a batch of /v1. It returns nil for
// nil, which is an absent batch and not an empty one.
func DecisionsOf(given []api.ApprovalResolution) []ApprovalDecision {
	if given == nil {
		return nil
	}
	decisions := make([]ApprovalDecision, len(given))
	for i := range given {
		decisions[i] = DecisionOf(given[i])
	}
	return decisions
}

// QuestionAnswer is an answer to one question request: the members of an
// api.UserQuestionResolution, and those that only a face of the service sets. Its JSON form is
// part of the fingerprint of a keyed call.
type QuestionAnswer struct {
	RequestID     string                   `json:"request_id"`
	Answers       []api.UserQuestionAnswer `json:"answers,omitempty"`
	Declined      bool                     `json:"declined,omitzero"`
	Value         api.JSON                 `json:"value,omitzero"`
	Justification string                   `json:"justification,omitempty"`
	// RuntimePayload is passed to the worker unchanged, for a runtime that has its own form of
	// an answer.
	RuntimePayload api.JSON `json:"runtime_payload,omitzero"`
	// Verbatim records Value unchecked, also for structured questions: only the worker's
	// runtime knows what it means. Value must then be there; it may be null.
	Verbatim bool `json:"verbatim,omitzero"`
}

// AnswerOf returns the answer for a resolution of /v1.
func AnswerOf(given api.UserQuestionResolution) QuestionAnswer {
	return QuestionAnswer{
		RequestID: given.RequestID, Answers: given.Answers, Declined: given.Declined,
		Value: given.Value, Justification: given.Justification,
	}
}

// prepareApprovals checks decisions about approvals as far as that needs no rows, and makes the
// ids of the rules that are written with them. The pointer is the place of the batch in the
// caller's body. Call it before checkApprovals and recordApprovals.
func prepareApprovals(resolutions []ApprovalDecision, pointer string, maxRuleAgeMs int64, newID IDSource, faults *refusal.Faults) {
	if len(resolutions) > api.MaxResolutionsPerBatch {
		faults.Add(pointer, "must have at most %d entries", api.MaxResolutionsPerBatch)
		return
	}
	for i := range resolutions {
		resolution, at := &resolutions[i], fmt.Sprintf("%s/%d", pointer, i)
		document.AbsentNull(&resolution.UpdatedInput)
		if resolution.RequestID == "" {
			faults.Add(at+"/request_id", "is required")
		}
		if resolution.Behavior != api.BehaviorAllow && resolution.Behavior != api.BehaviorDeny {
			faults.Add(at+"/behavior", "must be %q or %q", api.BehaviorAllow, api.BehaviorDeny)
		}
		faults.Text(at+"/justification", resolution.Justification, api.MaxTextLength)
		faults.Text(at+"/reason", resolution.Reason, api.MaxTextLength)
		resolution.InputDigest = document.WholeDigest(resolution.InputDigest)
		if resolution.InputDigest != "" && !document.ValidDigest(resolution.InputDigest) {
			faults.Add(at+"/input_digest", "must be 64 hexadecimal digits in lower case, with or without \"sha256:\" before them")
		}
		faults.Text(at+"/handle", resolution.Handle, api.MaxNameLength)
		resolution.prepareRemember(at, maxRuleAgeMs, newID, faults)
	}
}
