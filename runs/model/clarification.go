package model

import "github.com/holdpoint/holdpoint/api"

// Clarification is the body of a request of KindClarification.
type Clarification struct {
	Request   api.UserQuestionRequest `json:"request"`
	WaitingOn api.WaitingOn           `json:"waiting_on"`
	// Parked: the child's run waits for the answer. Otherwise it goes on and reads its
	// mailbox.
	Parked bool `json:"parked"`
}

// clarificationAnswer is a question's answer in the form that the child is handed.
func ClarificationAnswerOf(question api.UserQuestionRequest, resolution api.Resolution) api.ClarificationAnswer {
	answer := labelAnswers(question, resolution)
	return api.ClarificationAnswer{
		RequestID: resolution.RequestID, Declined: answer.Declined, Summary: answer.Summary,
		Answers: answer.Answers, Value: answer.Value, Justification: answer.Justification,
		RuntimePayload: answer.RuntimePayload,
	}
}
