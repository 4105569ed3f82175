package runs

import "strings"

// checkAnswer checks an answer against its question in the order of kheish.md 1.6
// step 7, and returns what is to be recorded.
func checkAnswer(question UserQuestionRequest, given UserQuestionResolution) (Resolution, error) {
	declined := given.Declined
	resolution := Resolution{Outcome: OutcomeAnswered, Declined: &declined, Justification: given.Justification}
	if declined {
		if len(given.Answers) > 0 || given.Value != nil {
			return Resolution{}, newError(CodeQuestionDeclinedAnswers, "declined user-question resolutions must not include answers")
		}
		resolution.Outcome = OutcomeDeclined
		return resolution, nil
	}
	if question.ResponseSchema != nil {
		resolution.Value = given.Value
		return resolution, checkValue(question, given)
	}
	if given.Value != nil {
		return Resolution{}, invalid(Fault{Pointer: "/resolution/value", Detail: "request " + question.ID + " takes answers, not a value"})
	}
	resolution.Answers = given.Answers
	return resolution, checkAnswers(question, given.Answers)
}

func checkValue(question UserQuestionRequest, given UserQuestionResolution) error {
	if len(given.Answers) > 0 {
		return newError(CodeQuestionUnknownAnswer, "resolution contains answers for unknown questions")
	}
	if given.Value == nil {
		return newError(CodeQuestionAnswerEmpty, "request %s requires a value", question.ID)
	}
	if faults := matchSchema(question.ResponseSchema, given.Value, "/resolution/value"); len(faults) > 0 {
		return invalid(faults...)
	}
	return nil
}

func checkAnswers(question UserQuestionRequest, answers []UserQuestionAnswer) error {
	byQuestion := make(map[string]*UserQuestionAnswer, len(answers))
	for i := range answers {
		answer := &answers[i]
		if byQuestion[answer.QuestionID] != nil {
			return newError(CodeQuestionDuplicateAnswer, "duplicate answer for question %s", answer.QuestionID)
		}
		byQuestion[answer.QuestionID] = answer
	}
	for _, asked := range question.Questions {
		answer := byQuestion[asked.ID]
		if answer == nil {
			return newError(CodeQuestionAnswerMissing, "missing answer for question %s", asked.ID)
		}
		if err := checkOne(asked, *answer); err != nil {
			return err
		}
	}
	if len(answers) > len(question.Questions) {
		return newError(CodeQuestionUnknownAnswer, "resolution contains answers for unknown questions")
	}
	return nil
}

func checkOne(asked UserQuestion, answer UserQuestionAnswer) error {
	if !asked.MultiSelect && len(answer.SelectedOptionIDs) > 1 {
		return newError(CodeQuestionSingleSelect, "question %s allows only one option", asked.ID)
	}
	offered := make(map[string]bool, len(asked.Options))
	for _, option := range asked.Options {
		offered[option.ID] = true
	}
	chosen := make(map[string]bool, len(answer.SelectedOptionIDs))
	for _, optionID := range answer.SelectedOptionIDs {
		if chosen[optionID] {
			return newError(CodeQuestionDuplicateOption, "duplicate option %s for question %s", optionID, asked.ID)
		}
		if !offered[optionID] {
			return newError(CodeQuestionOptionNotFound, "unknown option %s for question %s", optionID, asked.ID)
		}
		chosen[optionID] = true
	}
	if len(chosen) == 0 && strings.TrimSpace(answer.FreeformAnswer) == "" {
		return newError(CodeQuestionAnswerEmpty, "question %s requires at least one answer", asked.ID)
	}
	return nil
}
