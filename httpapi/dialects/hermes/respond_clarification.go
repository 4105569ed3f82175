package hermes

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/internal/cpulimit"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// respondClarification answers one question. The order of its checks is part of the
// contract (docs/spec/hermes.md#clarify-respond).
func (f *face) respondClarification(w http.ResponseWriter, r *http.Request) error {
	var body clarifyBody
	var sessionID, clarifyID, response, misnamed string
	err := readBody(w, r, &body, func() error {
		sessionID, clarifyID, response = idOf(body.SessionID), idOf(body.ClarifyID), body.response()
		if clarifyID == "" {
			misnamed = otherID(body.Unnamed)
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case sessionID == "":
		return refuse(http.StatusBadRequest, textNoSession)
	case response == "":
		return refuse(http.StatusBadRequest, textNoResponse)
	case len(response) > MaxResponseBytes:
		return refuse(http.StatusRequestEntityTooLarge, "the response must have at most "+strconv.Itoa(MaxResponseBytes)+" bytes")
	case misnamed != "":
		return refuseOtherID(misnamed, "clarify_id")
	}
	actor, err := f.Actor(r)
	if err != nil {
		return err
	}
	question, err := f.chosenQuestion(r.Context(), sessionID, clarifyID)
	if err != nil {
		return err
	}
	if question == nil {
		return errStale
	}
	if err := f.answerQuestion(r.Context(), question, response, actor); err != nil {
		switch kit.LateOf(err) {
		case kit.Settled, kit.RunOver, kit.NoRun, kit.NoRequest:
			return errStale
		case kit.NotLate, kit.SessionOver:
		}
		if refusal.CodeOf(err) == api.CodeInvalidRequest {
			return refuse(http.StatusBadRequest, "The response does not fit the question: "+faultsOf(err))
		}
		return err
	}
	if clarifyID == "" {
		w.Header()[ClarifyIDHeader] = []string{question.clarifyID}
	}
	if question.sensitive() {
		response = ""
	}
	return f.Answer(w, r, http.StatusOK, answered{OK: true, Response: response})
}

// chosenQuestion returns the open question that an answer is for, or nil: the one with the id,
// otherwise the oldest.
func (f *face) chosenQuestion(ctx context.Context, sessionID, clarifyID string) (*openQuestion, error) {
	var questions []openQuestion
	var err error
	if clarifyID == "" {
		questions, err = f.oldestQuestions(ctx, sessionID)
	} else {
		handle, _, _ := strings.Cut(clarifyID, ":")
		var request *model.Request
		if request, err = f.OpenInSession(ctx, model.KindQuestion, sessionID, handle); request != nil {
			questions = questionsOf(request)
		}
	}
	for i := range questions {
		if clarifyID == "" || questions[i].clarifyID == clarifyID {
			return &questions[i], nil
		}
	}
	return nil, err
}

// answerQuestion answers a question with a text. Errors: errStale, and errors of
// [runs.AnswerQuestion].
func (f *face) answerQuestion(ctx context.Context, question *openQuestion, text string, actor runs.Actor) error {
	if question.structured != nil {
		var answer api.UserQuestionAnswer
		err := cpulimit.Do(ctx, len(text), func() (err error) {
			answer, err = answerTo(question.structured, text)
			return err
		})
		if err != nil {
			return err
		}
		return f.settle(ctx, question, actor, runs.QuestionAnswer{Answers: []api.UserQuestionAnswer{answer}})
	}
	// A value that the schema refuses changes nothing, so every reading of the text is tried. The
	// last error is returned.
	var readings []api.JSON
	err := cpulimit.Do(ctx, len(text), func() (err error) {
		readings, err = question.readings(text)
		return err
	})
	for _, value := range readings {
		err = f.settle(ctx, question, actor, runs.QuestionAnswer{Value: value})
		if refusal.CodeOf(err) != api.CodeInvalidRequest {
			return err
		}
	}
	return err
}

func (f *face) settle(ctx context.Context, question *openQuestion, actor runs.Actor, resolution runs.QuestionAnswer) error {
	resolution.RequestID = question.request.RequestID
	reply, err := f.Store.Do(ctx, &runs.AnswerQuestion{
		RunID: question.request.RunID, Resolution: resolution,
		Partial: len(question.body.Questions) > 1 && question.structured != nil, Actor: actor,
	})
	if err == nil && reply.Existing {
		return errStale // a parent clarification already has the same answer
	}
	return err
}

// answerTo reads a text as an answer to a structured question: labels or ids of options select
// them, anything else is free text, which the door refuses where the question accepts only options.
// Errors: ambiguous labels.
func answerTo(question *api.UserQuestion, text string) (api.UserQuestionAnswer, error) {
	answer := api.UserQuestionAnswer{QuestionID: question.ID}
	switch id, matches := kit.OptionOf(question, text, strings.TrimSpace); {
	case matches > 1:
		return answer, refuse(http.StatusBadRequest, textAmbiguous)
	case matches == 1:
		answer.SelectedOptionIDs = []string{id}
		return answer, nil
	}
	if question.MultiSelect {
		selected, ambiguous := kit.OptionsOf(question, text)
		if ambiguous {
			return answer, refuse(http.StatusBadRequest, textAmbiguous)
		}
		if selected != nil {
			answer.SelectedOptionIDs = selected
			return answer, nil
		}
	}
	answer.FreeformAnswer = text
	return answer, nil
}

// readings returns the values that a text can stand for in a typed question: the option with that
// label or, failing that, id, alone or as the one element of a list, the string itself, and its JSON
// value. Errors: several options with different values have the label.
func (q *openQuestion) readings(text string) ([]api.JSON, error) {
	var values []api.JSON
	options := q.payloadOptions()
	for _, name := range []func(option *payloadOption) string{
		func(option *payloadOption) string { return option.label },
		func(option *payloadOption) string { return option.id },
	} {
		for i := range options {
			switch option := &options[i]; {
			case name(option) != text:
			case values == nil:
				values = []api.JSON{option.value}
			case kit.Compact(values[0]) != kit.Compact(option.value):
				return nil, refuse(http.StatusBadRequest, textAmbiguous)
			}
		}
		if values != nil {
			values = append(values, kit.Encode(values))
			break
		}
	}
	values = append(values, kit.Encode(text))
	if document.Check([]byte(text)) == nil {
		values = append(values, api.JSON(text))
	}
	return values, nil
}
