package hermes

import (
	"cmp"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
)

// pendingApproval is an approval as the wire shows it (docs/spec/hermes.md#approval).
type pendingApproval struct {
	ApprovalID  string `json:"approval_id"`
	Command     string `json:"command"`
	Description string `json:"description"`
	// PatternKey is null when there are no keys.
	PatternKey  *string  `json:"pattern_key"`
	PatternKeys []string `json:"pattern_keys"`
}

func approvalOf(request *model.Request) *pendingApproval {
	approval := request.Approval()
	shown := &pendingApproval{
		ApprovalID: request.Handle, Command: commandOf(approval.Input),
		Description: cmp.Or(approval.Description, approval.Reason), PatternKeys: []string{},
	}
	if len(approval.PatternKeys) > 0 {
		shown.PatternKey, shown.PatternKeys = &approval.PatternKeys[0], approval.PatternKeys
	}
	return shown
}

// commandOf returns the command of an input when it is text, else the whole input on
// one line.
func commandOf(input api.JSON) string {
	if command := kit.Get(input, "command"); document.Kind(command) == '"' {
		return kit.Text(command)
	}
	return kit.Compact(input)
}
