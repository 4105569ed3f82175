package hermes

import (
	"cmp"

	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
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
	command, _ := kit.CommandLine(&approval)
	shown := &pendingApproval{
		ApprovalID: request.Handle, Command: command,
		Description: cmp.Or(approval.Description, approval.Reason), PatternKeys: []string{},
	}
	if len(approval.PatternKeys) > 0 {
		shown.PatternKey, shown.PatternKeys = &approval.PatternKeys[0], approval.PatternKeys
	}
	return shown
}
