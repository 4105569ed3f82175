package operate

import (
	"context"
	"errors"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/prompt"
)

// Approvals is the command holdpoint approvals.
type Approvals struct {
	List        approvalsList                      `cmd:"" help:"List pending or decided approvals."`
	Show        show[api.RequestView, approvalRef] `cmd:"" help:"Show a pending or decided approval."`
	Review      approvalsReview                    `cmd:"" help:"Review pending approvals one by one."`
	Acknowledge show[api.RequestView, ackApproval] `cmd:"" help:"Show others that you are looking at an approval."`
	Allow       approvalsAllow                     `cmd:"" help:"Allow requests, unchanged or edited."`
	Deny        approvalsDeny                      `cmd:"" help:"Deny requests."`
	AllowAll    approvalsAllowAll                  `cmd:"" name:"allow-all" aliases:"approve-all" help:"Allow all pending approvals."`
	DenyAll     approvalsDenyAll                   `cmd:"" name:"deny-all" help:"Deny all pending approvals."`
}

// approvalFilter lists the open approvals, ordered by session, run and request.
type approvalFilter struct{ ofSession }

func (f approvalFilter) read(ctx context.Context, c *client.Client) ([]api.PendingApprovalView, error) {
	return collect(c.AllApprovals(ctx, client.PendingListParams{SessionID: f.SessionID, Below: true}), 0)
}

func (approvalFilter) table() table[api.PendingApprovalView] {
	return table[api.PendingApprovalView]{
		header: []string{"HANDLE", "REQUEST", "SESSION", "TOOL", "INPUT", "REASON", "RAISED", "EXPIRES"},
		row: func(item *api.PendingApprovalView, now time.Time) []string {
			request := &item.Request
			return []string{
				console.ShortHandle(request.Handle), request.ID, console.SessionName(item.SessionID, item.ParentSessionID), console.Cut(request.ToolName, 20), console.Cut(prompt.CommandOf(request.Input), 60),
				console.Cut(request.Reason, 40), console.Ago(request.CreatedAtMs, now), console.Ago(prompt.DeadlineMs(request.ExpiresAtMs, request.Escalation), now),
			}
		},
		note: func(item *api.PendingApprovalView, _ time.Time) string { return noteOf(item.Explain) },
	}
}

// approvalRef names one approval.
type approvalRef struct{ requestRef }

func (r approvalRef) find(ctx context.Context, c *client.Client) (*api.RequestView, error) {
	item, _, err := r.approval(ctx, c, r.RequestID)
	switch {
	case err == nil:
		return c.GetRequest(ctx, item.Request.Handle)
	case errors.Is(err, errNotOpen):
		return r.settled(ctx, c, api.RequestApproval, r.RequestID)
	}
	return nil, err
}

// excludedText says why the caller may not allow a request, "" if they may.
func excludedText(view *api.RequestView) string {
	if view.RequesterExcluded == nil {
		return ""
	}
	return view.RequesterExcluded.Detail
}

func (approvalRef) fields(view *api.RequestView, now time.Time) []console.Field {
	request := approvalOf(view)
	fields := []console.Field{
		{"request", request.ID},
		{"handle", request.Handle},
		{"session", view.SessionID},
		{"parent session", view.ParentSessionID},
		{"run", view.RunID},
		{"agent", view.AgentID},
	}
	fields = append(fields, console.FieldsOf(prompt.OfApproval(&request), now)...)
	fields = append(fields, []console.Field{
		{"you may not allow it", excludedText(view)},
		{"looking", lookers(view.Acknowledgement, now)},
		{"you snooze it", snoozeText(view.SnoozedUntilMs, now)},
		{"decided", decidedText(view.RecordedDecision, now)},
	}...)
	fields = append(fields, aboutFields(view.Session)...)
	return append(fields, console.FieldsOf(prompt.OfResolution(view.Resolution), now)...)
}
