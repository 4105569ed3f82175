package codex

import (
	"cmp"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/internal/visible"
	"github.com/holdpoint/holdpoint/runs/document"
)

// PendingApproval is an open approval in this dialect (docs/spec/codex.md#approval).
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
	// ToolName is an extension of the original contract.
	ToolName string `json:"toolName"`
	// RequestedBy is the requesting session if it is below the listed one. It is an extension of
	// the original contract.
	RequestedBy string `json:"requestedBy,omitempty"`
}

// pendingApproval shows an approval of a run, whatever worker raised it.
func pendingApproval(sessionID, runID string, approval *api.ApprovalRequest) PendingApproval {
	at := placeOf(sessionID, runID, approval.ToolCallID, approval.Metadata)
	method := approvalMethod(approval)
	shown := inputShown(method, approval)
	return PendingApproval{
		ApprovalID: approval.Handle, Method: method,
		ThreadID: at.threadID, TurnID: at.turnID, ItemID: kit.OrNull(at.itemID),
		Summary: visible.Escape(approvalSummary(method, shown, approval)), Details: approvalDetails(&at, shown, approval),
		CreatedAt: isoTime(approval.CreatedAtMs), Status: statusPending, ToolName: approval.ToolName,
	}
}

// approvalMethod returns the method in the metadata, otherwise the tool's name if it is a method
// (docs/spec/codex.md#method).
func approvalMethod(approval *api.ApprovalRequest) string {
	if method := kit.Text(kit.Get(approval.Metadata, "method")); method != "" {
		return method
	}
	if isMethod(approval.ToolName) {
		return approval.ToolName
	}
	return methodCommand
}

// isMethod reports whether a tool's name is a method of the runtime.
func isMethod(toolName string) bool {
	switch toolName {
	case methodCommand, methodFileChange, methodExecCommand, methodApplyPatch:
		return true
	}
	return false
}

// inputShown returns the input as an object. Its command is the tool's name with the whole input,
// unless the tool is the method itself or a shell with only a command: people must see what they
// approve (docs/spec/codex.md#details).
func inputShown(method string, approval *api.ApprovalRequest) kit.Object {
	var shown kit.Object
	switch document.Kind(approval.Input) {
	case '{':
		shown = kit.ObjectOf(approval.Input)
	case '"':
		shown = kit.Object{kit.MemberOf("command", approval.Input)}
	case 'n', 0:
	default:
		name := "input"
		if _, ok := kit.Texts(approval.Input); ok {
			name = "command"
		}
		shown = kit.Object{kit.MemberOf(name, approval.Input)}
	}
	line, plain := kit.CommandLine(approval)
	switch {
	case isMethod(approval.ToolName) && approval.ToolName == method, plain && !changesFiles(method):
		return visibleCommand(shown)
	case plain:
		line = approval.ToolName + " " + line
	}
	return kit.Join(kit.Object{kit.MemberOf("command", line)}, shown)
}

// visibleCommand returns an input whose command, a text or a list of words, has nothing that a person would not see.
func visibleCommand(shown kit.Object) kit.Object {
	command := shown.Get("command")
	if words, ok := kit.Texts(command); ok {
		for i := range words {
			words[i] = visible.Escape(words[i])
		}
		return kit.Join(kit.Object{kit.MemberOf("command", words)}, shown)
	}
	if text := kit.Text(command); visible.Escape(text) != text {
		return kit.Join(kit.Object{kit.MemberOf("command", visible.Escape(text))}, shown)
	}
	return shown
}

// inPlaceOfInput are the members with which clients show the command. A worker's metadata must not
// add them.
var inPlaceOfInput = map[string]bool{"command": true, "commandActions": true, "parsedCmd": true}

// approvalDetails returns the ids, the input, the reason, and the additional metadata. When several
// have the same name, the first counts. Hints are in the reason.
func approvalDetails(at *place, shown kit.Object, approval *api.ApprovalRequest) api.JSON {
	var further kit.Object
	if text := cmp.Or(approval.Reason, approval.Description); text != "" {
		further = kit.Object{kit.MemberOf("reason", text)}
	}
	if approval.Directory != "" {
		further = append(further, kit.MemberOf("cwd", approval.Directory))
	}
	for name, value := range kit.Members(kit.Get(approval.Metadata, "details")) {
		if !inPlaceOfInput[name] {
			further = append(further, kit.MemberOf(name, value))
		}
	}
	details := at.details()
	if len(approval.Hints) > 0 {
		reason := cmp.Or(kit.Text(shown.Get("reason")), approval.Reason, approval.Description)
		details = append(details, kit.MemberOf("reason", kit.Described(approval.Hints, "", reason)))
	}
	return kit.Join(details, shown, further).JSON()
}

// approvalSummary returns a one-line summary of the request.
func approvalSummary(method string, shown kit.Object, approval *api.ApprovalRequest) string {
	command := kit.CommandText(shown.Get("command"))
	reason := cmp.Or(kit.Text(shown.Get("reason")), approval.Reason, approval.Description)
	if approval.ToolName != method {
		reason = command // the tool's name with its input
	}
	switch method {
	case methodFileChange:
		return "File change approval required" + afterColon(reason)
	case methodApplyPatch:
		return "Patch approval required" + afterColon(reason)
	case methodExecCommand:
		return "Command approval required" + afterColon(command)
	default:
		return "Command approval required" + afterColon(cmp.Or(command, reason))
	}
}

func afterColon(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}

// place is the position of a request in a conversation of the runtime.
type place struct{ threadID, turnID, itemID string }

// placeOf returns the position in the metadata. By default a session is a thread, a run a turn and
// a tool call an item.
func placeOf(sessionID, runID, toolCallID string, metadata api.JSON) place {
	return place{
		threadID: sessionID,
		turnID:   cmp.Or(kit.Text(kit.Get(metadata, "turnId")), runID),
		itemID:   cmp.Or(kit.Text(kit.Get(metadata, "itemId")), toolCallID),
	}
}

// details returns the ids of the parameters that the runtime would have sent.
func (p *place) details() kit.Object {
	return kit.Object{
		kit.MemberOf("threadId", p.threadID),
		kit.MemberOf("turnId", p.turnID),
		kit.MemberOf("itemId", kit.OrNull(p.itemID)),
	}
}
