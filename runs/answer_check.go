package runs

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// prepare drops a null value next to a decline or answers. A null value alone may be the
// answer; only the question's schema tells.
func (u *QuestionAnswer) prepare() {
	for i := range u.Answers {
		u.Answers[i].Sensitive = false // the service alone says so
	}
	if !u.Verbatim && (u.Declined || len(u.Answers) > 0) {
		document.AbsentNull(&u.Value)
	}
}

// check adds the faults that can be found without the question. The pointer at locates the
// answer in the request body.
func (u *QuestionAnswer) check(at string, faults *refusal.Faults) {
	if u.RequestID == "" {
		faults.Add(at+"/request_id", "is required")
	}
	faults.Text(at+"/justification", u.Justification, api.MaxTextLength)
}

// schemaMatch returns the faults of a value against a JSON Schema, or ErrUnchecked. The pointer
// locates the value in the request body.
type schemaMatch func(schema, value api.JSON, pointer string) ([]api.Fault, error)

// checkAnswer checks an answer against its question (docs/spec/v1.md#order-for-answers), and
// returns the resolution to record, still without an actor. The pointer at locates the answer in
// the request body.
func checkAnswer(question api.UserQuestionRequest, given QuestionAnswer, at string, match schemaMatch) (api.Resolution, error) {
	declined := given.Declined
	resolution := api.Resolution{
		Outcome: api.OutcomeAnswered, Declined: &declined, Justification: given.Justification,
		RuntimePayload: given.RuntimePayload,
	}
	if declined {
		if len(given.Answers) > 0 || given.Value != nil {
			return api.Resolution{}, refusal.New(api.CodeQuestionDeclinedAnswers, "declined user-question resolutions must not include answers")
		}
		resolution.Outcome = api.OutcomeDeclined
		return resolution, nil
	}
	if question.ResponseSchema != nil || given.Verbatim {
		resolution.Value = given.Value
		return resolution, checkValue(question, given, at, match)
	}
	if err := refuseValue(question, given, at); err != nil {
		return api.Resolution{}, err
	}
	resolution.Answers = given.Answers
	return resolution, checkAnswers(question, given.Answers, at)
}

// checkValue checks the value of a typed or verbatim answer. A null value is an answer if the
// schema accepts null; otherwise it counts as absent.
func checkValue(question api.UserQuestionRequest, given QuestionAnswer, at string, match schemaMatch) error {
	typed := question.ResponseSchema != nil
	switch {
	case typed && given.Value == nil:
		return emptyValue(question)
	case typed && len(given.Answers) > 0:
		return unknownAnswers()
	case len(given.Answers) > 0:
		return refusal.Invalid(api.Fault{Pointer: at + "/answers", Detail: "must be empty when a value is given"})
	case given.Value == nil:
		return emptyValue(question)
	case !typed:
		return refuseVerbatim(question, at)
	}
	faults, err := match(question.ResponseSchema, given.Value, at+"/value")
	switch {
	case err != nil:
		return err
	case len(faults) == 0:
		return nil
	case document.Kind(given.Value) == 'n' && !given.Verbatim:
		return emptyValue(question)
	}
	return refusal.Invalid(faults...)
}

func emptyValue(question api.UserQuestionRequest) *refusal.Error {
	return refusal.New(api.CodeQuestionAnswerEmpty, "request %s requires a value", question.ID)
}

// refuseValue refuses a value for structured questions. Null counts as absent.
func refuseValue(question api.UserQuestionRequest, given QuestionAnswer, at string) error {
	if given.Value == nil || document.Kind(given.Value) == 'n' {
		return nil
	}
	return refusal.Invalid(api.Fault{Pointer: at + "/value", Detail: "request " + question.ID + " takes answers, not a value"})
}

// refuseVerbatim refuses a verbatim value for questions that accept only options. Nobody can tell
// whether the value is one of them.
func refuseVerbatim(question api.UserQuestionRequest, at string) error {
	for i := range question.Questions {
		if asked := &question.Questions[i]; !asked.TakesFreeform() {
			return refusal.Invalid(api.Fault{
				Pointer: at + "/value",
				Detail:  "question " + asked.ID + " accepts only its options, as answers: allow_freeform is false",
			})
		}
	}
	return nil
}

// answersByQuestion returns the answers keyed by question id. It returns question_duplicate_answer
// when a question has two answers.
func answersByQuestion(answers []api.UserQuestionAnswer) (map[string]*api.UserQuestionAnswer, error) {
	byQuestion := make(map[string]*api.UserQuestionAnswer, len(answers))
	for i := range answers {
		answer := &answers[i]
		if byQuestion[answer.QuestionID] != nil {
			return nil, refusal.New(api.CodeQuestionDuplicateAnswer, "duplicate answer for question %s", answer.QuestionID)
		}
		byQuestion[answer.QuestionID] = answer
	}
	return byQuestion, nil
}

// checkAnswers checks that each question has a valid answer, in the order of the questions.
func checkAnswers(question api.UserQuestionRequest, answers []api.UserQuestionAnswer, at string) error {
	byQuestion, err := answersByQuestion(answers)
	if err != nil {
		return err
	}
	for _, asked := range question.Questions {
		answer := byQuestion[asked.ID]
		if answer == nil {
			return refusal.New(api.CodeQuestionAnswerMissing, "missing answer for question %s", asked.ID)
		}
		if err := cmp.Or(checkAnswerTo(asked, *answer), checkFreeform(asked, answers, at)); err != nil {
			return err
		}
	}
	if len(answers) > len(question.Questions) {
		return unknownAnswers()
	}
	return nil
}

func unknownAnswers() *refusal.Error {
	return refusal.New(api.CodeQuestionUnknownAnswer, "resolution contains answers for unknown questions")
}

// checkAnswerTo checks the answer to one question: its options, and that it is not empty.
func checkAnswerTo(asked api.UserQuestion, answer api.UserQuestionAnswer) error {
	if answer.Sensitive {
		return nil // a masked answer was checked when it was given
	}
	if !asked.MultiSelect && len(answer.SelectedOptionIDs) > 1 {
		return refusal.New(api.CodeQuestionSingleSelect, "question %s allows only one option", asked.ID)
	}
	offered := make(map[string]bool, len(asked.Options))
	for _, option := range asked.Options {
		offered[option.ID] = true
	}
	chosen := make(map[string]bool, len(answer.SelectedOptionIDs))
	for _, optionID := range answer.SelectedOptionIDs {
		shown := optionID
		if asked.Sensitive {
			shown = "(sensitive)"
		}
		if chosen[optionID] {
			return refusal.New(api.CodeQuestionDuplicateOption, "duplicate option %s for question %s", shown, asked.ID)
		}
		if !offered[optionID] {
			return refusal.New(api.CodeQuestionOptionNotFound, "unknown option %s for question %s", shown, asked.ID)
		}
		chosen[optionID] = true
	}
	if len(chosen) == 0 && strings.TrimSpace(answer.FreeformAnswer) == "" {
		return refusal.New(api.CodeQuestionAnswerEmpty, "question %s requires at least one answer", asked.ID)
	}
	return nil
}

// checkFreeform refuses an answer in the person's own words to a question that accepts only its
// options.
func checkFreeform(asked api.UserQuestion, answers []api.UserQuestionAnswer, at string) error {
	if asked.TakesFreeform() {
		return nil
	}
	for i := range answers {
		if answer := &answers[i]; answer.QuestionID == asked.ID && answer.FreeformAnswer != "" {
			return refusal.Invalid(api.Fault{
				Pointer: fmt.Sprintf("%s/answers/%d/freeform_answer", at, i),
				Detail:  "question " + asked.ID + " accepts only its options: allow_freeform is false",
			})
		}
	}
	return nil
}

// inParts reports whether a partial answer is stored as a part. A decline, a typed value and a
// verbatim value are always whole.
func (u *QuestionAnswer) inParts(question api.UserQuestionRequest) bool {
	return !u.Declined && !u.Verbatim && question.ResponseSchema == nil
}

// checkPart checks answers to some questions of an open request, and merges them with the stored
// ones, in the order of the questions. When several errors apply, it returns the same one as
// checkAnswers.
func checkPart(question api.UserQuestionRequest, given QuestionAnswer, at string) ([]api.UserQuestionAnswer, error) {
	if err := refuseValue(question, given, at); err != nil {
		return nil, err
	}
	added, err := answersByQuestion(given.Answers)
	if err != nil {
		return nil, err
	}
	kept, err := answersByQuestion(question.PartialAnswers)
	if err != nil {
		return nil, err
	}
	var answers []api.UserQuestionAnswer
	missing, known := "", 0
	for _, asked := range question.Questions {
		before, answer := kept[asked.ID], added[asked.ID]
		switch {
		case before == nil && answer == nil:
			missing = cmp.Or(missing, asked.ID)
			continue
		case answer == nil:
			answers = append(answers, *before)
			continue
		case before != nil:
			return nil, refusal.New(api.CodeQuestionStateConflict, "question %s of request %s is answered already", asked.ID, question.ID)
		}
		if err := cmp.Or(checkAnswerTo(asked, *answer), checkFreeform(asked, given.Answers, at)); err != nil {
			return nil, err
		}
		known++
		answers = append(answers, *answer)
	}
	switch {
	case len(added) == 0:
		return nil, refusal.New(api.CodeQuestionAnswerMissing, "missing answer for question %s", missing)
	case known < len(added):
		return nil, unknownAnswers()
	}
	return answers, nil
}

// checkPartBytes returns invalid_request when the stored answers would be too large with another part. The first part
// alone is never refused. secret has the encrypted form of sensitive answers, or is nil.
func checkPartBytes(question *api.UserQuestionRequest, answers []api.UserQuestionAnswer, secret *sealedDecision, at string) error {
	stored := document.Encode(answers)
	if secret != nil {
		stored = secret.sealed
	}
	if len(question.PartialAnswers) == 0 || len(stored) <= api.MaxPartialAnswerBytes {
		return nil
	}
	return refusal.Invalid(api.Fault{
		Pointer: at + "/answers",
		Detail: fmt.Sprintf("request %s would have %d bytes of answers as they are stored; at most %d are allowed until all are given: answer all of its questions at once",
			question.ID, len(stored), api.MaxPartialAnswerBytes),
	})
}
