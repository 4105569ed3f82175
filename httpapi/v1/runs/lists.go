package runs

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/v1/paging"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

var (
	sessionList     = paging.List{Cursor: "s", Keys: 1, Order: "session_id_asc", Filters: "status agent_id"}
	runList         = paging.List{Cursor: "r", Keys: 2, Order: "submitted_at_ms_asc,run_id_asc", Filters: runFilters}
	priorityRunList = paging.List{Cursor: "p", Keys: 3, Order: "active_first,submitted_at_ms_asc,run_id_asc", Filters: runFilters}
)

const runFilters = "session_id agent_id status kind"

func (h *handlers) listSessions(w http.ResponseWriter, r *http.Request) error {
	p, err := paging.Of(r, sessionList)
	if err != nil {
		return err
	}
	q := reads.SessionQuery{Status: api.Status(p.Query.Get("status")), AgentID: p.Query.Get("agent_id"), Limit: p.Fetch(), Budget: p.Budget}
	if q.Status != "" && !model.KnownSessionStatus(q.Status) {
		return wire.BadQuery("status", "idle, running, waiting_for_approval, waiting_for_user_question or ended")
	}
	if p.After != nil {
		q.After = p.After[0]
	}
	return paging.Serve(w, r, &p, q, paging.Source[reads.SessionQuery, model.SessionSummary, api.SessionSummaryView]{
		FilterIDs: []string{q.AgentID}, Rows: h.Store.Reader(r.Context()).Sessions, Count: h.Store.Reader(r.Context()).CountSessions, View: (*model.SessionSummary).View,
		Keys: func(row *model.SessionSummary) []string { return []string{row.Session.SessionID} },
	})
}

// listRuns lists runs by creation time. With only a limit it returns the newest ones.
func (h *handlers) listRuns(w http.ResponseWriter, r *http.Request) error {
	priority, err := wire.QueryFlag(wire.Query(r), "priority_active")
	if err != nil {
		return err
	}
	name := runList
	if priority {
		name = priorityRunList
	}
	p, err := paging.Of(r, name)
	if err != nil {
		return err
	}
	q := reads.RunQuery{
		SessionID: p.Query.Get("session_id"), AgentID: p.Query.Get("agent_id"),
		Status: api.Status(p.Query.Get("status")), Kind: api.RunKind(p.Query.Get("kind")),
		PriorityActive: priority, Limit: p.Fetch(), Budget: p.Budget,
	}
	if q.Status != "" && !model.KnownStatus(q.Status) {
		return wire.BadQuery("status", "queued, running, waiting_for_approval, waiting_for_user_question, completed, failed, interrupted or cancelled")
	}
	if q.Kind != "" && q.Kind != api.KindInput && q.Kind != api.KindCall && q.Kind != api.KindParentClarification {
		return wire.BadQuery("kind", "input, call or parent_clarification")
	}
	q.WithCalls = q.Kind == api.KindInput && wire.CallsAreInputs(r.Context())
	if q.After, err = runPosition(p.After, priority); err != nil {
		return err
	}
	if p.Limited && !p.Envelope && !priority {
		q.Last, q.Limit, p.Last = true, p.Limit, true
	}
	return paging.Serve(w, r, &p, q, paging.Source[reads.RunQuery, model.RunRecord, api.RunView]{
		FilterIDs: []string{q.SessionID, q.AgentID},
		Rows:      h.Store.Reader(r.Context()).Runs, Count: h.Store.Reader(r.Context()).CountRuns, View: (*model.RunRecord).View,
		Keys: func(row *model.RunRecord) []string {
			keys := []string{strconv.FormatInt(row.Run.SubmittedAtMs, 10), row.Run.RunID}
			if priority {
				keys = slices.Insert(keys, 0, strconv.FormatBool(model.Terminal(row.Run.Status)))
			}
			return keys
		},
	})
}

func runPosition(after []string, priority bool) (*reads.RunPosition, error) {
	if after == nil {
		return nil, nil
	}
	position := &reads.RunPosition{}
	if priority {
		if after[0] != "true" && after[0] != "false" {
			return nil, paging.ErrInvalidCursor
		}
		position.Over = after[0] == "true"
		after = after[1:]
	}
	var err error
	position.SubmittedAtMs, position.RunID, err = paging.TimeAndID(after)
	return position, err
}
