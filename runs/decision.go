package runs

import "github.com/holdpoint/holdpoint/api"

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
