package streams

import (
	"cmp"
	"context"
	"net/http"
	"net/url"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/v1/paging"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// eventRange reads ?after= and ?limit= of a list of events.
func eventRange(query url.Values) (after model.Position, limit int, err error) {
	if limit, err = wire.QueryLimit(query, api.MaxEventsPerList, api.MaxEventsPerList); err != nil {
		return after, 0, err
	}
	if query.Has("after") {
		at, ok := model.ParsePosition(query.Get("after"))
		if !ok {
			return after, 0, refusal.New(api.CodeInvalidEventCursor, "after must be the id of an event")
		}
		after = at
	}
	return after, limit, nil
}

func (h *handlers) listSessionEvents(w http.ResponseWriter, r *http.Request) error {
	sessionID := wire.PathID(r, "session_id")
	if !refusal.ValidID(sessionID) {
		return refusal.UnknownSession(wire.Shown(sessionID))
	}
	return h.listEvents(w, r, reads.EventQuery{SessionID: sessionID})
}

func (h *handlers) listRunEvents(w http.ResponseWriter, r *http.Request) error {
	runID := wire.PathID(r, "run_id")
	if !refusal.ValidID(runID) {
		return refusal.UnknownRun(wire.Shown(runID))
	}
	return h.listEvents(w, r, reads.EventQuery{RunID: runID})
}

// eventsWithin reads the events of one page.
func (h *handlers) eventsWithin(r *http.Request, q reads.EventQuery) (events []model.Event, more bool, err error) {
	query := wire.Query(r)
	if err := (&paging.List{}).CheckFilters(query, ""); err != nil {
		return nil, false, err
	}
	after, limit, err := eventRange(query)
	if err != nil {
		return nil, false, err
	}
	if after.Mark != "" {
		if err := h.requireJoins(r.Context(), q, after); err != nil {
			return nil, false, err
		}
	}
	q.After, q.Limit, q.MaxBytes = after.EventID, limit, api.MaxReplyBytes
	return h.store.Reader(r.Context()).EventsWithin(r.Context(), q)
}

// requireJoins returns event_cursor_reset unless the log continues after the event of a stream
// frame's id, which identifies the event more exactly than its number.
func (h *handlers) requireJoins(ctx context.Context, q reads.EventQuery, after model.Position) error {
	var last int64
	if q.RunID != "" {
		record, err := h.store.Reader(ctx).Run(ctx, q.RunID)
		if err != nil {
			return err
		}
		// The caller may not reach the session: the error names the run's last event instead of the session's.
		q.SessionID, last, ctx = record.Run.SessionID, record.Run.LastEventID, withoutScope(ctx)
	}
	head, err := h.store.Reader(ctx).SessionHead(ctx, q.SessionID)
	if err != nil {
		return err
	}
	gap, err := h.gapAfter(ctx, head, after)
	if gap != "" {
		return refusal.EventsReset(after.EventID, cmp.Or(last, head.LastEventID), max(head.FirstKeptEventID, 1))
	}
	return err
}

// listEvents answers with events. A page that ends before the newest event names the next page.
func (h *handlers) listEvents(w http.ResponseWriter, r *http.Request, q reads.EventQuery) error {
	events, more, err := h.eventsWithin(r, q)
	if err != nil {
		return err
	}
	entries := make([]api.RunEventEntry, len(events))
	for i := range events {
		entries[i] = events[i].Entry()
	}
	if more {
		query := r.URL.Query()
		query.Set("after", entries[len(entries)-1].ID)
		w.Header()["Link"] = []string{"<" + r.URL.EscapedPath() + "?" + query.Encode() + `>; rel="next"`}
	}
	return wire.Respond(w, r, http.StatusOK, entries)
}

// listOutputs answers with a run's output records, oldest first.
func (h *handlers) listOutputs(w http.ResponseWriter, r *http.Request) error {
	runID := wire.PathID(r, "run_id")
	if !refusal.ValidID(runID) {
		return refusal.UnknownRun(wire.Shown(runID))
	}
	events, more, err := h.eventsWithin(r, reads.EventQuery{RunID: runID, Outputs: true})
	if err != nil {
		return err
	}
	page := api.OutputPage{Items: make([]api.OutputEntry, len(events))}
	for i := range events {
		if page.Items[i], err = events[i].Output(); err != nil {
			return err
		}
	}
	if more {
		page.NextAfter = &page.Items[len(events)-1].EventID
	}
	return wire.Respond(w, r, http.StatusOK, page)
}
