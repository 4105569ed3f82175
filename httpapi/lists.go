package httpapi

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// The lists of /v1. The order of requests has the label of the contract that it comes from. Within
// a session, run id precedes request id.
var (
	sessionList      = listName{cursor: "s", keys: 1, order: "session_id_asc", filters: "status agent_id"}
	runList          = listName{cursor: "r", keys: 2, order: "submitted_at_ms_asc,run_id_asc", filters: runFilters}
	priorityRunList  = listName{cursor: "p", keys: 3, order: "active_first,submitted_at_ms_asc,run_id_asc", filters: runFilters}
	pendingList      = listName{cursor: "q", keys: 3, order: "session_id_asc,request_id_asc", filters: "session_id"}
	ruleList         = listName{cursor: "u", keys: 2, order: "created_at_ms_asc,rule_id_asc", filters: "session_id"}
	effectList       = listName{cursor: "e", keys: 2, order: "created_at_ms_asc,effect_id_asc", filters: "state session_id webhook_id"}
	errInvalidCursor = refusal.New(api.CodeInvalidCursor, "the cursor was not made by this list")
)

const runFilters = "session_id agent_id status kind"

func (s *Server) listSessions(w http.ResponseWriter, r *http.Request) error {
	p, err := pagingOf(r, sessionList)
	if err != nil {
		return err
	}
	q := runs.SessionQuery{Status: api.Status(p.query.Get("status")), AgentID: p.query.Get("agent_id"), Limit: p.fetch(), Budget: p.budget}
	if q.Status != "" && !model.KnownSessionStatus(q.Status) {
		return badQuery("status", "idle, running, waiting_for_approval, waiting_for_user_question or ended")
	}
	if p.after != nil {
		q.After = p.after[0]
	}
	return serveList(w, r, &p, q, list[runs.SessionQuery, model.SessionSummary, api.SessionSummaryView]{
		filterIDs: []string{q.AgentID}, rows: s.store.Reader(r.Context()).Sessions, count: s.store.Reader(r.Context()).CountSessions, view: (*model.SessionSummary).View,
		keys: func(row *model.SessionSummary) []string { return []string{row.Session.SessionID} },
	})
}

// listRuns lists runs by creation time. With only a limit it returns the newest ones.
func (s *Server) listRuns(w http.ResponseWriter, r *http.Request) error {
	priority, err := queryFlag("priority_active", queryOf(r).Get("priority_active"))
	if err != nil {
		return err
	}
	name := runList
	if priority {
		name = priorityRunList
	}
	p, err := pagingOf(r, name)
	if err != nil {
		return err
	}
	q := runs.RunQuery{
		SessionID: p.query.Get("session_id"), AgentID: p.query.Get("agent_id"),
		Status: api.Status(p.query.Get("status")), Kind: api.RunKind(p.query.Get("kind")),
		PriorityActive: priority, Limit: p.fetch(), Budget: p.budget,
	}
	if q.Status != "" && !model.KnownStatus(q.Status) {
		return badQuery("status", "queued, running, waiting_for_approval, waiting_for_user_question, completed, failed, interrupted or cancelled")
	}
	if q.Kind != "" && q.Kind != api.KindInput && q.Kind != api.KindCall && q.Kind != api.KindParentClarification {
		return badQuery("kind", "input, call or parent_clarification")
	}
	if q.After, err = runPosition(p.after, priority); err != nil {
		return err
	}
	if p.limited && !p.envelope && !priority {
		q.Last, q.Limit, p.last = true, p.limit, true
	}
	return serveList(w, r, &p, q, list[runs.RunQuery, model.RunRecord, api.RunView]{
		filterIDs: []string{q.SessionID, q.AgentID},
		rows:      s.store.Reader(r.Context()).Runs, count: s.store.Reader(r.Context()).CountRuns, view: (*model.RunRecord).View,
		keys: func(row *model.RunRecord) []string {
			keys := []string{strconv.FormatInt(row.Run.SubmittedAtMs, 10), row.Run.RunID}
			if priority {
				keys = slices.Insert(keys, 0, strconv.FormatBool(model.Terminal(row.Run.Status)))
			}
			return keys
		},
	})
}

func runPosition(after []string, priority bool) (*runs.RunPosition, error) {
	if after == nil {
		return nil, nil
	}
	position := &runs.RunPosition{}
	if priority {
		if after[0] != "true" && after[0] != "false" {
			return nil, errInvalidCursor
		}
		position.Over = after[0] == "true"
		after = after[1:]
	}
	var err error
	position.SubmittedAtMs, position.RunID, err = timeAndID(after)
	return position, err
}

// timeAndID reads the cursor of a list sorted by time and id.
func timeAndID(after []string) (atMs int64, id string, err error) {
	atMs, ok := parseDecimal(after[0])
	if !ok {
		return 0, "", errInvalidCursor
	}
	return atMs, after[1], nil
}

// listApprovals and listQuestions serve the lists of one session and of all sessions, which may be
// filtered by session.
func (s *Server) listApprovals(w http.ResponseWriter, r *http.Request) error {
	reader := wire.ActorName(r)
	return listPending(s, w, r, model.KindApproval, func(pending *model.PendingRequest, summary bool) api.PendingApprovalView {
		view := pending.ApprovalView(reader)
		if summary {
			wire.Summarize(&view.Request)
		}
		return view
	})
}

func (s *Server) listQuestions(w http.ResponseWriter, r *http.Request) error {
	reader := wire.ActorName(r)
	return listPending(s, w, r, model.KindQuestion, func(pending *model.PendingRequest, _ bool) api.PendingQuestionView {
		return pending.QuestionView(reader)
	})
}

func listPending[View any](s *Server, w http.ResponseWriter, r *http.Request, kind model.RequestKind, view func(pending *model.PendingRequest, summary bool) View) error {
	p, err := pagingOf(r, pendingList)
	if err != nil {
		return err
	}
	summary, err := wire.WantsSummary(p.query)
	if err != nil {
		return err
	}
	q := runs.RequestQuery{Kind: kind, SessionID: cmp.Or(wire.PathID(r, "session_id"), p.query.Get("session_id")), Limit: p.fetch(), Budget: p.budget}
	// The filter includes requests of sub-agents. The path of a session lists only its own.
	q.Below = wire.PathID(r, "session_id") == ""
	if p.after != nil {
		q.After = &runs.RequestPosition{SessionID: p.after[0], RunID: p.after[1], RequestID: p.after[2]}
	}
	var openAtMs int64
	return serveList(w, r, &p, q, list[runs.RequestQuery, model.PendingRequest, View]{
		filterIDs: []string{q.SessionID},
		rows: func(ctx context.Context, q runs.RequestQuery) (rows []model.PendingRequest, err error) {
			rows, openAtMs, err = s.pending(ctx, q)
			return rows, err
		},
		count: func(ctx context.Context, q runs.RequestQuery) (int64, error) {
			q.OpenAtMs = openAtMs
			return s.store.Reader(ctx).CountPendingRequests(ctx, q)
		},
		view: func(row *model.PendingRequest) View { return view(row, summary) },
		keys: func(row *model.PendingRequest) []string {
			return []string{row.Request.SessionID, row.Request.RunID, row.Request.RequestID}
		},
	})
}

// pending reads open requests. A request past its deadline stays open until the sweep expires it a
// moment later. It is omitted but not expired here, because a GET changes nothing. openAtMs is set
// when something may have been omitted.
func (s *Server) pending(ctx context.Context, q runs.RequestQuery) (rows []model.PendingRequest, openAtMs int64, err error) {
	budget := *q.Budget
	rows, err = s.store.Reader(ctx).PendingRequests(ctx, q)
	if err != nil || !slices.ContainsFunc(rows, func(row model.PendingRequest) bool { return row.Request.DueAtMs != 0 }) {
		return rows, 0, err
	}
	nowMs, err := s.store.NowMs(ctx)
	if err != nil {
		return nil, 0, err
	}
	if !slices.ContainsFunc(rows, func(row model.PendingRequest) bool {
		return row.Request.DueAtMs != 0 && row.Request.DueAtMs <= nowMs
	}) {
		return rows, nowMs, nil
	}
	q.OpenAtMs, *q.Budget = nowMs, budget
	rows, err = s.store.Reader(ctx).PendingRequests(ctx, q)
	return rows, nowMs, err
}

// listRules lists rules, including revoked and expired ones.
func (s *Server) listRules(w http.ResponseWriter, r *http.Request) error {
	p, err := pagingOf(r, ruleList)
	if err != nil {
		return err
	}
	q := runs.RuleQuery{SessionID: p.query.Get("session_id"), Limit: p.fetch(), Budget: p.budget}
	if p.after != nil {
		q.After = &runs.RulePosition{}
		if q.After.CreatedAtMs, q.After.RuleID, err = timeAndID(p.after); err != nil {
			return err
		}
	}
	return serveList(w, r, &p, q, list[runs.RuleQuery, rules.Record, api.RuleView]{
		filterIDs: []string{q.SessionID}, rows: s.store.Reader(r.Context()).Rules, count: s.store.Reader(r.Context()).CountRules, view: (*rules.Record).View,
		keys: func(row *rules.Record) []string {
			return []string{strconv.FormatInt(row.Rule.CreatedAtMs, 10), row.Rule.RuleID}
		},
	})
}

// hiddenReason replaces the reason of a failed delivery. An agent chooses its callback address, and
// the reason would reveal names, addresses and ports of the service's network.
const hiddenReason = "the attempt failed; an admin is shown why"

// effectViewFor returns the function that shows effects to a caller. Only admins see the reason of
// a failure.
func effectViewFor(caller *auth.Identity) func(*model.Effect) api.EffectView {
	if caller == nil || caller.May(auth.Administer) {
		return (*model.Effect).View
	}
	return func(effect *model.Effect) api.EffectView {
		view := effect.View()
		if view.LastError != "" {
			view.LastError = hiddenReason
		}
		return view
	}
}

// listEffects lists effects: the follow-up work of decisions.
func (s *Server) listEffects(w http.ResponseWriter, r *http.Request) error {
	p, err := pagingOf(r, effectList)
	if err != nil {
		return err
	}
	q := runs.EffectQuery{
		State: api.EffectState(p.query.Get("state")), SessionID: p.query.Get("session_id"), WebhookID: p.query.Get("webhook_id"),
		Limit: p.fetch(), Budget: p.budget,
	}
	if q.State != "" && !model.KnownEffectState(q.State) {
		return badQuery("state", "pending, done or failed")
	}
	if p.after != nil {
		q.After = &runs.EffectPosition{}
		if q.After.CreatedAtMs, q.After.EffectID, err = timeAndID(p.after); err != nil {
			return err
		}
	}
	return serveList(w, r, &p, q, list[runs.EffectQuery, model.Effect, api.EffectView]{
		filterIDs: []string{q.SessionID, q.WebhookID}, rows: s.store.Reader(r.Context()).Effects, count: s.store.Reader(r.Context()).CountEffects, view: effectViewFor(auth.From(r.Context())),
		keys: func(row *model.Effect) []string {
			return []string{strconv.FormatInt(row.CreatedAtMs, 10), row.EffectID}
		},
	})
}
