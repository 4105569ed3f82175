package hermes

import (
	"cmp"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/internal/visible"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
)

// pendingApproval is an approval in this dialect (docs/spec/hermes.md#approval).
type pendingApproval struct {
	ApprovalID  string `json:"approval_id"`
	Command     string `json:"command"`
	Description string `json:"description"`
	// PatternKey is null without keys.
	PatternKey  *string  `json:"pattern_key"`
	PatternKeys []string `json:"pattern_keys"`
	// RequestedBy is the requesting session if it is below the one that the client follows. It is
	// an extension of the original contract; clients of the original see it in the description.
	RequestedBy string `json:"requested_by,omitempty"`
}

// approvalOf shows an approval to a client that follows a session.
func approvalOf(request *model.Request, sessionID string) *pendingApproval {
	approval := request.Approval()
	command, plain := kit.CommandLine(&approval)
	shown := &pendingApproval{
		ApprovalID: request.Handle, Command: command,
		PatternKeys: []string{},
	}
	folder := folderOf(approval.Input)
	if !plain || folder == "" {
		folder = visible.Escape(approval.Directory)
	}
	shown.Description = kit.Described(approval.Hints, folder, cmp.Or(approval.Description, approval.Reason))
	if len(approval.PatternKeys) > 0 {
		shown.PatternKey, shown.PatternKeys = &approval.PatternKeys[0], approval.PatternKeys
	}
	if request.SessionID != sessionID {
		shown.RequestedBy, shown.Description = request.SessionID, askedBy(request.SessionID, shown.Description)
	}
	return shown
}

// folderOf returns the folder in which a command runs, which its line does not show.
func folderOf(input api.JSON) string {
	var folders []string
	for _, name := range []string{"cwd", "workdir"} {
		if value := kit.Get(input, name); value != nil && document.Kind(value) != 'n' {
			folders = append(folders, kit.Label(value))
		}
	}
	return visible.Escape(strings.Join(folders, ", "))
}

// askedBy adds the requesting session below to a text.
func askedBy(sessionID, text string) string {
	return strings.TrimSuffix("Asked by session "+sessionID+": "+text, ": ")
}
