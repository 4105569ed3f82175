package hermes

import (
	"cmp"
	"strings"

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
	// RequestedBy is the session that asks, if it is below the session that the client follows. It is
	// not part of the original; clients of the original read it in the description.
	RequestedBy string `json:"requested_by,omitempty"`
}

// approvalOf shows an approval to a client that follows a session.
func approvalOf(request *model.Request, sessionID string) *pendingApproval {
	approval := request.Approval()
	command, _ := kit.CommandLine(&approval)
	shown := &pendingApproval{
		ApprovalID: request.Handle, Command: command,
		Description: cmp.Or(approval.Description, approval.Reason), PatternKeys: []string{},
	}
	if len(approval.PatternKeys) > 0 {
		shown.PatternKey, shown.PatternKeys = &approval.PatternKeys[0], approval.PatternKeys
	}
	if request.SessionID != sessionID {
		shown.RequestedBy, shown.Description = request.SessionID, askedBy(request.SessionID, shown.Description)
	}
	return shown
}

// askedBy marks a text with the session below that asks.
func askedBy(sessionID, text string) string {
	return strings.TrimSuffix("Asked by session "+sessionID+": "+text, ": ")
}
