package decide

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/v1/paging"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// The order has the label of the contract that it comes from. Within a session, run id precedes request id.
var pendingList = paging.List{Cursor: "q", Keys: 3, Order: "session_id_asc,request_id_asc", Filters: "session_id"}

// listApprovals and listQuestions serve the lists of one session and of all sessions, which may be
// filtered by session.
func (h *handlers) listApprovals(w http.ResponseWriter, r *http.Request) error {
	reader := wire.ActorName(r)
	return listPending(h, w, r, model.KindApproval, func(pending *model.PendingRequest, summary bool, explained *api.PendingExplanation) api.PendingApprovalView {
		view := pending.ApprovalView(reader)
		view.Explain = explained
		if summary {
			wire.Summarize(&view.Request)
		}
		return view
	})
}

func (h *handlers) listQuestions(w http.ResponseWriter, r *http.Request) error {
	reader := wire.ActorName(r)
	return listPending(h, w, r, model.KindQuestion, func(pending *model.PendingRequest, _ bool, explained *api.PendingExplanation) api.PendingQuestionView {
		view := pending.QuestionView(reader)
		view.Explain = explained
		return view
	})
}

func listPending[View any](h *handlers, w http.ResponseWriter, r *http.Request, kind model.RequestKind, view func(pending *model.PendingRequest, summary bool, explained *api.PendingExplanation) View) error {
	p, err := paging.Of(r, pendingList)
	if err != nil {
		return err
	}
	summary, err := wire.WantsSummary(p.Query)
	if err != nil {
		return err
	}
	q := reads.RequestQuery{Kind: kind, SessionID: cmp.Or(wire.PathID(r, "session_id"), p.Query.Get("session_id")), Limit: p.Fetch(), Budget: p.Budget}
	// The filter includes requests of sub-agents. The path of a session lists only its own.
	q.Below = wire.PathID(r, "session_id") == ""
	if p.After != nil {
		q.After = &reads.RequestPosition{SessionID: p.After[0], RunID: p.After[1], RequestID: p.After[2]}
	}
	var openAtMs int64
	explained := map[string]*api.PendingExplanation{}
	return paging.Serve(w, r, &p, q, paging.Source[reads.RequestQuery, model.PendingRequest, View]{
		FilterIDs: []string{q.SessionID},
		Rows: func(ctx context.Context, q reads.RequestQuery) (rows []model.PendingRequest, err error) {
			if rows, openAtMs, err = h.pending(ctx, q); err != nil {
				return nil, err
			}
			return rows, h.addNotes(ctx, rows, explained)
		},
		Count: func(ctx context.Context, q reads.RequestQuery) (int64, error) {
			q.OpenAtMs = openAtMs
			return h.Store.Reader(ctx).CountPendingRequests(ctx, q)
		},
		View: func(row *model.PendingRequest) View {
			return view(row, summary, explained[row.Request.Handle])
		},
		Keys: func(row *model.PendingRequest) []string {
			return []string{row.Request.SessionID, row.Request.RunID, row.Request.RequestID}
		},
	})
}

// addNotes adds what there is to say about each request, by handle. Within a time limit: a list never waits for its notes.
func (h *handlers) addNotes(ctx context.Context, rows []model.PendingRequest, notes map[string]*api.PendingExplanation) error {
	limited, cancel := context.WithTimeout(ctx, h.readsTimeout)
	defer cancel()
	texts, err := h.explain(limited, rows)
	if ctx.Err() == nil && errors.Is(limited.Err(), context.DeadlineExceeded) {
		return nil
	}
	for i, text := range texts {
		notes[rows[i].Request.Handle] = text
	}
	return err
}

// pending reads open requests. A request past its deadline stays open until the sweep expires it a
// moment later. It is omitted but not expired here, because a GET changes nothing. openAtMs is set
// when something may have been omitted.
func (h *handlers) pending(ctx context.Context, q reads.RequestQuery) (rows []model.PendingRequest, openAtMs int64, err error) {
	budget := *q.Budget
	rows, err = h.Store.Reader(ctx).PendingRequests(ctx, q)
	if err != nil || !slices.ContainsFunc(rows, func(row model.PendingRequest) bool { return row.Request.DueAtMs != 0 }) {
		return rows, 0, err
	}
	nowMs, err := h.Store.NowMs(ctx)
	if err != nil {
		return nil, 0, err
	}
	if !slices.ContainsFunc(rows, func(row model.PendingRequest) bool {
		return row.Request.DueAtMs != 0 && row.Request.DueAtMs <= nowMs
	}) {
		return rows, nowMs, nil
	}
	q.OpenAtMs, *q.Budget = nowMs, budget
	rows, err = h.Store.Reader(ctx).PendingRequests(ctx, q)
	return rows, nowMs, err
}
