package codex

import (
	"cmp"
	"strconv"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/runs/document"
)

// PendingToolInput is an open question in this dialect (docs/spec/codex.md#tool-input).
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
	// RequestedBy is as in [PendingApproval].
	RequestedBy string `json:"requestedBy,omitempty"`
}

// Question is one question of a [PendingToolInput].
type Question struct {
	ID       string `json:"id"`
	Header   string `json:"header"`
	Question string `json:"question"`
	// Options is nil when any text is allowed.
	Options  *[]Option `json:"options"`
	IsOther  bool      `json:"isOther"`
	IsSecret bool      `json:"isSecret"`
}

// Option is one choice of a [Question].
type Option struct {
	Label       string `json:"label"`
	Description string `json:"description"`
}

// pendingToolInput shows a run's question from any kind of worker.
func pendingToolInput(sessionID, runID string, request *api.UserQuestionRequest) PendingToolInput {
	at := placeOf(sessionID, runID, request.ToolCallID, request.Metadata)
	questions := questionsOf(request)
	return PendingToolInput{
		RequestID: request.Handle, Method: cmp.Or(kit.Text(kit.Get(request.Metadata, "method")), methodToolInput),
		ThreadID: at.threadID, TurnID: at.turnID, ItemID: kit.OrNull(at.itemID),
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

// questionsOf returns the request's questions, or the one that represents its typed value.
func questionsOf(request *api.UserQuestionRequest) []Question {
	if request.ResponseSchema != nil {
		wanted := typedQuestionOf(request)
		return []Question{wanted.shown(request)}
	}
	questions := make([]Question, len(request.Questions))
	for i := range request.Questions {
		asked := &request.Questions[i]
		questions[i] = Question{
			ID: asked.ID, Header: asked.Header, Question: asked.Question,
			IsOther: isOther(request, asked), IsSecret: secret(request, asked.ID, asked.Sensitive),
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

// flagged reports whether a worker set a question's flag in the request's metadata: {"questions":
// {"<question id>": {"<flag>": true}}}, or {"<flag>": true} for all.
func flagged(metadata api.JSON, questionID, flag string) bool {
	value := kit.Get(metadata, "questions", questionID, flag)
	if value == nil {
		value = kit.Get(metadata, flag)
	}
	return document.Kind(value) == 't'
}

// isOther reports whether to offer free text in addition to the options: the question accepts it, or
// has no options and the metadata says so.
func isOther(request *api.UserQuestionRequest, asked *api.UserQuestion) bool {
	if len(asked.Options) > 0 {
		return asked.TakesFreeform()
	}
	return flagged(request.Metadata, asked.ID, "isOther")
}

// secret reports whether the answer must be hidden while it is typed: it is sensitive, or the
// metadata says so.
func secret(request *api.UserQuestionRequest, questionID string, sensitive bool) bool {
	return request.Sensitive || sensitive || flagged(request.Metadata, questionID, "isSecret")
}

// toolInputDetails returns the ids, the questions, and the additional metadata. When several have
// the same name, the first counts.
func toolInputDetails(at *place, request *api.UserQuestionRequest, questions []Question) api.JSON {
	details := append(at.details(), kit.MemberOf("questions", questions))
	if request.ResponseSchema != nil {
		// For clients that show more than one line of text.
		if request.Kind != "" {
			details = append(details, kit.MemberOf("kind", request.Kind))
		}
		if request.Payload != nil {
			details = append(details, kit.MemberOf("payload", request.Payload))
		}
		details = append(details, kit.MemberOf("responseSchema", request.ResponseSchema))
	}
	return kit.Join(details, kit.ObjectOf(kit.Get(request.Metadata, "details"))).JSON()
}
