package runs

// InboxView is what is open in all sessions, on the wire (decisions.md 15): the
// snapshot of the inbox's stream.
type InboxView struct {
	PendingApprovals []PendingApprovalView `json:"pending_approvals"`
	PendingQuestions []PendingQuestionView `json:"pending_questions"`
	// More says that there are others, which are in the lists of approvals and questions.
	More bool `json:"more,omitzero"`
}
