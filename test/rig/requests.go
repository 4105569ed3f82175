package rig

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// Approval returns a request to approve a call of the tool "deploy".
func Approval(id string) api.ApprovalRequest {
	return api.ApprovalRequest{ID: id, ToolCallID: "call-" + id, ToolName: "deploy", Input: api.JSON(`{"to":"production"}`)}
}

// Approvals returns a suspension that asks for these approvals.
func Approvals(ids ...string) *api.Suspension {
	suspension := &api.Suspension{}
	for _, id := range ids {
		suspension.Approvals = append(suspension.Approvals, Approval(id))
	}
	return suspension
}

// Question returns a request with one question, "way", and the options "left" and "right".
func Question(id string) api.UserQuestionRequest {
	return api.UserQuestionRequest{ID: id, ToolCallID: "call-" + id, Questions: []api.UserQuestion{{
		ID: "way", Question: "Which way?",
		AllowFreeform: new(true), Options: []api.QuestionOption{{ID: "left", Label: "Left"}, {ID: "right", Label: "Right"}},
	}}}
}

// Questions returns a suspension that asks one [Question].
func Questions(id string) *api.Suspension {
	return &api.Suspension{Questions: []api.UserQuestionRequest{Question(id)}}
}

// Allow returns the decision that allows a request.
func Allow(id string) api.ApprovalResolution {
	return api.ApprovalResolution{RequestID: id, Behavior: api.BehaviorAllow}
}

// Deny returns the decision that denies a request.
func Deny(id string) api.ApprovalResolution {
	return api.ApprovalResolution{RequestID: id, Behavior: api.BehaviorDeny}
}

// Decide returns the parameters for these decisions, without an idempotency key.
func Decide(decisions ...api.ApprovalResolution) client.ResolveApprovalsParams {
	return client.ResolveApprovalsParams{Resolutions: decisions}
}

// Choose returns the parameters of a call that answers a [Question] with an option, or declines
// it when the option is empty.
func Choose(id, optionID string) client.AnswerQuestionParams {
	resolution := api.UserQuestionResolution{RequestID: id, Declined: optionID == ""}
	if optionID != "" {
		resolution.Answers = []api.UserQuestionAnswer{{QuestionID: "way", SelectedOptionIDs: []string{optionID}}}
	}
	return client.AnswerQuestionParams{Resolution: resolution}
}

// Outcomes returns the outcomes in a worker's Resume, approvals before questions.
func Outcomes(resume *api.Resume) []api.Outcome {
	if resume == nil {
		return nil
	}
	var outcomes []api.Outcome
	for _, settled := range resume.Approvals {
		outcomes = append(outcomes, settled.Resolution.Outcome)
	}
	for _, settled := range resume.Questions {
		outcomes = append(outcomes, settled.Resolution.Outcome)
	}
	return outcomes
}
