package runs

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// questionAnsweredEvent reports answers to some of a request's questions.
type questionAnsweredEvent struct {
	Type          api.EventType            `json:"type"`
	RequestID     string                   `json:"request_id"`
	QuestionIDs   []string                 `json:"question_ids"`
	Answers       []api.UserQuestionAnswer `json:"answers"`
	Justification string                   `json:"justification,omitempty"`
	ResolvedBy    string                   `json:"resolved_by"`
	Via           string                   `json:"via"`
	// Open is how many of the questions have no answer.
	Open int `json:"open"`
}

// inParts reports whether a partial answer is kept: a decline goes before what was
// kept, and one value has no parts.
func (u *QuestionAnswer) inParts(question api.UserQuestionRequest) bool {
	return !u.Declined && !u.Verbatim && question.ResponseSchema == nil
}

// checkPart checks answers to some of the questions of an open request, and returns
// all that there are now, in the order of the questions. Where two errors could be
// told, it is the one that checkAnswers would tell.
func checkPart(question api.UserQuestionRequest, given QuestionAnswer, at string) ([]api.UserQuestionAnswer, error) {
	if err := refuseValue(question, given, at); err != nil {
		return nil, err
	}
	added, err := byQuestion(given.Answers)
	if err != nil {
		return nil, err
	}
	kept, err := byQuestion(question.PartialAnswers)
	if err != nil {
		return nil, err
	}
	var answers []api.UserQuestionAnswer
	missing, known := "", 0
	for _, asked := range question.Questions {
		before, answer := kept[asked.ID], added[asked.ID]
		switch {
		case before == nil && answer == nil:
			if missing == "" {
				missing = asked.ID
			}
			continue
		case answer == nil:
			answers = append(answers, *before)
			continue
		case before != nil:
			return nil, refusal.New(api.CodeQuestionStateConflict, "question %s of request %s is answered already", asked.ID, question.ID)
		}
		if err := checkOne(asked, *answer); err != nil {
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

// keepPart keeps answers that have been checked until there is one to each question.
func (w *work) keepPart(run *model.Run, request *model.Request, given QuestionAnswer, answers []api.UserQuestionAnswer, actor Actor) {
	ids := make([]string, len(given.Answers))
	for i := range given.Answers {
		ids[i] = given.Answers[i].QuestionID
	}
	w.own(request).PartialAnswers = document.Encode(answers)
	w.emit(run, api.EventUserQuestionAnswered, questionAnsweredEvent{
		Type: api.EventUserQuestionAnswered, RequestID: request.RequestID, QuestionIDs: ids, Answers: given.Answers,
		Justification: given.Justification, ResolvedBy: actor.Name, Via: actor.Via,
		Open: len(request.Question().Questions) - len(answers),
	})
	w.saveRun(run)
}
