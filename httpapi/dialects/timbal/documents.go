package timbal

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/api"
)

// The types of the events that a stream has of the service's own (contracts/timbal.md
// 4.3). What workers append is passed through beside them.
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

// runnableTool is the type of all that asks. The service knows nothing of what it is.
const runnableTool = "Tool"

// Kinds of interactions.
const (
	// kindAskUser is that of a structured question.
	kindAskUser = "ask_user"
	// kindInput is that of a typed question whose worker gives none.
	kindInput = "input"
)

// Every member is always there, null when it has no value. Only metadata of an
// INTERACTION is not: the original has none, and it tells what was wrong with the
// answer before (decisions.md 6).
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

// The output of an OUTPUT whose run was paused or stopped.
type (
	askedOutput struct {
		SuspensionID string   `json:"suspension_id"`
		Status       string   `json:"status"`
		Kind         string   `json:"kind"`
		Payload      api.JSON `json:"payload"`
	}
	gatedOutput struct {
		ApprovalID string  `json:"approval_id"`
		Status     string  `json:"status"`
		Prompt     *string `json:"prompt"`
	}
	stoppedApprovalOutput struct {
		ApprovalID string  `json:"approval_id"`
		Status     string  `json:"status"`
		Reason     *string `json:"reason"`
	}
	stoppedOutput struct {
		Status string  `json:"status"`
		Reason *string `json:"reason"`
	}
	claimedApprovalOutput struct {
		ApprovalID string `json:"approval_id"`
		Status     string `json:"status"`
	}
	claimedOutput struct {
		SuspensionID string `json:"suspension_id"`
		Status       string `json:"status"`
	}
)

var emptyObject = api.JSON("{}")

// encoding writes what the domain holds; see package wire.
var encoding = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// orNull is a text that is null when it is empty.
func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// orEmpty is a document that is an empty object when it is absent.
func orEmpty(document api.JSON) api.JSON {
	if document == nil {
		return emptyObject
	}
	return document
}

// document encodes a value that always has a JSON form.
func encoded(value any) api.JSON {
	text, err := json.Marshal(value, encoding)
	if err != nil {
		panic("timbal: a document has no JSON form: " + err.Error())
	}
	return text
}
