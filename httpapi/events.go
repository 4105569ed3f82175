package httpapi

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/wire"
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
	return listEvents(w, r, sessionID, s.store.SessionEvents)
}

func (s *Server) listRunEvents(w http.ResponseWriter, r *http.Request) error {
	runID := wire.PathID(r, "run_id")
	if !refusal.ValidID(runID) {
		return refusal.UnknownRun(wire.Shown(runID))
	}
	return listEvents(w, r, runID, s.store.RunEvents)
}

func listEvents(w http.ResponseWriter, r *http.Request, id string, read func(context.Context, string, int64, int) ([]model.Event, error)) error {
	after, limit, err := eventRange(queryOf(r))
	if err != nil {
		return err
	}
	events, err := read(r.Context(), id, after, limit)
	if err != nil {
		return err
	}
	entries := make([]api.RunEventEntry, len(events))
	for i := range events {
		entries[i] = events[i].Entry()
	}
	return wire.Respond(w, r, http.StatusOK, entries)
}
