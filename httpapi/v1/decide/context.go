package decide

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// maxContextBytes limits the rows of a context. It has at least one call.
const maxContextBytes = 256 << 10

// sameOpenPage is how many approvals are read at a time where the first ones are mostly for other tools. The
// search for an input ends at api.MaxSearchedRequests.
const sameOpenPage = 1_000

// contextOf reads ?context=, -1 when absent.
func contextOf(r *http.Request) (int, error) {
	query := wire.Query(r)
	if !query.Has("context") {
		return -1, nil
	}
	calls, err := strconv.Atoi(query.Get("context"))
	if err != nil || calls < 0 || calls > api.MaxContextCalls {
		return 0, wire.BadQuery("context", "a number from 0 to "+strconv.Itoa(api.MaxContextCalls))
	}
	return calls, nil
}

// addContext adds how many open approvals are for the same call, and the calls that were settled
// before in the session. Both are within the caller's scope.
func (h *handlers) addContext(ctx context.Context, view *api.RequestView, request *model.Request, calls int) error {
	limited, cancel := context.WithTimeout(ctx, h.readsTimeout)
	defer cancel()
	var err error
	if view.SameAsOpen, err = sameOpen(limited, h.Store.Reader(limited).PendingRequests, request); err == nil && calls >= 0 {
		view.Context, err = h.settledBefore(limited, request, calls)
	}
	if ctx.Err() == nil && errors.Is(limited.Err(), context.DeadlineExceeded) {
		return nil
	}
	return err
}

// pendingRequests is reads.Reader.PendingRequests.
type pendingRequests func(context.Context, reads.RequestQuery) ([]model.PendingRequest, error)

// sameOpen counts the other open approvals with the tool and the input of an open approval; nil for
// any other request.
func sameOpen(ctx context.Context, pending pendingRequests, request *model.Request) (*int64, error) {
	if request.Kind != model.KindApproval || !request.Open() {
		return nil, nil
	}
	asked := request.Approval()
	var same int64
	query := reads.RequestQuery{Kind: model.KindApproval, InputDigest: asked.InputDigest, Limit: api.MaxSameOpen + 1}
	for {
		query.Budget = &reads.Budget{MaxBytes: api.MaxReplyBytes}
		rows, err := pending(ctx, query)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			other := rows[i].Request.Approval()
			if other.Handle != asked.Handle && other.ToolName == asked.ToolName && other.InputDigest == asked.InputDigest {
				same++
			}
		}
		if same >= api.MaxSameOpen || len(rows) < query.Limit && !query.Budget.Cut {
			same = min(same, api.MaxSameOpen)
			return &same, nil
		}
		last := &rows[len(rows)-1].Request
		query.After = &reads.RequestPosition{SessionID: last.SessionID, RunID: last.RunID, RequestID: last.RequestID}
		query.Limit = sameOpenPage
	}
}

// settledBefore returns the newest settled requests of the session, oldest first. Of a settled
// request they are those that were settled before it.
func (h *handlers) settledBefore(ctx context.Context, request *model.Request, calls int) ([]api.RequestView, error) {
	views := []api.RequestView{}
	if calls == 0 {
		return views, nil
	}
	q := reads.DecisionQuery{SessionID: request.SessionID, Limit: calls, Budget: &reads.Budget{MaxBytes: maxContextBytes}}
	if !request.Open() {
		q.After = &reads.DecisionPosition{SettledAtMs: request.SettledAtMs, Handle: request.Handle}
	}
	rows, err := h.Store.Reader(ctx).Decisions(ctx, q)
	for i := range rows {
		views = append(views, rows[i].View("", func(approval *api.ApprovalRequest) {
			wire.Summarize(approval)
			approval.InputSchema, approval.Metadata, approval.PatternKeys, approval.SensitivePaths = nil, nil, nil, nil
		}))
	}
	slices.Reverse(views)
	return views, err
}
