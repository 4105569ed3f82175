package timbal

import (
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
)

// wait is an open request. One of the two is set.
type wait struct {
	approval *api.ApprovalRequest
	question *api.UserQuestionRequest
	// answered holds the answered questions while others are open.
	answered map[string]bool
}

func (w *wait) requestID() string {
	if w.approval != nil {
		return w.approval.ID
	}
	return w.question.ID
}

func (w *wait) handle() string {
	if w.approval != nil {
		return w.approval.Handle
	}
	return w.question.Handle
}

// nextQuestion returns the structured question to show: the first without an answer. It is nil for
// a typed question.
func (w *wait) nextQuestion() *api.UserQuestion {
	for i := range w.question.Questions {
		if question := &w.question.Questions[i]; !w.answered[question.ID] {
			return question
		}
	}
	return nil
}

// shownID is the approval id or interaction id. A request with several questions shows one at a
// time, and the id says which.
func (w *wait) shownID() string {
	if w.approval == nil && len(w.question.Questions) > 1 {
		if asked := w.nextQuestion(); asked != nil {
			return w.question.Handle + ":" + asked.ID
		}
	}
	return w.handle()
}

// splitWaitID separates the handle from the question. Handles contain no colon.
func splitWaitID(id string) (handle, questionID string) {
	handle, questionID, _ = strings.Cut(id, ":")
	return handle, questionID
}

// kind and payload are the kind and payload of an interaction (docs/spec/timbal.md#interaction).
func (w *wait) kind() string {
	switch {
	case len(w.question.Questions) > 0:
		return kindAskUser
	case w.question.Kind != "":
		return w.question.Kind
	default:
		return kindInput
	}
}

func (w *wait) payload() api.JSON {
	asked := w.nextQuestion()
	if asked == nil {
		return orEmpty(w.question.Payload)
	}
	payload := struct {
		Question string    `json:"question"`
		Options  *[]string `json:"options"`
	}{Question: asked.Question}
	if len(asked.Options) > 0 {
		labels := make([]string, len(asked.Options))
		for i := range asked.Options {
			labels[i] = asked.Options[i].Label
		}
		payload.Options = &labels
	}
	return kit.Encode(payload)
}

// name is the tool's name, or the kind of the interaction.
func (w *wait) name() string {
	if w.approval != nil {
		return w.approval.ToolName
	}
	return w.kind()
}

// event shows the wait. The note, if any, says what was wrong with the previous answer.
func (w *wait) event(s *segment, note string) any {
	head := s.header(typeApproval)
	head.Path += "." + w.name()
	head.CallID, head.ParentCallID = w.handle(), kit.OrNull(s.id.runID)
	asks := runnable{RunnablePath: head.Path, RunnableName: w.name(), RunnableType: runnableTool}
	if w.approval != nil {
		asks.ToolCallID = kit.OrNull(w.approval.ToolCallID)
		return approvalEvent{
			header: head, T0: w.approval.CreatedAtMs, ApprovalID: w.shownID(), runnable: asks,
			Input: w.approval.Input, InputSchema: w.approval.InputSchema,
			Prompt: kit.OrNull(w.approval.Reason), Description: kit.OrNull(kit.Described(w.approval.Hints, w.approval.Directory, w.approval.Description)),
			Metadata: orEmpty(w.approval.Metadata),
		}
	}
	head.Type = typeInteraction
	asks.ToolCallID = kit.OrNull(w.question.ToolCallID)
	event := interactionEvent{
		header: head, T0: w.question.CreatedAtMs, InteractionID: w.shownID(), Kind: w.kind(), runnable: asks,
		Payload: w.payload(), ResponseSchema: w.question.ResponseSchema,
	}
	if string(event.ResponseSchema) == "true" {
		event.ResponseSchema = nil // it accepts any value
	}
	if note != "" {
		event.Metadata = kit.Encode(map[string]string{"error": note})
	}
	return event
}

// paused returns the status and output of a run that waits for this request first.
func (w *wait) paused() (status, api.JSON) {
	if w.approval != nil {
		return statusOf(codeCancelled, reasonApprovalRequired, messageApprovalRequired),
			kit.Encode(stopOutput{ApprovalID: w.shownID(), Status: reasonApprovalRequired, Prompt: textOrNull(w.approval.Reason)})
	}
	return statusOf(codeCancelled, reasonInputRequired, messageInputRequired),
		kit.Encode(stopOutput{SuspensionID: w.shownID(), Status: reasonInputRequired, Kind: w.kind(), Payload: w.payload()})
}
