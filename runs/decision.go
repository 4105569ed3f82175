package runs

import (
	"fmt"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// ApprovalDecision is a decision about one approval as a command carries it: the
// members of an ApprovalResolution, and what only a face of the service adds. Its JSON
// form is what a keyed call is told from another by.
type ApprovalDecision struct {
	RequestID     string       `json:"request_id"`
	Behavior      api.Behavior `json:"behavior"`
	UpdatedInput  api.JSON     `json:"updated_input,omitzero"`
	Justification string       `json:"justification,omitempty"`
	Reason        string       `json:"reason,omitempty"`
	Remember      api.Remember `json:"remember,omitempty"`
	RememberForMs *int64       `json:"remember_for_ms,omitempty"`
	// RememberMatch replaces the match that the rule would have: the pattern keys of
	// the request, else its tool and exact input.
	RememberMatch *api.RuleMatch `json:"remember_match,omitempty"`
	// RuntimePayload is handed to the worker as it is, for a runtime with words of its own.
	RuntimePayload api.JSON `json:"runtime_payload,omitzero"`

	// ruleID and ruleAgeMs are those of the rule that Remember writes.
	ruleID    string
	ruleAgeMs int64
}

// DecisionOf returns the decision that a caller's resolution makes.
func DecisionOf(given api.ApprovalResolution) ApprovalDecision {
	return ApprovalDecision{
		RequestID: given.RequestID, Behavior: given.Behavior, UpdatedInput: given.UpdatedInput,
		Justification: given.Justification, Reason: given.Reason,
		Remember: given.Remember, RememberForMs: given.RememberForMs,
	}
}

// DecisionsOf returns the decisions that a caller's resolutions make, nil for nil.
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

// QuestionAnswer is an answer to one question request as a command carries it: the
// members of a UserQuestionResolution, and what only a face of the service adds. Its
// JSON form is what a keyed call is told from another by.
type QuestionAnswer struct {
	RequestID     string                   `json:"request_id"`
	Answers       []api.UserQuestionAnswer `json:"answers,omitempty"`
	Declined      bool                     `json:"declined,omitzero"`
	Value         api.JSON                 `json:"value,omitzero"`
	Justification string                   `json:"justification,omitempty"`
	// RuntimePayload is handed to the worker as it is, for a runtime with words of its own.
	RuntimePayload api.JSON `json:"runtime_payload,omitzero"`
	// Verbatim takes Value, which must be there and may be null, for the answer to
	// structured questions too, unchecked: the worker's runtime knows what it means.
	Verbatim bool `json:"verbatim,omitzero"`
}

// AnswerOf returns the answer that a caller's resolution gives.
func AnswerOf(given api.UserQuestionResolution) QuestionAnswer {
	return QuestionAnswer{
		RequestID: given.RequestID, Answers: given.Answers, Declined: given.Declined,
		Value: given.Value, Justification: given.Justification,
	}
}

// prepareApprovals checks decisions about approvals as far as that needs no rows, and
// makes the ids of the rules that are written with them. The pointer is that of the
// batch in the caller's body. It comes before checkApprovals and decideApprovals.
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
		resolution.prepareRemember(at, maxRuleAgeMs, newID, faults)
	}
}
