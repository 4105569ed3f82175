package codex

import (
	"cmp"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
)

// The methods by which the runtime asks for approvals. The first two are answered in
// the words of the present protocol, the others in those of the one before it.
const (
	methodCommand     = "item/commandExecution/requestApproval"
	methodFileChange  = "item/fileChange/requestApproval"
	methodExecCommand = "execCommandApproval"
	methodApplyPatch  = "applyPatchApproval"
)

// legacy reports whether a method is one of the protocol before the present one.
func legacy(method string) bool { return method == methodExecCommand || method == methodApplyPatch }

// changesFiles reports whether a method asks about changes of files, which are
// reviewed.
func changesFiles(method string) bool {
	return method == methodFileChange || method == methodApplyPatch
}

// PendingApproval is an open approval as this dialect shows it (codex.md 3.2).
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

// statusPending is the only status of what is shown.
const statusPending = "pending"

// pendingApproval shows an approval of a run, whatever worker asked for it.
func pendingApproval(sessionID, runID string, approval *api.ApprovalRequest) PendingApproval {
	at := placeOf(sessionID, runID, approval.ToolCallID, approval.Metadata)
	method := approvalMethod(approval)
	details := approvalDetails(&at, approval)
	return PendingApproval{
		ApprovalID: approval.Handle, Method: method,
		ThreadID: at.threadID, TurnID: at.turnID, ItemID: at.item(),
		Summary: approvalSummary(method, details, approval), Details: details,
		CreatedAt: isoTime(approval.CreatedAtMs), Status: statusPending,
	}
}

// approvalMethod is that of decisions.md 22.
func approvalMethod(approval *api.ApprovalRequest) string {
	if method := text(member(approval.Metadata, "method")); method != "" {
		return method
	}
	switch approval.ToolName {
	case methodCommand, methodFileChange, methodExecCommand, methodApplyPatch:
		return approval.ToolName
	}
	return methodCommand
}

// approvalDetails are the parameters of the runtime, when the worker sent them along,
// or else what they would have been.
func approvalDetails(at *place, approval *api.ApprovalRequest) api.JSON {
	if details := member(approval.Metadata, "details"); document.Kind(details) == '{' {
		return details
	}
	details := at.details()
	switch document.Kind(approval.Input) {
	case '{':
		for name, value := range members(approval.Input) {
			details.put(name, value)
		}
	case '"':
		details.put("command", approval.Input)
	case 'n', 0:
	default:
		name := "input"
		if _, ok := texts(approval.Input); ok {
			name = "command"
		}
		details.put(name, approval.Input)
	}
	details.putText("reason", cmp.Or(approval.Reason, approval.Description))
	return details.json()
}

// approvalSummary is the line of codex.md 3.2.4.
func approvalSummary(method string, details api.JSON, approval *api.ApprovalRequest) string {
	reason := cmp.Or(text(member(details, "reason")), approval.Reason, approval.Description)
	switch method {
	case methodFileChange:
		return "File change approval required" + after(reason)
	case methodApplyPatch:
		return "Patch approval required" + after(reason)
	case methodExecCommand:
		return "Command approval required" + after(command(details))
	default:
		return "Command approval required" + after(cmp.Or(command(details), reason))
	}
}

// command returns the command line, which is a text or its words.
func command(details api.JSON) string {
	value := member(details, "command")
	if words, ok := texts(value); ok {
		return strings.Join(words, " ")
	}
	return text(value)
}

func after(what string) string {
	if what == "" {
		return ""
	}
	return ": " + what
}

// place is where in a conversation of the runtime a request stands.
type place struct{ threadID, turnID, itemID string }

// placeOf returns the place that the worker told in the metadata. A session is a
// thread and a run is a turn where it told none.
func placeOf(sessionID, runID, toolCallID string, metadata api.JSON) place {
	return place{
		threadID: sessionID,
		turnID:   cmp.Or(text(member(metadata, "turnId")), runID),
		itemID:   cmp.Or(text(member(metadata, "itemId")), toolCallID),
	}
}

// item is the id of the item, null on the wire when there is none.
func (p *place) item() *string {
	if p.itemID == "" {
		return nil
	}
	return &p.itemID
}

// details begins the parameters that the runtime would have sent.
func (p *place) details() *object {
	details := &object{}
	details.put("threadId", p.threadID)
	details.put("turnId", p.turnID)
	details.put("itemId", p.item())
	return details
}
