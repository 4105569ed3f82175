package decide

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi/v1/paging"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// The order has the label of the contract that it comes from. Within a session, run id precedes request id.
var pendingList = paging.List{Cursor: "q", Keys: 3, Order: "session_id_asc,request_id_asc", Filters: "session_id"}

// listApprovals and listQuestions serve the lists of one session and of all sessions, which may be
// filtered by session.
func (h *handlers) listApprovals(w http.ResponseWriter, r *http.Request) error {
	reader := wire.ActorName(r)
	return listPending(h, w, r, model.KindApproval, func(pending *model.PendingRequest, summary bool, of note) api.PendingApprovalView {
		view := pending.ApprovalView(reader)
		view.Explain, view.MayDecide = of.explain, of.mayDecide
		if summary {
			wire.Summarize(&view.Request)
		}
		return view
	})
}

func (h *handlers) listQuestions(w http.ResponseWriter, r *http.Request) error {
	reader := wire.ActorName(r)
	return listPending(h, w, r, model.KindQuestion, func(pending *model.PendingRequest, _ bool, of note) api.PendingQuestionView {
		view := pending.QuestionView(reader)
		view.Explain, view.MayDecide = of.explain, of.mayDecide
		return view
	})
}

func listPending[View any](h *handlers, w http.ResponseWriter, r *http.Request, kind model.RequestKind, view func(pending *model.PendingRequest, summary bool, of note) View) error {
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
	notes := map[string]note{}
	return paging.Serve(w, r, &p, q, paging.Source[reads.RequestQuery, model.PendingRequest, View]{
		FilterIDs: []string{q.SessionID},
		Rows: func(ctx context.Context, q reads.RequestQuery) (rows []model.PendingRequest, err error) {
			if rows, openAtMs, err = h.pending(ctx, q); err != nil {
				return nil, err
			}
			return rows, h.addNotes(r.WithContext(ctx), rows, notes)
		},
		Count: func(ctx context.Context, q reads.RequestQuery) (int64, error) {
			q.OpenAtMs = openAtMs
			return h.Store.Reader(ctx).CountPendingRequests(ctx, q)
		},
		View: func(row *model.PendingRequest) View {
			return view(row, summary, notes[row.Request.Handle])
		},
		Keys: func(row *model.PendingRequest) []string {
			return []string{row.Request.SessionID, row.Request.RunID, row.Request.RequestID}
		},
	})
}

// note is what a list says of an open request besides its view.
type note struct {
	explain   *api.PendingExplanation
	mayDecide *bool
}

// addNotes adds the notes of the rows, by handle. Within a time limit: a list never waits for its notes.
func (h *handlers) addNotes(r *http.Request, rows []model.PendingRequest, notes map[string]note) error {
	limited, cancel := context.WithTimeout(r.Context(), h.readsTimeout)
	defer cancel()
	err := h.readNotes(r.WithContext(limited), rows, notes)
	if r.Context().Err() == nil && errors.Is(limited.Err(), context.DeadlineExceeded) {
		return nil
	}
	return err
}

func (h *handlers) readNotes(r *http.Request, rows []model.PendingRequest, notes map[string]note) error {
	caller := auth.From(r.Context())
	mayDecide, asked := func(*model.Request) *bool { return nil }, &runs.ListedRequesters{}
	if actor, err := wire.Actor(r); err == nil && caller != nil {
		if asked, err = runs.ReadRequesters(r.Context(), h.unscoped, rows); err != nil {
			return err
		}
		mayDecide = asked.MayDecide(caller, actor)
	}
	for i := range rows {
		notes[rows[i].Request.Handle] = note{mayDecide: mayDecide(&rows[i].Request)}
	}
	texts, err := h.explain(r.Context(), rows)
	for i, text := range texts {
		of := notes[rows[i].Request.Handle]
		if of.explain = text; of.mayDecide != nil && !*of.mayDecide && caller.May(auth.Decide) && caller.Via != auth.ViaOpen {
			of.explain = requested(text, asked.NobodyMayAllow(&rows[i].Request))
		}
		notes[rows[i].Request.Handle] = of
	}
	return err
}

// requested adds to what there is to say of a row that the caller's allow is refused because they asked for it, or because too
// many did.
func requested(e *api.PendingExplanation, byTooMany bool) *api.PendingExplanation {
	text := "You asked for it: someone else has to allow it."
	if byTooMany {
		text = "Nobody can allow it: too many asked for it to tell them apart."
	}
	if e == nil {
		return &api.PendingExplanation{Text: text}
	}
	e.Text = text + " " + e.Text
	return e
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
