package timbal

import (
	"fmt"
	"net/http"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
)

// Types of the service's own events (docs/spec/timbal.md#events). Workers' events are passed
// through as well.
const (
	typeStart       = "START"
	typeDelta       = "DELTA"
	typeApproval    = "APPROVAL"
	typeInteraction = "INTERACTION"
	typeOutput      = "OUTPUT"
)

// Codes and reasons of a status.
const (
	codeSuccess   = "success"
	codeError     = "error"
	codeCancelled = "cancelled"

	reasonInputRequired    = "input_required"
	reasonApprovalRequired = "approval_required"
	reasonClaimed          = "approval_already_claimed"
	reasonCancelled        = "cancelled"
	reasonInterrupted      = "interrupted"
	reasonEndTurn          = "end_turn"
)

// Messages of a status.
const (
	messageInputRequired    = "Input required to resume."
	messageApprovalRequired = "Approval required before runnable execution."
	messageCancelled        = "Run cancelled by user."
	messageClaimed          = "Approval was already claimed by another resume run."
)

// runnableTool is the type of every requester: the service knows no other.
const runnableTool = "Tool"

// Kinds of interactions.
const (
	// kindAskUser is the kind of a structured question.
	kindAskUser = "ask_user"
	// kindInput is the kind of a typed question without one of its own.
	kindInput = "input"
)

// Every member is always present, null without a value. Only the metadata of an INTERACTION is
// absent unless it describes the fault of the previous answer (docs/spec/timbal.md#refused-value).
type (
	header struct {
		Type         string  `json:"type"`
		RunID        string  `json:"run_id"`
		ParentRunID  *string `json:"parent_run_id"`
		Path         string  `json:"path"`
		CallID       string  `json:"call_id"`
		ParentCallID *string `json:"parent_call_id"`
	}
	runnable struct {
		RunnablePath string  `json:"runnable_path"`
		RunnableName string  `json:"runnable_name"`
		RunnableType string  `json:"runnable_type"`
		ToolCallID   *string `json:"tool_call_id"`
	}
	approvalEvent struct {
		header
		T0         int64  `json:"t0"`
		ApprovalID string `json:"approval_id"`
		runnable
		Input       api.JSON `json:"input"`
		InputSchema api.JSON `json:"input_schema"`
		Prompt      *string  `json:"prompt"`
		Description *string  `json:"description"`
		Kind        *string  `json:"kind"`
		UI          api.JSON `json:"ui"`
		Metadata    api.JSON `json:"metadata"`
	}
	interactionEvent struct {
		header
		T0            int64  `json:"t0"`
		InteractionID string `json:"interaction_id"`
		Kind          string `json:"kind"`
		runnable
		Payload        api.JSON `json:"payload"`
		ResponseSchema api.JSON `json:"response_schema"`
		Metadata       api.JSON `json:"metadata,omitzero"`
	}
	status struct {
		Code    string  `json:"code"`
		Reason  *string `json:"reason"`
		Message *string `json:"message"`
	}
	outputEvent struct {
		header
		Input    api.JSON `json:"input"`
		Status   status   `json:"status"`
		Output   api.JSON `json:"output"`
		Error    *string  `json:"error"`
		T0       int64    `json:"t0"`
		T1       int64    `json:"t1"`
		Usage    api.JSON `json:"usage"`
		Metadata api.JSON `json:"metadata"`
	}
)

// stopOutput is the OUTPUT of a paused or stopped run. A nil member is absent. At most one id names
// the request.
type stopOutput struct {
	ApprovalID   string   `json:"approval_id,omitempty"`
	SuspensionID string   `json:"suspension_id,omitempty"`
	Status       string   `json:"status"`
	Kind         string   `json:"kind,omitempty"`
	Payload      api.JSON `json:"payload,omitzero"`
	Prompt       api.JSON `json:"prompt,omitzero"`
	Reason       api.JSON `json:"reason,omitzero"`
}

var emptyObject = api.JSON("{}")

// orEmpty returns an empty object for an absent document.
func orEmpty(document api.JSON) api.JSON {
	if document == nil {
		return emptyObject
	}
	return document
}

// textOrNull returns a text as JSON, null when it is empty.
func textOrNull(text string) api.JSON { return kit.Encode(kit.OrNull(text)) }

func statusOf(code, reason, message string) status {
	return status{code, kit.OrNull(reason), kit.OrNull(message)}
}

// detailBody is the body of every error.
type detailBody struct {
	Detail string `json:"detail"`
}

func refuse(status int, format string, args ...any) error {
	return &kit.Error{Status: status, Body: detailBody{fmt.Sprintf(format, args...)}}
}

func unprocessable(format string, args ...any) error {
	return refuse(http.StatusUnprocessableEntity, format, args...)
}

// refusalOf returns an error with its status from /v1.
func refusalOf(err error) *kit.Error {
	return kit.Refusal(err, func(detail string) any { return detailBody{detail} })
}
