package operate

import (
	"context"
	"strings"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
)

// Approvals is holdpoint approvals.
type Approvals struct {
	List     list[api.PendingApprovalView, approvalFilter] `cmd:"" help:"List what waits for approval."`
	Show     show[api.PendingApprovalView, approvalRef]    `cmd:"" help:"Show one request whole."`
	Allow    approvalsAllow                                `cmd:"" help:"Allow one request, as it is or edited."`
	Deny     approvalsDeny                                 `cmd:"" help:"Deny one request."`
	AllowAll approvalsAllowAll                             `cmd:"" name:"allow-all" aliases:"approve-all" help:"Allow everything that waits."`
	DenyAll  approvalsDenyAll                              `cmd:"" name:"deny-all" help:"Deny everything that waits."`
}

// approvalFilter lists the open approvals in the order of session, run and request.
type approvalFilter struct{ ofSession }

func (f approvalFilter) read(ctx context.Context, c *client.Client) ([]api.PendingApprovalView, error) {
	return collect(c.AllApprovals(ctx, client.PendingListParams{SessionID: f.SessionID}), 0)
}

func (approvalFilter) table() table[api.PendingApprovalView] {
	return table[api.PendingApprovalView]{
		[]string{"REQUEST", "SESSION", "TOOL", "INPUT", "REASON", "RAISED", "EXPIRES"},
		func(item *api.PendingApprovalView, now time.Time) []string {
			request := &item.Request
			return []string{
				request.ID, item.SessionID, console.Cut(request.ToolName, 20), console.Cut(console.CommandOf(request.Input), 60),
				console.Cut(request.Reason, 40), console.Ago(request.CreatedAtMs, now), console.Ago(valueOf(request.ExpiresAtMs), now),
			}
		},
	}
}

// approvalRef names one open approval.
type approvalRef struct{ requestRef }

func (r approvalRef) find(ctx context.Context, c *client.Client) (*api.PendingApprovalView, error) {
	return r.approval(ctx, c, r.RequestID)
}

func (approvalRef) fields(item *api.PendingApprovalView, now time.Time) []console.Field {
	request := &item.Request
	return []console.Field{
		{"request", request.ID},
		{"handle", request.Handle},
		{"session", item.SessionID},
		{"run", item.RunID},
		{"agent", item.AgentID},
		{"tool", request.ToolName},
		{"scope", request.Scope},
		{"reason", request.Reason},
		{"description", request.Description},
		{"input", console.Indented(request.Input)},
		{"input digest", request.InputDigest},
		{"pattern keys", strings.Join(request.PatternKeys, "\n")},
		{"raised", console.Moment(request.CreatedAtMs, now)},
		{"expires", console.Moment(valueOf(request.ExpiresAtMs), now)},
		{"may be edited to", console.Compact(request.InputSchema)},
		{"metadata", console.Compact(request.Metadata)},
	}
}
