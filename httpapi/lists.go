package httpapi

import (
	"context"
	"net/http"
	"slices"
	"strconv"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// The orders of lists as their envelopes name them. That of requests keeps the
// label of the original (kheish.md 7.1.29); within a session the run id goes
// before the request id.
const (
	orderSessions     = "session_id_asc"
	orderRuns         = "submitted_at_ms_asc,run_id_asc"
	orderRunsPriority = "active_first,submitted_at_ms_asc,run_id_asc"
	orderRequests     = "session_id_asc,request_id_asc"
)

// The kinds of cursors.
const (
	cursorSessions     = "s"
	cursorRuns         = "r"
	cursorRunsPriority = "p"
	cursorRequests     = "q"
)

func invalidCursor() error {
	return refusal.New(api.CodeInvalidCursor, "the cursor was not made by this list")
}

func (s *Server) listSessions(w http.ResponseWriter, r *http.Request) error {
	query := queryOf(r)
	p, err := pagingOf(query, cursorSessions)
	if err != nil {
		return err
	}
	q := runs.SessionQuery{Status: api.Status(query.Get("status")), AgentID: query.Get("agent_id"), Limit: p.fetch()}
	if q.Status != "" && q.Status != api.SessionIdle && q.Status != api.SessionEnded && (!model.KnownStatus(q.Status) || model.Terminal(q.Status)) {
		return badQuery("status", "the status of a session")
	}
	if p.cursor != nil {
		if len(p.cursor) != 1 {
			return invalidCursor()
		}
		q.After = p.cursor[0]
	}
	if !possible(q.AgentID) {
		return nothing(w, r, &p, orderSessions)
	}
	rows, err := s.store.Sessions(r.Context(), q)
	if err != nil {
		return err
	}
	return respondList(w, r, &p, orderSessions, rows, (*model.SessionSummary).View,
		func(row *model.SessionSummary) string { return writeCursor(cursorSessions, row.Session.SessionID) },
		func() (int64, error) { return s.store.CountSessions(r.Context(), q) })
}

// listRuns lists runs by the time they came in. With a limit and nothing else it
// returns the last ones, as kheish.md 1.9 has it.
func (s *Server) listRuns(w http.ResponseWriter, r *http.Request) error {
	query := queryOf(r)
	priority, err := queryFlag("priority_active", query.Get("priority_active"))
	if err != nil {
		return err
	}
	kind, order := cursorRuns, orderRuns
	if priority {
		kind, order = cursorRunsPriority, orderRunsPriority
	}
	p, err := pagingOf(query, kind)
	if err != nil {
		return err
	}
	q := runs.RunQuery{
		SessionID: query.Get("session_id"), AgentID: query.Get("agent_id"),
		Status: api.Status(query.Get("status")), Kind: api.RunKind(query.Get("kind")),
		PriorityActive: priority, Limit: p.fetch(),
	}
	if q.Status != "" && !model.KnownStatus(q.Status) {
		return badQuery("status", "the status of a run")
	}
	if q.After, err = runPosition(p.cursor, priority); err != nil {
		return err
	}
	if p.limited && !p.envelope && !priority {
		q.Last, q.Limit = true, p.limit
	}
	if !possible(q.SessionID, q.AgentID, string(q.Kind)) {
		return nothing(w, r, &p, order)
	}
	rows, err := s.store.Runs(r.Context(), q)
	if err != nil {
		return err
	}
	return respondList(w, r, &p, order, rows, (*model.RunRecord).View,
		func(row *model.RunRecord) string { return runCursor(&row.Run, priority) },
		func() (int64, error) { return s.store.CountRuns(r.Context(), q) })
}

func runCursor(run *model.Run, priority bool) string {
	submitted := strconv.FormatInt(run.SubmittedAtMs, 10)
	if !priority {
		return writeCursor(cursorRuns, submitted, run.RunID)
	}
	return writeCursor(cursorRunsPriority, strconv.FormatBool(model.Terminal(run.Status)), submitted, run.RunID)
}

func runPosition(cursor []string, priority bool) (*runs.RunPosition, error) {
	if cursor == nil {
		return nil, nil
	}
	position := &runs.RunPosition{}
	if priority {
		if len(cursor) != 3 || cursor[0] != "true" && cursor[0] != "false" {
			return nil, invalidCursor()
		}
		position.Over = cursor[0] == "true"
		cursor = cursor[1:]
	}
	if len(cursor) != 2 {
		return nil, invalidCursor()
	}
	submitted, ok := parseDecimal(cursor[0])
	if !ok {
		return nil, invalidCursor()
	}
	position.SubmittedAtMs, position.RunID = submitted, cursor[1]
	return position, nil
}

func (s *Server) listApprovals(w http.ResponseWriter, r *http.Request) error {
	return listPending(s, w, r, model.KindApproval, queryOf(r).Get("session_id"), (*model.PendingRequest).ApprovalView)
}

func (s *Server) listSessionApprovals(w http.ResponseWriter, r *http.Request) error {
	return listPending(s, w, r, model.KindApproval, wire.PathID(r, "session_id"), (*model.PendingRequest).ApprovalView)
}

func (s *Server) listQuestions(w http.ResponseWriter, r *http.Request) error {
	return listPending(s, w, r, model.KindQuestion, queryOf(r).Get("session_id"), (*model.PendingRequest).QuestionView)
}

func (s *Server) listSessionQuestions(w http.ResponseWriter, r *http.Request) error {
	return listPending(s, w, r, model.KindQuestion, wire.PathID(r, "session_id"), (*model.PendingRequest).QuestionView)
}

func listPending[View any](
	s *Server, w http.ResponseWriter, r *http.Request, kind model.RequestKind, sessionID string, view func(*model.PendingRequest) View,
) error {
	p, err := pagingOf(queryOf(r), cursorRequests)
	if err != nil {
		return err
	}
	q := runs.RequestQuery{Kind: kind, SessionID: sessionID, Limit: p.fetch()}
	if p.cursor != nil {
		if len(p.cursor) != 3 {
			return invalidCursor()
		}
		q.After = &runs.RequestPosition{SessionID: p.cursor[0], RunID: p.cursor[1], RequestID: p.cursor[2]}
	}
	if !possible(sessionID) {
		return nothing(w, r, &p, orderRequests)
	}
	rows, err := s.pending(r.Context(), q)
	if err != nil {
		return err
	}
	return respondList(w, r, &p, orderRequests, rows, view,
		func(row *model.PendingRequest) string {
			return writeCursor(cursorRequests, row.Request.SessionID, row.Request.RunID, row.Request.RequestID)
		},
		func() (int64, error) { return s.store.CountPendingRequests(r.Context(), q) })
}

// pending reads open requests. One whose deadline is past may still stand there,
// because the sweep is a moment late; such ones are expired first, through the
// door like everything else, so that a list never shows them (kheish.md 1.9). A
// failure to expire does not fail the list.
func (s *Server) pending(ctx context.Context, q runs.RequestQuery) ([]model.PendingRequest, error) {
	rows, err := s.store.PendingRequests(ctx, q)
	if err != nil || !slices.ContainsFunc(rows, func(row model.PendingRequest) bool { return row.Request.DueAtMs != 0 }) {
		return rows, err
	}
	nowMs, err := s.store.NowMs(ctx)
	if err != nil {
		return nil, err
	}
	expired, lastRunID := false, ""
	for i := range rows {
		request := &rows[i].Request
		if request.DueAtMs == 0 || request.DueAtMs > nowMs || request.RunID == lastRunID {
			continue
		}
		lastRunID = request.RunID
		_, err := s.store.Do(ctx, &runs.ExpireRequests{SessionID: request.SessionID, RunID: request.RunID})
		expired = expired || err == nil
	}
	if !expired {
		return rows, nil
	}
	return s.store.PendingRequests(ctx, q)
}
