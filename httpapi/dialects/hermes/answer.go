package hermes

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// answer gives a text as the answer to one question. Whether it fits is for the door
// to say. Errors: errStale, and those of runs.AnswerQuestion.
func (f *face) answer(ctx context.Context, question *asked, text string, who runs.Actor) error {
	if question.one != nil {
		return f.give(ctx, question, who, runs.QuestionAnswer{
			Answers: []api.UserQuestionAnswer{answerTo(question.one, text)},
		})
	}
	// A value that the schema refuses changes nothing, so the readings of a text are
	// tried one after the other. What is wrong with the last is what is told.
	var err error
	for _, value := range question.readings(text) {
		err = f.give(ctx, question, who, runs.QuestionAnswer{Value: value})
		if refusal.CodeOf(err) != api.CodeInvalidRequest {
			return err
		}
	}
	return err
}

func (f *face) give(ctx context.Context, question *asked, who runs.Actor, resolution runs.QuestionAnswer) error {
	resolution.RequestID = question.request.RequestID
	reply, err := f.services.Store.Do(ctx, &runs.AnswerQuestion{
		RunID: question.request.RunID, Resolution: resolution,
		Partial: len(question.body.Questions) > 1 && question.one != nil, Actor: who,
	})
	if err == nil && reply.Existing {
		// The same answer to a parent clarification was recorded before.
		return errStale
	}
	return err
}

// answerTo reads a text as an answer to a structured question: the labels or ids of
// options select them, anything else is the person's own words, which are taken too
// (hermes.md 7.2.12).
func answerTo(question *api.UserQuestion, text string) api.UserQuestionAnswer {
	answer := api.UserQuestionAnswer{QuestionID: question.ID}
	if optionID, ok := optionOf(question, text); ok {
		answer.SelectedOptionIDs = []string{optionID}
		return answer
	}
	if question.MultiSelect {
		if answer.SelectedOptionIDs = optionsOf(question, text); answer.SelectedOptionIDs != nil {
			return answer
		}
	}
	answer.FreeformAnswer = text
	return answer
}

// optionOf returns the id of the option with that label, else of the one with that id.
func optionOf(question *api.UserQuestion, text string) (string, bool) {
	for i := range question.Options {
		if strings.TrimSpace(question.Options[i].Label) == text {
			return question.Options[i].ID, true
		}
	}
	for i := range question.Options {
		if question.Options[i].ID == text {
			return text, true
		}
	}
	return "", false
}

// optionsOf returns the options that a list with commas names, each once, or nil when
// one of its items is none.
func optionsOf(question *api.UserQuestion, text string) []string {
	var chosen []string
	for item := range strings.SplitSeq(text, ",") {
		optionID, ok := optionOf(question, strings.TrimSpace(item))
		if !ok {
			return nil
		}
		if !slices.Contains(chosen, optionID) {
			chosen = append(chosen, optionID)
		}
	}
	return chosen
}

// question returns what a person is asked.
func (a *asked) question() string {
	if a.one != nil {
		return cmp.Or(a.one.Question, a.one.Header)
	}
	if text := a.payload().Question; text != "" {
		return text
	}
	if a.body.Payload != nil {
		return compact(a.body.Payload)
	}
	return a.body.Kind
}

// choices returns the labels that are offered; never nil.
func (a *asked) choices() []string {
	choices := []string{}
	if a.one != nil {
		for i := range a.one.Options {
			choices = append(choices, cmp.Or(a.one.Options[i].Label, a.one.Options[i].ID))
		}
		return choices
	}
	for _, value := range a.enum() {
		choices = append(choices, shownText(value))
	}
	if len(choices) > 0 {
		return choices
	}
	for i := range a.payload().Options {
		choices = append(choices, a.payload().Options[i].label)
	}
	return choices
}

// readings returns the values that a text can stand for as an answer to a typed
// question: the option with that label or id, the text itself, and what it is as JSON.
func (a *asked) readings(text string) []api.JSON {
	var values []api.JSON
	for _, option := range a.payload().Options {
		if option.value != nil && (option.label == text || option.id == text) {
			values = append(values, option.value)
			break
		}
	}
	literal, err := json.Marshal(text)
	if err == nil {
		values = append(values, literal)
	}
	if document.Check([]byte(text)) == nil {
		values = append(values, api.JSON(text))
	}
	return values
}

// enum returns the values that the schema of a typed question lists.
func (a *asked) enum() []api.JSON {
	var schema struct {
		Enum []api.JSON `json:"enum"`
	}
	if document.Kind(a.body.ResponseSchema) != '{' || json.Unmarshal(a.body.ResponseSchema, &schema) != nil {
		return nil
	}
	return schema.Enum
}

// payload is what a typed question tells the one who shows it.
type payload struct {
	Question string
	Options  []payloadOption
}

// payloadOption is an option of a typed question. The value is nil when the label
// stands for itself.
type payloadOption struct {
	label, id string
	value     api.JSON
}

// payload reads what a worker sent along in a form of its own: what does not look like
// a question or an option is left out.
func (a *asked) payload() payload {
	var members struct {
		Question api.JSON `json:"question"`
		Options  api.JSON `json:"options"`
	}
	var read payload
	if document.Kind(a.body.Payload) != '{' || json.Unmarshal(a.body.Payload, &members) != nil {
		return read
	}
	read.Question = textOf(members.Question)
	var options []api.JSON
	if document.Kind(members.Options) != '[' || json.Unmarshal(members.Options, &options) != nil {
		return read
	}
	for _, option := range options {
		if one, ok := payloadOptionOf(option); ok {
			read.Options = append(read.Options, one)
		}
	}
	return read
}

// payloadOptionOf reads an option: a plain value, or an object with a label, an id, and
// a value, of which the label and one of the others may be absent.
func payloadOptionOf(option api.JSON) (payloadOption, bool) {
	switch document.Kind(option) {
	case '{':
	case '[', 'n':
		return payloadOption{}, false
	default:
		return payloadOption{label: strings.TrimSpace(shownText(option))}, true
	}
	var members struct {
		Label api.JSON `json:"label"`
		ID    api.JSON `json:"id"`
		Value api.JSON `json:"value"`
	}
	if json.Unmarshal(option, &members) != nil {
		return payloadOption{}, false
	}
	read := payloadOption{id: textOf(members.ID), value: members.Value}
	if read.value == nil {
		read.value = members.ID
	}
	switch {
	case textOf(members.Label) != "":
		read.label = strings.TrimSpace(textOf(members.Label))
	case read.value != nil:
		read.label = strings.TrimSpace(shownText(read.value))
	}
	return read, read.label != ""
}
