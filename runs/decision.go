package runs

import (
	"fmt"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// ApprovalDecision is a decision about one approval: the members of an api.ApprovalResolution,
// and members that only the API layers set. A keyed call's fingerprint covers its JSON form.
type ApprovalDecision struct {
	RequestID     string       `json:"request_id"`
	Behavior      api.Behavior `json:"behavior"`
	UpdatedInput  api.JSON     `json:"updated_input,omitzero"`
	Justification string       `json:"justification,omitempty"`
	Reason        string       `json:"reason,omitempty"`
	Remember      api.Remember `json:"remember,omitempty"`
	RememberForMs *int64       `json:"remember_for_ms,omitempty"`
	// RememberAs is the rule's scope; empty means the exact call.
	RememberAs api.RememberAs `json:"remember_as,omitempty"`
	// InputDigest and Handle, if set, must match the open request. An API layer that decides on the
	// request it has just read leaves them empty.
	InputDigest string `json:"input_digest,omitempty"`
	Handle      string `json:"handle,omitempty"`
	// RememberMatch is the remembered rule's match. Nil means the tool and the exact input of the
	// request (docs/spec/v1.md#remember).
	RememberMatch *api.RuleMatch `json:"remember_match,omitempty"`
	// RuntimePayload is passed to the worker unchanged, for a runtime with its own decision format.
	RuntimePayload api.JSON `json:"runtime_payload,omitzero"`

	// ruleID and ruleAgeMs belong to the rule that Remember writes; set by prepareRemember.
	ruleID    string
	ruleAgeMs int64
}

// DecisionOf converts a /v1 resolution.
func DecisionOf(given api.ApprovalResolution) ApprovalDecision {
	return ApprovalDecision{
		RequestID: given.RequestID, Behavior: given.Behavior, UpdatedInput: given.UpdatedInput,
		Justification: given.Justification, Reason: given.Reason,
		Remember: given.Remember, RememberForMs: given.RememberForMs, RememberAs: given.RememberAs,
		InputDigest: given.InputDigest, Handle: given.Handle,
	}
}

// DecisionsOf converts a batch of /v1 resolutions. It returns nil for nil, which is an absent
// batch and not an empty one.
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
// api.UserQuestionResolution, and members that only the API layers set. A keyed call's
// fingerprint covers its JSON form.
type QuestionAnswer struct {
	RequestID     string                   `json:"request_id"`
	Answers       []api.UserQuestionAnswer `json:"answers,omitempty"`
	Declined      bool                     `json:"declined,omitzero"`
	Value         api.JSON                 `json:"value,omitzero"`
	Justification string                   `json:"justification,omitempty"`
	// RuntimePayload is passed to the worker unchanged, for a runtime with its own answer format.
	RuntimePayload api.JSON `json:"runtime_payload,omitzero"`
	// Verbatim records Value unchecked, even for structured questions: only the worker's runtime
	// can interpret it. Value is then required and may be null.
	Verbatim bool `json:"verbatim,omitzero"`
}

// AnswerOf converts a /v1 resolution.
func AnswerOf(given api.UserQuestionResolution) QuestionAnswer {
	return QuestionAnswer{
		RequestID: given.RequestID, Answers: given.Answers, Declined: given.Declined,
		Value: given.Value, Justification: given.Justification,
	}
}

// prepareApprovals makes the checks of approval decisions that need no rows, and generates ids
// for the rules that they write. The pointer locates the batch in the request body. Call it
// before checkApprovals and recordApprovals.
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
