package hermes

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
)

// pendingClarification is a question as the wire shows it
// (docs/spec/hermes.md#clarification). Its times are seconds with a fraction.
type pendingClarification struct {
	ClarifyID      string   `json:"clarify_id"`
	Question       string   `json:"question"`
	ChoicesOffered []string `json:"choices_offered"`
	SessionID      string   `json:"session_id"`
	Kind           string   `json:"kind"`
	RequestedAt    api.JSON `json:"requested_at"`
	TimeoutSeconds int64    `json:"timeout_seconds"`
	ExpiresAt      api.JSON `json:"expires_at"`
	// RequestedBy is as in pendingApproval; the question begins with it, too.
	RequestedBy string `json:"requested_by,omitempty"`
}

// openQuestion is one question that has no answer: a typed one, or one of the
// structured ones of a request.
type openQuestion struct {
	clarifyID string
	request   *model.Request
	body      *api.UserQuestionRequest
	// structured is nil for a typed question.
	structured *api.UserQuestion
}

// questionsOf returns the questions of an open request that have no answer. The id of
// each is the handle; where the request has several, the question's id follows it.
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

// oldestQuestions returns the questions without an answer of the oldest open request of a
// session and the sessions below it.
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
	if dueAtMs := q.body.ExpiresAtMs; dueAtMs != nil {
		// Rounded down, but never to 0, which would say that there is no limit. ExpiresAt is
		// exactly that much later, because clients compute one from the other.
		shown.TimeoutSeconds = max((*dueAtMs-q.request.CreatedAtMs)/1000, 1)
		shown.ExpiresAt = seconds(q.request.CreatedAtMs + shown.TimeoutSeconds*1000)
	}
	return shown
}

// seconds writes milliseconds as seconds, exactly, with a fraction even when it is 0.
func seconds(ms int64) api.JSON {
	fraction := strings.TrimRight(strconv.FormatInt(1000+ms%1000, 10)[1:], "0")
	return api.JSON(strconv.FormatInt(ms/1000, 10) + "." + cmp.Or(fraction, "0"))
}

// sensitive reports whether the answer is shown to nobody but the worker.
func (q *openQuestion) sensitive() bool {
	return q.body.Sensitive || q.structured != nil && q.structured.Sensitive
}

// text returns what a person is asked.
func (q *openQuestion) text() string {
	if q.structured != nil {
		return cmp.Or(q.structured.Question, q.structured.Header)
	}
	if text := kit.Text(kit.Get(q.body.Payload, "question")); text != "" {
		return text
	}
	if q.body.Payload != nil {
		return kit.Compact(q.body.Payload)
	}
	return q.body.Kind
}

// choices returns the labels that are offered, never nil: those of the options, else
// the values of the schema's enum, else the options of the payload.
func (q *openQuestion) choices() []string {
	choices := []string{}
	if q.structured != nil {
		for i := range q.structured.Options {
			choices = append(choices, cmp.Or(q.structured.Options[i].Label, q.structured.Options[i].ID))
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

// payloadOption is an option that a worker gives in the payload of a typed question.
// The value is nil when the label stands for itself.
type payloadOption struct {
	label, id string
	value     api.JSON
}

// payloadOptions returns the options of a payload. What does not look like an option is
// left out.
func (q *openQuestion) payloadOptions() []payloadOption {
	var options []payloadOption
	for _, given := range kit.Elements(kit.Get(q.body.Payload, "options")) {
		if option := payloadOptionOf(given); option.label != "" {
			options = append(options, option)
		} else if kind := document.Kind(given); kind != '{' && kind != '[' && kind != 'n' {
			options = append(options, option) // an empty text
		}
	}
	return options
}

// payloadOptionOf reads an option: a plain value, or an object with a label, an id and
// a value, of which the label and one of the others may be absent.
func payloadOptionOf(given api.JSON) payloadOption {
	switch document.Kind(given) {
	case '{':
	case '[', 'n':
		return payloadOption{}
	default:
		return payloadOption{label: strings.TrimSpace(kit.Label(given))}
	}
	id := kit.Get(given, "id")
	option := payloadOption{label: kit.Text(kit.Get(given, "label")), id: kit.Text(id), value: kit.Get(given, "value")}
	if option.value == nil {
		option.value = id
	}
	if option.label == "" && option.value != nil {
		option.label = kit.Label(option.value)
	}
	option.label = strings.TrimSpace(option.label)
	return option
}
