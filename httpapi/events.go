package httpapi

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// eventRange reads ?after= and ?limit= of a list of events.
func eventRange(query url.Values) (after int64, limit int, err error) {
	limit = api.MaxEventsPerList
	if query.Has("limit") {
		limit, err = strconv.Atoi(query.Get("limit"))
		if err != nil || limit < 1 || limit > api.MaxEventsPerList {
			return 0, 0, refusal.New(api.CodeInvalidLimit, "limit must be between 1 and %d", api.MaxEventsPerList)
		}
	}
	if query.Has("after") {
		number, ok := parseDecimal(query.Get("after"))
		if !ok {
			return 0, 0, refusal.New(api.CodeInvalidEventCursor, "after must be the id of an event")
		}
		after = number
	}
	return after, limit, nil
}

func (s *Server) listSessionEvents(w http.ResponseWriter, r *http.Request) error {
	sessionID := wire.PathID(r, "session_id")
	if !refusal.ValidID(sessionID) {
		return refusal.UnknownSession(wire.Shown(sessionID))
	}
	return s.listEvents(w, r, runs.EventQuery{SessionID: sessionID})
}

func (s *Server) listRunEvents(w http.ResponseWriter, r *http.Request) error {
	runID := wire.PathID(r, "run_id")
	if !refusal.ValidID(runID) {
		return refusal.UnknownRun(wire.Shown(runID))
	}
	return s.listEvents(w, r, runs.EventQuery{RunID: runID})
}

// eventsWithin reads the events of one page.
func (s *Server) eventsWithin(r *http.Request, q runs.EventQuery) (events []model.Event, more bool, err error) {
	if q.After, q.Limit, err = eventRange(queryOf(r)); err != nil {
		return nil, false, err
	}
	q.MaxBytes = api.MaxReplyBytes
	return s.store.EventsWithin(r.Context(), q)
}

// listEvents answers with events. A page that ends before the newest names the next one.
func (s *Server) listEvents(w http.ResponseWriter, r *http.Request, q runs.EventQuery) error {
	events, more, err := s.eventsWithin(r, q)
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

// listOutputs answers with output records of a run, oldest first.
func (s *Server) listOutputs(w http.ResponseWriter, r *http.Request) error {
	runID := wire.PathID(r, "run_id")
	if !refusal.ValidID(runID) {
		return refusal.UnknownRun(wire.Shown(runID))
	}
	events, more, err := s.eventsWithin(r, runs.EventQuery{RunID: runID, Outputs: true})
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
