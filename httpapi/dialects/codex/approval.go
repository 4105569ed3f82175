package codex

import (
	"cmp"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/runs/document"
)

// PendingApproval is an open approval as the wire shows it (docs/spec/codex.md#approval).
type PendingApproval struct {
	ApprovalID string   `json:"approvalId"`
	Method     string   `json:"method"`
	ThreadID   string   `json:"threadId"`
	TurnID     string   `json:"turnId"`
	ItemID     *string  `json:"itemId"`
	Summary    string   `json:"summary"`
	Details    api.JSON `json:"details"`
	CreatedAt  string   `json:"createdAt"`
	Status     string   `json:"status"`
}

// pendingApproval shows an approval of a run, whatever worker raised it.
func pendingApproval(sessionID, runID string, approval *api.ApprovalRequest) PendingApproval {
	at := placeOf(sessionID, runID, approval.ToolCallID, approval.Metadata)
	method := approvalMethod(approval)
	details := approvalDetails(&at, approval)
	return PendingApproval{
		ApprovalID: approval.Handle, Method: method,
		ThreadID: at.threadID, TurnID: at.turnID, ItemID: kit.OrNull(at.itemID),
		Summary: approvalSummary(method, details, approval), Details: details,
		CreatedAt: isoTime(approval.CreatedAtMs), Status: statusPending,
	}
}

// approvalMethod is that of the metadata, else the tool's name where it is a method
// (docs/spec/codex.md#method).
func approvalMethod(approval *api.ApprovalRequest) string {
	if method := kit.Text(kit.Get(approval.Metadata, "method")); method != "" {
		return method
	}
	switch approval.ToolName {
	case methodCommand, methodFileChange, methodExecCommand, methodApplyPatch:
		return approval.ToolName
	}
	return methodCommand
}

// approvalDetails are the parameters of the runtime, when the worker sent them along,
// else what they would have been (docs/spec/codex.md#details).
func approvalDetails(at *place, approval *api.ApprovalRequest) api.JSON {
	if details := kit.Get(approval.Metadata, "details"); document.Kind(details) == '{' {
		return details
	}
	var input, reason kit.Object
	switch document.Kind(approval.Input) {
	case '{':
		input = kit.ObjectOf(approval.Input)
	case '"':
		input = kit.Object{kit.MemberOf("command", approval.Input)}
	case 'n', 0:
	default:
		name := "input"
		if _, ok := kit.Texts(approval.Input); ok {
			name = "command"
		}
		input = kit.Object{kit.MemberOf(name, approval.Input)}
	}
	if text := cmp.Or(approval.Reason, approval.Description); text != "" {
		reason = kit.Object{kit.MemberOf("reason", text)}
	}
	return kit.Join(at.details(), input, reason).JSON()
}

// approvalSummary is the line that names what is asked for.
func approvalSummary(method string, details api.JSON, approval *api.ApprovalRequest) string {
	reason := cmp.Or(kit.Text(kit.Get(details, "reason")), approval.Reason, approval.Description)
	switch method {
	case methodFileChange:
		return "File change approval required" + afterColon(reason)
	case methodApplyPatch:
		return "Patch approval required" + afterColon(reason)
	case methodExecCommand:
		return "Command approval required" + afterColon(commandLine(details))
	default:
		return "Command approval required" + afterColon(cmp.Or(commandLine(details), reason))
	}
}

// commandLine returns the command, which is a text or a list of words.
func commandLine(details api.JSON) string {
	command := kit.Get(details, "command")
	if words, ok := kit.Texts(command); ok {
		return strings.Join(words, " ")
	}
	return kit.Text(command)
}

func afterColon(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}

// place is where a request stands in a conversation of the runtime.
type place struct{ threadID, turnID, itemID string }

// placeOf returns the place that the metadata names. A session is a thread, a run is a
// turn and a tool call is an item where it names none.
func placeOf(sessionID, runID, toolCallID string, metadata api.JSON) place {
	return place{
		threadID: sessionID,
		turnID:   cmp.Or(kit.Text(kit.Get(metadata, "turnId")), runID),
		itemID:   cmp.Or(kit.Text(kit.Get(metadata, "itemId")), toolCallID),
	}
}

// details begins the parameters that the runtime would have sent.
func (p *place) details() kit.Object {
	return kit.Object{
		kit.MemberOf("threadId", p.threadID),
		kit.MemberOf("turnId", p.turnID),
		kit.MemberOf("itemId", kit.OrNull(p.itemID)),
	}
}
