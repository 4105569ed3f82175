package decide

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi/v1/paging"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

var decisionList = paging.List{Cursor: "d", Keys: 2, Order: "resolved_at_ms_desc,handle_desc", Filters: "session_id agent_id actor outcome since_ms"}

// listDecisions lists settled requests, newest first, always as a page.
func (h *handlers) listDecisions(w http.ResponseWriter, r *http.Request) error {
	p, err := paging.Of(r, decisionList)
	if err != nil {
		return err
	}
	if !p.Limited {
		p.Limit = api.DefaultPageLimit
	}
	p.Envelope = true
	var shorten func(*api.ApprovalRequest)
	switch summary, err := wire.WantsSummary(p.Query); {
	case err != nil:
		return err
	case summary:
		shorten = wire.Summarize
	}
	q := reads.DecisionQuery{
		SessionID: p.Query.Get("session_id"), AgentID: p.Query.Get("agent_id"), ResolvedBy: p.Query.Get("actor"),
		Outcome: api.Outcome(p.Query.Get("outcome")), Limit: p.Fetch(), Budget: p.Budget,
	}
	if q.Outcome != "" && !model.KnownOutcome(q.Outcome) {
		return wire.BadQuery("outcome", "allowed, denied, answered, declined, cancelled or expired")
	}
	if p.Query.Has("since_ms") {
		var readable bool
		if q.SinceMs, readable = wire.Decimal(p.Query.Get("since_ms")); !readable {
			return wire.BadQuery("since_ms", "milliseconds since the epoch")
		}
	}
	if p.After != nil {
		q.After = &reads.DecisionPosition{}
		if q.After.SettledAtMs, q.After.Handle, err = paging.TimeAndID(p.After); err != nil {
			return err
		}
	}
	return paging.Serve(w, r, &p, q, paging.Source[reads.DecisionQuery, model.DecidedRequest, api.RequestView]{
		FilterIDs: []string{q.SessionID, q.AgentID},
		Rows:      h.Store.Reader(r.Context()).Decisions, Count: h.Store.Reader(r.Context()).CountDecisions,
		View: func(row *model.DecidedRequest) api.RequestView { return row.View("", shorten) },
		Keys: func(row *model.DecidedRequest) []string {
			return []string{strconv.FormatInt(row.Request.SettledAtMs, 10), row.Request.Handle}
		},
	})
}

// getRequest shows one approval or question by its handle, open or settled.
func (h *handlers) getRequest(w http.ResponseWriter, r *http.Request) error {
	handle := wire.PathID(r, "handle")
	if !refusal.ValidID(handle) {
		return refusal.UnknownRequest(wire.Shown(handle))
	}
	calls, err := contextOf(r)
	if err != nil {
		return err
	}
	found, err := h.Store.Reader(r.Context()).DecisionByHandle(r.Context(), handle)
	if err != nil {
		return err
	}
	view, err := h.viewOf(r, found)
	if err != nil {
		return err
	}
	if err := h.addContext(r.Context(), &view, &found.Request, calls); err != nil {
		return err
	}
	return wire.Respond(w, r, http.StatusOK, view)
}

// viewOf returns a request as its caller sees it, without its context.
func (h *handlers) viewOf(r *http.Request, found *model.DecidedRequest) (view api.RequestView, err error) {
	view = found.View(wire.ActorName(r), nil)
	if view.RequesterExcluded, err = h.requesterExcluded(r, &found.Request); err != nil {
		return view, err
	}
	view.MayDecide, err = h.mayDecide(r.Context(), &view, &found.Request)
	return view, err
}

// mayDecide says whether the caller's allow or answer would be accepted now; nil for a settled request.
func (h *handlers) mayDecide(ctx context.Context, view *api.RequestView, request *model.Request) (*bool, error) {
	if !request.Open() {
		return nil, nil
	}
	may := auth.From(ctx).May(auth.Decide) && view.RequesterExcluded == nil
	if may && request.DueAtMs != 0 {
		nowMs, err := h.Store.NowMs(ctx)
		if err != nil {
			return nil, err
		}
		may = nowMs < request.DueAtMs
	}
	return &may, nil
}

// requesterExcluded tells a caller why its allow of an open approval would be refused; nil when it
// would not be.
func (h *handlers) requesterExcluded(r *http.Request, request *model.Request) (*api.RequesterExcluded, error) {
	actor, err := wire.Actor(r)
	if err != nil {
		return nil, err
	}
	err = runs.CheckRequester(r.Context(), h.unscoped, request, auth.From(r.Context()), actor)
	var refused *refusal.Error
	switch {
	case !errors.As(err, &refused):
		return nil, err
	case refused.Code == api.CodeRequesterExcluded:
		return &api.RequesterExcluded{Detail: refused.Detail}, nil
	}
	return nil, nil // settled meanwhile, and its run is gone
}
