package model

import (
	"strings"

	"github.com/holdpoint/holdpoint/api"
)

// ClarificationAnswerOf returns the answer to a clarification as the child's worker receives it,
// in its Resume and in its mailbox.
func ClarificationAnswerOf(question api.UserQuestionRequest, resolution api.Resolution) api.ClarificationAnswer {
	answer := labelAnswers(question, resolution)
	return api.ClarificationAnswer{
		RequestID: resolution.RequestID, Declined: answer.Declined, Summary: answer.Summary,
		Answers: answer.Answers, Value: answer.Value, Justification: answer.Justification,
		RuntimePayload: answer.RuntimePayload, Traceparent: question.Traceparent,
	}
}

// SettledApproval returns a settled approval with its settled number, for an attached worker.
// leaseExpiresAtMs is the end of its run's lease. Call it only on a settled request of
// [KindApproval].
func (r *Request) SettledApproval(leaseExpiresAtMs int64) api.SettledApproval {
	settled := r.settledApproval(leaseExpiresAtMs)
	settled.SettledNumber = r.SettledNumber
	return settled
}

// SettledQuestion returns a settled question or clarification with its settled number, for an
// attached worker. Numbers may have gaps: an unparked clarification has one, but is not shown. Call it only on a
// settled request that is not of [KindApproval].
func (r *Request) SettledQuestion() api.SettledQuestion {
	settled := r.settledQuestion()
	settled.SettledNumber = r.SettledNumber
	return settled
}

func (r *Request) settledApproval(leaseExpiresAtMs int64) api.SettledApproval {
	settled := api.SettledApproval{Request: r.Approval(), Resolution: r.Recorded()}
	settled.Resolution.Grant = r.Grant(leaseExpiresAtMs)
	return settled
}

func (r *Request) settledQuestion() api.SettledQuestion {
	question := r.Question()
	if r.Kind == KindClarification {
		question = r.Clarification().Request
	}
	return api.SettledQuestion{Request: question, Resolution: labelAnswers(question, r.Recorded())}
}

// labelAnswers adds the labels that the person saw, and the summary for a model
// (docs/spec/v1.md#answers-and-summary).
func labelAnswers(question api.UserQuestionRequest, resolution api.Resolution) api.AnswerForWorker {
	answer := api.AnswerForWorker{
		RequestID: resolution.RequestID, Outcome: resolution.Outcome,
		Declined: resolution.Declined != nil && *resolution.Declined,
		Answers:  []api.LabelledAnswer{}, Value: resolution.Value, Reason: resolution.Reason,
		ResolvedBy: resolution.ResolvedBy, ResolvedAtMs: resolution.ResolvedAtMs, Via: resolution.Via, ViaPrincipal: resolution.ViaPrincipal,
		RuntimePayload: resolution.RuntimePayload,
	}
	if resolution.Justification != "" {
		answer.Justification = &resolution.Justification
	}
	lines := make([]string, 0, len(question.Questions))
	for _, asked := range question.Questions {
		for _, given := range resolution.Answers {
			if given.QuestionID == asked.ID {
				labelled := labelAnswer(asked, given)
				answer.Answers = append(answer.Answers, labelled)
				lines = append(lines, asked.Question+": "+answerText(&labelled))
			}
		}
	}
	answer.Summary = strings.Join(lines, "\n")
	if len(lines) == 0 && resolution.Value != nil {
		answer.Summary = string(resolution.Value)
	}
	return answer
}

func labelAnswer(asked api.UserQuestion, given api.UserQuestionAnswer) api.LabelledAnswer {
	labelled := api.LabelledAnswer{
		QuestionID: asked.ID, Header: asked.Header, Question: asked.Question,
		SelectedOptionIDs: []string{}, SelectedOptions: []api.QuestionOption{}, FreeformAnswer: given.FreeformAnswer, Sensitive: given.Sensitive,
	}
	for _, optionID := range given.SelectedOptionIDs {
		labelled.SelectedOptionIDs = append(labelled.SelectedOptionIDs, optionID)
		for _, option := range asked.Options {
			if option.ID == optionID {
				labelled.SelectedOptions = append(labelled.SelectedOptions, api.QuestionOption{ID: option.ID, Label: option.Label, Description: option.Description})
			}
		}
	}
	return labelled
}

// answerText returns an answer as one line. Labels of selected options replace free text.
func answerText(a *api.LabelledAnswer) string {
	if a.Sensitive {
		return "(sensitive)"
	}
	if len(a.SelectedOptions) == 0 {
		return a.FreeformAnswer
	}
	labels := make([]string, len(a.SelectedOptions))
	for i, option := range a.SelectedOptions {
		labels[i] = option.Label
	}
	return strings.Join(labels, ", ")
}
