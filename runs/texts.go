package runs

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// clarificationPreview returns a clarification's preview for lists: the beginning of its first
// question.
func clarificationPreview(question api.UserQuestionRequest) string {
	if len(question.Questions) > 0 {
		return shorten(question.Questions[0].Question)
	}
	var payload struct {
		Question string `json:"question"`
	}
	if question.Payload != nil && json.Unmarshal(question.Payload, &payload) != nil {
		payload.Question = ""
	}
	return shorten(cmp.Or(payload.Question, question.Kind))
}

// cancelledByOperator is the justification of a clarification that was cancelled without one
// (docs/spec/v1.md#cancel-a-question).
const cancelledByOperator = "cancelled by operator"

// previewLength is the maximum number of characters of a preview.
const previewLength = 160

// textPreview returns the beginning of a run's input for lists: of the text if the input is a
// string, otherwise of its compact JSON. It is empty for null.
func textPreview(input api.JSON) string {
	var text string
	if document.Kind(input) != '"' || json.Unmarshal(input, &text) != nil {
		compact, err := document.Compact(input)
		if err != nil || document.Kind(input) == 'n' {
			return ""
		}
		text = string(compact)
	}
	return shorten(text)
}

// shorten cuts a text to previewLength characters.
func shorten(text string) string {
	shown := 0
	for at := range text {
		if shown == previewLength {
			return StorableText(text[:at]) + "…"
		}
		shown++
	}
	return StorableText(text)
}

// StorableText returns a text without what a text column cannot store: NUL characters, which JSON
// strings may contain, and invalid UTF-8.
func StorableText(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, ""), "\x00", "")
}

// settledQuestionError returns the error of a late call, question_expired or
// question_state_conflict, with the recorded decision.
func settledQuestionError(request *model.Request) *refusal.Error {
	recorded := request.RecordedDecision()
	if request.Outcome == api.OutcomeExpired && recorded.Via == api.ViaClock {
		dueAtMs := request.Question().ExpiresAtMs
		return refusal.New(api.CodeQuestionExpired, "%s", expiredText(request.RequestID, *dueAtMs)).With(recorded)
	}
	if request.Outcome == api.OutcomeExpired {
		return refusal.New(api.CodeQuestionExpired, "user-question request %s expired when its run ended", request.RequestID).With(recorded)
	}
	if request.Outcome == api.OutcomeCancelled {
		resolution := request.Recorded()
		why := cmp.Or(resolution.Justification, resolution.Reason)
		return refusal.New(api.CodeQuestionStateConflict, "%s", cancelledText(request.RequestID, why)).With(recorded)
	}
	return refusal.New(api.CodeQuestionStateConflict, "run %s is not waiting for user input: request %s was %s", request.RunID, request.RequestID, request.Outcome).With(recorded)
}

// The names of the two kinds of requests in a cancelled run's error.
const (
	questionText = "user-question request"
	approvalText = "approval request"
)

func cancelledText(requestID, why string) string {
	return cancelledRequestText(questionText, requestID, why)
}

func cancelledRequestText(what, requestID, why string) string {
	text := what + " " + requestID + " cancelled"
	if why != "" {
		text += ": " + why
	}
	return text
}

func expiredText(requestID string, dueAtMs int64) string {
	return fmt.Sprintf("user-question request %s expired at %d", requestID, dueAtMs)
}
