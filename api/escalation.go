package api

// Escalation says what happens while a request is open: what its deadline does.
type Escalation struct {
	_ struct{} `body:"closed"`
	// AtDeadline is what the deadline does; empty for the default of the kind of request.
	AtDeadline DeadlineAction `json:"at_deadline,omitempty"`
	// DefaultAnswer is recorded by DeadlineAnswer, and only given with it.
	DefaultAnswer *DefaultAnswer `json:"default_answer,omitempty"`
}

// DeadlineAction is what the deadline of a request does. Its outcome is expired. None ever allows.
type DeadlineAction string

// The actions of deadlines.
const (
	// DeadlineDeny denies an approval, and the run continues. The default of approvals.
	DeadlineDeny DeadlineAction = "deny"
	// DeadlineCancelRun cancels the run of a question. The default of questions.
	DeadlineCancelRun DeadlineAction = "cancel_run"
	// DeadlineDecline declines a question, and the run continues.
	DeadlineDecline DeadlineAction = "decline"
	// DeadlineAnswer records DefaultAnswer for a question, and the run continues.
	DeadlineAnswer DeadlineAction = "answer"
	// DeadlineKeep leaves the request open. People may still decide.
	DeadlineKeep DeadlineAction = "keep"
)

// DefaultAnswer is the answer to a question that nobody answered in time. It must be a valid answer.
type DefaultAnswer struct {
	_ struct{} `body:"closed"`
	// Answers answer structured questions, and Value a typed one.
	Answers []UserQuestionAnswer `json:"answers,omitempty"`
	Value   JSON                 `json:"value,omitzero"`
}
