package hermes

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/prompt"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
)

// pendingClarification is a question in this dialect (docs/spec/hermes.md#clarification). Its times
// are seconds with a fraction.
type pendingClarification struct {
	ClarifyID      string   `json:"clarify_id"`
	Question       string   `json:"question"`
	ChoicesOffered []string `json:"choices_offered"`
	SessionID      string   `json:"session_id"`
	Kind           string   `json:"kind"`
	RequestedAt    api.JSON `json:"requested_at"`
	TimeoutSeconds int64    `json:"timeout_seconds"`
	ExpiresAt      api.JSON `json:"expires_at"`
	// RequestedBy is as in pendingApproval. The question's text also begins with it.
	RequestedBy string `json:"requested_by,omitempty"`
}

// openQuestion is an unanswered question: a typed one, or a structured one of a request.
type openQuestion struct {
	clarifyID string
	request   *model.Request
	body      *api.UserQuestionRequest
	// structured is nil for a typed question.
	structured *api.UserQuestion
}

// questionsOf returns an open request's unanswered questions. The id of a question is the handle,
// followed by the question's id when the request has several.
func questionsOf(request *model.Request) []openQuestion {
	body := request.Question()
	if body.ResponseSchema != nil {
		return []openQuestion{{clarifyID: request.Handle, request: request, body: &body}}
	}
	answered := make(map[string]bool, len(body.PartialAnswers))
	for i := range body.PartialAnswers {
		answered[body.PartialAnswers[i].QuestionID] = true
	}
	var open []openQuestion
	for i := range body.Questions {
		question := &body.Questions[i]
		if answered[question.ID] {
			continue
		}
		clarifyID := request.Handle
		if len(body.Questions) > 1 {
			clarifyID += ":" + question.ID
		}
		open = append(open, openQuestion{clarifyID: clarifyID, request: request, body: &body, structured: question})
	}
	return open
}

// oldestQuestions returns the unanswered questions of the oldest open request in a session and the
// sessions below it.
func (f *face) oldestQuestions(ctx context.Context, sessionID string) ([]openQuestion, error) {
	oldest, err := f.OldestRequest(ctx, model.KindQuestion, sessionID, "")
	if err != nil || oldest == nil {
		return nil, err
	}
	return questionsOf(oldest), nil
}

// view shows a question to a client that follows a session.
func (q *openQuestion) view(sessionID string) *pendingClarification {
	shown := &pendingClarification{
		ClarifyID: q.clarifyID, Question: q.text(), ChoicesOffered: q.choices(), SessionID: sessionID,
		Kind: "clarify", RequestedAt: seconds(q.request.CreatedAtMs), ExpiresAt: api.JSON("0"),
	}
	if q.request.SessionID != sessionID {
		shown.RequestedBy, shown.Question = q.request.SessionID, askedBy(q.request.SessionID, shown.Question)
	}
	if dueAtMs := prompt.DeadlineMs(q.body.ExpiresAtMs, q.body.Escalation); dueAtMs != 0 {
		// Rounded down, but never to 0, which would mean no limit. ExpiresAt is exactly that much
		// later, because clients compute one from the other.
		shown.TimeoutSeconds = max((dueAtMs-q.request.CreatedAtMs)/1000, 1)
		shown.ExpiresAt = seconds(q.request.CreatedAtMs + shown.TimeoutSeconds*1000)
	}
	return shown
}

// seconds formats milliseconds as seconds, exactly, always with a fraction.
func seconds(ms int64) api.JSON {
	fraction := strings.TrimRight(strconv.FormatInt(1000+ms%1000, 10)[1:], "0")
	return api.JSON(strconv.FormatInt(ms/1000, 10) + "." + cmp.Or(fraction, "0"))
}

// sensitive reports whether only the worker may see the answer.
func (q *openQuestion) sensitive() bool {
	return q.body.Sensitive || q.structured != nil && q.structured.Sensitive
}

// text returns the question's text.
func (q *openQuestion) text() string {
	if q.structured != nil {
		return q.structured.Question
	}
	if text := kit.Text(kit.Get(q.body.Payload, "question")); text != "" {
		return text
	}
	if q.body.Payload != nil {
		return kit.Compact(q.body.Payload)
	}
	return q.body.Kind
}

// choices returns the labels to choose from, never nil: of the options, otherwise of the schema's
// enum, otherwise of the payload's options.
func (q *openQuestion) choices() []string {
	choices := []string{}
	if q.structured != nil {
		for i := range q.structured.Options {
			choices = append(choices, q.structured.Options[i].Label)
		}
		return choices
	}
	for _, value := range kit.Elements(kit.Get(q.body.ResponseSchema, "enum")) {
		choices = append(choices, kit.Label(value))
	}
	if len(choices) == 0 {
		for _, option := range q.payloadOptions() {
			choices = append(choices, option.label)
		}
	}
	return choices
}

// payloadOption is an option in a typed question's payload.
type payloadOption struct {
	label, id string
	value     api.JSON
}

// payloadOptions returns a payload's options. Anything else is ignored.
func (q *openQuestion) payloadOptions() []payloadOption {
	var options []payloadOption
	named := kit.EnumOf(q.body.ResponseSchema)
	for _, given := range kit.Elements(kit.Get(q.body.Payload, "options")) {
		if option := payloadOptionOf(given, named); option.label != "" {
			options = append(options, option)
		} else if kind := document.Kind(given); kind != '{' && kind != '[' && kind != 'n' {
			options = append(options, option) // an empty string
		}
	}
	return options
}

// payloadOptionOf reads an option: a plain value, or an object with a label, an id and a value, of
// which two may be absent (see [kit.Enum.ValueOf]).
func payloadOptionOf(given api.JSON, named kit.Enum) payloadOption {
	switch document.Kind(given) {
	case '{':
	case '[', 'n':
		return payloadOption{}
	default:
		return payloadOption{label: strings.TrimSpace(kit.Label(given)), value: given}
	}
	option := payloadOption{label: kit.Text(kit.Get(given, "label")), id: kit.Text(kit.Get(given, "id")), value: named.ValueOf(given)}
	if option.label == "" && option.value != nil {
		option.label = kit.Label(option.value)
	}
	option.label = strings.TrimSpace(option.label)
	return option
}
