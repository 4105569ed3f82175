package codex

import (
	"cmp"
	"strconv"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
)

// methodToolInput is the method by which the runtime asks a person.
const methodToolInput = "item/tool/requestUserInput"

// PendingToolInput is an open question as this dialect shows it (codex.md 3.2).
type PendingToolInput struct {
	RequestID string     `json:"requestId"`
	Method    string     `json:"method"`
	ThreadID  string     `json:"threadId"`
	TurnID    string     `json:"turnId"`
	ItemID    *string    `json:"itemId"`
	Summary   string     `json:"summary"`
	Questions []Question `json:"questions"`
	Details   api.JSON   `json:"details"`
	CreatedAt string     `json:"createdAt"`
	Status    string     `json:"status"`
}

// Question is one question of a [PendingToolInput].
type Question struct {
	ID       string `json:"id"`
	Header   string `json:"header"`
	Question string `json:"question"`
	// Options is nil when any text will do.
	Options  *[]Option `json:"options"`
	IsOther  bool      `json:"isOther"`
	IsSecret bool      `json:"isSecret"`
}

// Option is one choice of a [Question].
type Option struct {
	Label       string `json:"label"`
	Description string `json:"description"`
}

// pendingToolInput shows a question of a run, whatever worker asked it.
func pendingToolInput(sessionID, runID string, request *api.UserQuestionRequest) PendingToolInput {
	at := placeOf(sessionID, runID, request.ToolCallID, request.Metadata)
	questions := questionsOf(request)
	return PendingToolInput{
		RequestID: request.Handle, Method: cmp.Or(text(member(request.Metadata, "method")), methodToolInput),
		ThreadID: at.threadID, TurnID: at.turnID, ItemID: at.item(),
		Summary: toolInputSummary(len(questions)), Questions: questions,
		Details:   toolInputDetails(&at, request, questions),
		CreatedAt: isoTime(request.CreatedAtMs), Status: statusPending,
	}
}

func toolInputSummary(count int) string {
	noun := "questions"
	if count == 1 {
		noun = "question"
	}
	return "Tool input required (" + strconv.Itoa(count) + " " + noun + ")"
}

// questionsOf returns what a person is asked: the questions of the request, or the one
// that stands for the value that it wants.
func questionsOf(request *api.UserQuestionRequest) []Question {
	if request.ResponseSchema != nil {
		wanted := typedQuestionOf(request)
		return []Question{wanted.shown(request.Metadata)}
	}
	questions := make([]Question, len(request.Questions))
	for i := range request.Questions {
		asked := &request.Questions[i]
		questions[i] = Question{
			ID: asked.ID, Header: asked.Header, Question: asked.Question,
			IsOther: marked(request.Metadata, asked.ID, "isOther"), IsSecret: marked(request.Metadata, asked.ID, "isSecret"),
		}
		options := make([]Option, len(asked.Options))
		for at, option := range asked.Options {
			options[at] = Option{Label: option.Label, Description: option.Description}
		}
		questions[i].offer(options)
	}
	return questions
}

func (q *Question) offer(options []Option) {
	if len(options) > 0 {
		q.Options = &options
	}
}

// marked reports whether a worker marked a question in the metadata of its request:
// {"questions": {"<question id>": {"<mark>": true}}}, or {"<mark>": true} for all.
func marked(metadata api.JSON, questionID, mark string) bool {
	if value := member(member(member(metadata, "questions"), questionID), mark); value != nil {
		return isTrue(value)
	}
	return isTrue(member(metadata, mark))
}

// toolInputDetails are the parameters of the runtime, when the worker sent them along,
// or else what they would have been.
func toolInputDetails(at *place, request *api.UserQuestionRequest, questions []Question) api.JSON {
	if details := member(request.Metadata, "details"); document.Kind(details) == '{' {
		return details
	}
	details := at.details()
	details.put("questions", questions)
	if request.ResponseSchema != nil {
		// For clients that can show more than one line of text.
		details.putText("kind", request.Kind)
		if request.Payload != nil {
			details.put("payload", request.Payload)
		}
		details.put("responseSchema", request.ResponseSchema)
	}
	return details.json()
}
