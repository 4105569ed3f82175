package codex

import (
	"slices"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
)

// resolution translates an accept or a decline of a question into that of the domain.
//
// An answer is a list of texts. A text that is the label or the id of an option chooses
// it; all others together are the free text of the answer, each on a line of its own.
// Answers to questions that nobody asked go to the runtime and nowhere else.
//
// Errors: a [refusal] that names the question.
func (d *toolInputDecision) resolution(asked *api.UserQuestionRequest) (runs.QuestionAnswer, error) {
	resolution := runs.QuestionAnswer{RequestID: asked.ID, RuntimePayload: d.payload()}
	switch {
	case d.decision == decline:
		resolution.Declined = true
		return resolution, nil
	case d.response != nil:
		resolution.Verbatim, resolution.Value = true, d.response
		return resolution, nil
	case d.answers == nil:
		return resolution, invalid(issue{Code: "custom", Path: []any{"answers"}, Message: "Required: an accept needs answers or a response"})
	}
	if issues := d.missing(asked); issues != nil {
		return resolution, invalid(issues...)
	}
	if asked.ResponseSchema != nil {
		wanted := typedQuestionOf(asked)
		value, ok := wanted.value(d.answers[wanted.id])
		if !ok {
			return resolution, invalid(issue{Code: "custom", Path: []any{"answers", wanted.id, "answers"}, Message: "Must hold one text"})
		}
		resolution.Value = value
		return resolution, nil
	}
	for i := range asked.Questions {
		resolution.Answers = append(resolution.Answers, answerTo(&asked.Questions[i], d.answers[asked.Questions[i].ID]))
	}
	return resolution, nil
}

// missing names the questions to which there is no answer.
func (d *toolInputDecision) missing(asked *api.UserQuestionRequest) []issue {
	var issues []issue
	for _, question := range questionsOf(asked) {
		given, there := d.answers[question.ID]
		switch {
		case !there:
			issues = append(issues, issue{Code: "custom", Path: []any{"answers", question.ID}, Message: "Required"})
		case !slices.ContainsFunc(given, func(one string) bool { return strings.TrimSpace(one) != "" }):
			issues = append(issues, issue{Code: "custom", Path: []any{"answers", question.ID, "answers"}, Message: "Must not be empty"})
		}
	}
	return issues
}

// answerTo translates the answer to one question. Two options where one may be chosen are
// left to the domain, which refuses them: nobody can say which one was meant.
func answerTo(question *api.UserQuestion, given []string) api.UserQuestionAnswer {
	answer := api.UserQuestionAnswer{QuestionID: question.ID}
	var free []string
	for _, one := range given {
		optionID, chosen := optionOf(question, one)
		switch {
		case !chosen && strings.TrimSpace(one) != "":
			free = append(free, one)
		case chosen && !slices.Contains(answer.SelectedOptionIDs, optionID):
			answer.SelectedOptionIDs = append(answer.SelectedOptionIDs, optionID)
		}
	}
	answer.FreeformAnswer = strings.Join(free, "\n")
	return answer
}

// optionOf finds an option by its label, which is what people see, or else by its id.
func optionOf(question *api.UserQuestion, given string) (optionID string, found bool) {
	for i := range question.Options {
		if question.Options[i].Label == given {
			return question.Options[i].ID, true
		}
	}
	for i := range question.Options {
		if question.Options[i].ID == given {
			return given, true
		}
	}
	return "", false
}

// issuesOf puts a refusal of an answer into the words of this contract, and returns nil
// when the error is not about the answer.
func (d *toolInputDecision) issuesOf(asked *api.UserQuestionRequest, resolution *runs.QuestionAnswer, err error) error {
	refused := domainError(err)
	if refused == nil {
		return nil
	}
	at := []any{"answers"}
	switch {
	case d.response != nil:
		at = []any{"response"}
	case asked.ResponseSchema != nil:
		wanted := typedQuestionOf(asked)
		at = []any{"answers", wanted.id, "answers"}
	}
	switch refused.Code {
	case api.CodeInvalidRequest:
		return invalid(issuesOf(refused, func(path []any) []any {
			// The domain says /resolution/value/…; what follows is inside the value.
			if d.response != nil && len(path) > 2 {
				return append(at, path[2:]...)
			}
			return at
		})...)
	case api.CodeQuestionSingleSelect:
		for i := range asked.Questions {
			if !asked.Questions[i].MultiSelect && len(resolution.Answers[i].SelectedOptionIDs) > 1 {
				at = []any{"answers", asked.Questions[i].ID, "answers"}
			}
		}
	case api.CodeQuestionAnswerMissing, api.CodeQuestionAnswerEmpty, api.CodeQuestionDuplicateAnswer,
		api.CodeQuestionDuplicateOption, api.CodeQuestionOptionNotFound, api.CodeQuestionUnknownAnswer,
		api.CodeQuestionDeclinedAnswers:
	default:
		return nil
	}
	return invalid(issue{Code: "custom", Path: at, Message: refused.Detail})
}
