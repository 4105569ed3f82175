package codex

import (
	"slices"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/runs"
)

// resolution converts an accept or a decline of a question to the domain's resolution.
//
// An answer is a list of texts. A text that is the label or the id of an option selects it. All
// other texts together are the free text, one per line. Answers to unknown questions are passed to
// the runtime but not recorded.
//
// Errors: issues that name the question (docs/spec/codex.md#answers).
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
		return resolution, invalid(issue{"custom", []any{"answers"}, "Required: an accept needs answers or a response"})
	}
	if issues := d.missing(asked); issues != nil {
		return resolution, invalid(issues...)
	}
	if asked.ResponseSchema != nil {
		wanted := typedQuestionOf(asked)
		value, fault := wanted.value(d.answers[wanted.id])
		if fault != "" {
			return resolution, invalid(issue{"custom", []any{"answers", wanted.id, "answers"}, fault})
		}
		resolution.Value = value
		return resolution, nil
	}
	var issues []issue
	for i := range asked.Questions {
		question := &asked.Questions[i]
		answer, ambiguous := answerTo(question, d.answers[question.ID])
		if ambiguous {
			issues = append(issues, issue{"custom", []any{"answers", question.ID, "answers"}, textAmbiguous})
		}
		resolution.Answers = append(resolution.Answers, answer)
	}
	if issues != nil {
		return resolution, invalid(issues...)
	}
	return resolution, nil
}

// missing lists the questions without an answer.
func (d *toolInputDecision) missing(asked *api.UserQuestionRequest) []issue {
	var issues []issue
	for _, question := range questionsOf(asked) {
		given, there := d.answers[question.ID]
		switch {
		case !there:
			issues = append(issues, issue{"custom", []any{"answers", question.ID}, "Required"})
		case !slices.ContainsFunc(given, func(text string) bool { return strings.TrimSpace(text) != "" }):
			issues = append(issues, issue{"custom", []any{"answers", question.ID, "answers"}, "Must not be empty"})
		}
	}
	return issues
}

// answerTo converts the answer to one question, and reports whether a text is the label of several
// options. The door refuses two options where only one is allowed.
func answerTo(question *api.UserQuestion, given []string) (answer api.UserQuestionAnswer, ambiguous bool) {
	answer.QuestionID = question.ID
	var free []string
	for _, text := range given {
		optionID, matches := kit.OptionOf(question, text, nil)
		ambiguous = ambiguous || matches > 1
		switch {
		case matches == 0 && strings.TrimSpace(text) != "":
			free = append(free, text)
		case matches > 0 && !slices.Contains(answer.SelectedOptionIDs, optionID):
			answer.SelectedOptionIDs = append(answer.SelectedOptionIDs, optionID)
		}
	}
	answer.FreeformAnswer = strings.Join(free, "\n")
	return answer, ambiguous
}

// unfit returns the issues of an answer that the door refused; see [kit.Unfit].
func (d *toolInputDecision) unfit(asked *api.UserQuestionRequest, resolution *runs.QuestionAnswer, err error) error {
	refused := kit.RefusalOf(err)
	at := []any{"answers"}
	switch {
	case d.response != nil:
		at = []any{"response"}
	case asked.ResponseSchema != nil:
		at = []any{"answers", typedQuestionOf(asked).id, "answers"}
	}
	if d.response == nil && asked.ResponseSchema == nil {
		for i := range resolution.Answers {
			if resolution.Answers[i].FreeformAnswer != "" && !asked.Questions[i].TakesFreeform() {
				at = []any{"answers", asked.Questions[i].ID, "answers"}
				break
			}
		}
	}
	if refused.Code == api.CodeInvalidRequest {
		return invalid(issuesOf(refused, func(path []any) []any {
			// The path in the command is /resolution/value/…; the rest is inside of the value.
			if d.response != nil && len(path) > 2 {
				return append(at, path[2:]...)
			}
			return at
		})...)
	}
	if refused.Code == api.CodeQuestionSingleSelect {
		for i := range asked.Questions {
			if !asked.Questions[i].MultiSelect && len(resolution.Answers[i].SelectedOptionIDs) > 1 {
				at = []any{"answers", asked.Questions[i].ID, "answers"}
			}
		}
	}
	return invalid(issue{"custom", at, refused.Detail})
}
