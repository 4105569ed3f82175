package read

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/rules"
	"github.com/holdpoint/holdpoint/store/columns"
)

// Lists says how the lists of an engine differ from those of the other.
type Lists struct {
	// Sorted follows a column by which a list is sorted although another index finds its
	// rows.
	Sorted string
	// PendingEffects is where pending effects are found.
	PendingEffects string
	// OpenQuestions adds up what requests q ask and has no answer: 1 of a typed one.
	OpenQuestions string
	// RunIndex returns what follows the table of runs to name the index of a list, or of the
	// part of it that is Unfinished or Finished, for an engine that does not find it by
	// itself. May be nil.
	RunIndex func(q runs.RunQuery, part string) string
	// Unfinished takes the place of the part Unfinished in lists of all sessions: the
	// predicate of their indexes. No change when empty.
	Unfinished string
	// Whole is put around a page, which stands where the %s is, so that its rows are all
	// found before the first is handed out. No change when empty.
	Whole string
}

// The lists, without their filters. The predicates of the partial indexes stand word for
// word where they must be used; open requests have two, one for each engine's.
const (
	sqlSessions = `
SELECT s.*,
	CASE WHEN s.ended_at_ms IS NOT NULL THEN 'ended' ELSE coalesce(r.status, 'idle') END,
	(SELECT count(*) FROM requests AS q
		WHERE q.kind = 'approval' AND q.session_id = s.session_id AND q.settled_number IS NULL AND q.outcome IS NULL),
	(SELECT count(*) FROM requests AS q
		WHERE q.kind = 'question' AND q.session_id = s.session_id AND q.settled_number IS NULL AND q.outcome IS NULL)` + fromSessions
	fromSessions = `
FROM sessions AS s LEFT JOIN runs AS r ON r.session_id = s.session_id AND r.run_id = s.active_run_id`
	sqlCountSessions       = `SELECT count(*) FROM sessions AS s`
	sqlCountActiveSessions = sqlCountSessions + `
JOIN runs AS r ON r.session_id = s.session_id AND r.run_id = s.active_run_id`
	sqlRuns      = `SELECT r.*, 0 AS place FROM runs AS r`
	sqlCountRuns = `SELECT count(*) FROM runs AS r`
	sqlRequests  = `
SELECT q.*, r.agent_id, r.kind, r.requester` + fromRequests
	fromRequests = `
FROM requests AS q JOIN runs AS r ON r.session_id = q.session_id AND r.run_id = q.run_id`
	sqlCountRequests = `SELECT count(*) FROM requests AS q`
	sqlRequestIDs    = `SELECT q.run_id, q.request_id FROM requests AS q`
	sqlEffects       = `SELECT f.* FROM `
	sqlCountEffects  = `SELECT count(*) FROM `
	sqlRules         = `SELECT l.*, (SELECT count(*) FROM requests AS q WHERE q.rule_id = l.rule_id) FROM rules AS l`
	sqlCountRules    = `SELECT count(*) FROM rules AS l`

	holdsSlot = `r.status IN ('running', 'waiting_for_approval', 'waiting_for_user_question') AND r.kind <> 'parent_clarification'`
)

// filter gathers the conditions of a list with their arguments.
type filter struct {
	where []string
	args  []any
}

// and adds a condition; each ? in it stands for the next of the values.
func (f *filter) and(condition string, values ...any) {
	for _, value := range values {
		condition = strings.Replace(condition, "?", f.argument(value), 1)
	}
	f.where = append(f.where, condition)
}

func (f *filter) argument(value any) string {
	f.args = append(f.args, value)
	return "$" + strconv.Itoa(len(f.args))
}

// equals adds a condition for a column that must have a value, unless it is empty.
func (f *filter) equals(column, value string) {
	if value != "" {
		f.and(column+" = ?", value)
	}
}

// of returns a statement with the conditions.
func (f *filter) of(statement string) string {
	if len(f.where) > 0 {
		statement += "\nWHERE " + strings.Join(f.where, "\n\tAND ")
	}
	return columns.Expand(statement)
}

// page returns one page of a list.
func (l *Lists) page(f *filter, statement string, limit int, order ...string) (sql string, args []any) {
	sql = f.of(statement) + "\nORDER BY " + strings.Join(order, ", ") + "\nLIMIT " + f.argument(max(limit, 0))
	if l.Whole != "" {
		sql = fmt.Sprintf(l.Whole, sql)
	}
	return sql, f.args
}

func sessionFilter(q runs.SessionQuery) filter {
	var f filter
	f.equals("s.agent_id", q.AgentID)
	f.sessionWithin(&q.Scope)
	switch {
	case q.Status == "":
	case q.Status == api.SessionEnded:
		f.and("s.ended_at_ms IS NOT NULL")
	case q.Status == api.SessionIdle:
		f.and("s.ended_at_ms IS NULL AND s.active_run_id IS NULL")
	default:
		f.and("r.status = ? AND "+holdsSlot, string(q.Status))
	}
	return f
}

// hasActiveRun reports whether a status of sessions is that of their active run.
func hasActiveRun(status api.Status) bool {
	return status != "" && status != api.SessionEnded && status != api.SessionIdle
}

func summaryTargets(s *model.SessionSummary) []any {
	return append(columns.Sessions.Targets(&s.Session), (*string)(&s.Status), &s.PendingApprovals, &s.PendingQuestions)
}

func (l *Lists) sessionPage(q runs.SessionQuery, statement string, limit int) (string, []any) {
	f := sessionFilter(q)
	id := "s.session_id"
	if q.AgentID == "" && hasActiveRun(q.Status) {
		// The index of active runs has the order of the list.
		id = "r.session_id"
	}
	if q.After != "" {
		f.and(id+" > ?", q.After)
	}
	return l.page(&f, statement, limit, id)
}

// Sessions implements runs.Reader.
func (r *Reader) Sessions(ctx context.Context, q runs.SessionQuery) ([]model.SessionSummary, error) {
	ofOneAgent(&q.AgentID, &q.Scope)
	if !storable(string(q.Status), q.AgentID, q.After) {
		return nil, nil
	}
	return listWithin(ctx, r.lists, q.Budget, q.Limit, summaryTargets, sqlSessionSizes, sqlSessions,
		func(statement string, limit int) (string, []any) { return r.sql.Lists.sessionPage(q, statement, limit) })
}

// CountSessions implements runs.Reader.
func (r *Reader) CountSessions(ctx context.Context, q runs.SessionQuery) (int64, error) {
	ofOneAgent(&q.AgentID, &q.Scope)
	if !storable(string(q.Status), q.AgentID) {
		return 0, nil
	}
	f := sessionFilter(q)
	statement := sqlCountSessions
	if hasActiveRun(q.Status) {
		statement = sqlCountActiveSessions
	}
	return count(ctx, r.lists, f.of(statement), f.args...)
}

func (l *Lists) runFilter(q runs.RunQuery, part string) filter {
	var f filter
	f.equals("r.session_id", q.SessionID)
	f.equals("r.agent_id", q.AgentID)
	f.equals("r.kind", string(q.Kind))
	f.equals("r.status", string(q.Status))
	f.runWithin(&q.Scope, "r")
	if isUnfinished(q.Status) {
		// It follows from the status, and lets the planner use the indexes of unfinished runs.
		part = Unfinished
	}
	if part == Unfinished && q.SessionID == "" && l.Unfinished != "" {
		part = l.Unfinished
	}
	if part != "" {
		f.and(part)
	}
	return f
}

func isUnfinished(status api.Status) bool {
	return model.KnownStatus(status) && !model.Terminal(status)
}

// runs returns a statement about runs with the index to use.
func (l *Lists) runs(statement string, q runs.RunQuery, part string) string {
	if isUnfinished(q.Status) {
		part = Unfinished
	}
	if l.RunIndex != nil {
		statement += l.RunIndex(q, part)
	}
	return statement
}

// The parts of a list of runs that is sorted by whether they are over, first: each by what
// it selects.
const (
	Unfinished = "r.finished_at_ms IS NULL"
	Finished   = "r.finished_at_ms IS NOT NULL"
)

// runParts returns the parts of a list that still have rows after the cursor, in the
// order in which they are asked. The empty part is all of the list.
func runParts(q runs.RunQuery) []string {
	if !q.PriorityActive {
		return []string{""}
	}
	var parts []string
	if (q.After == nil || !q.After.Over) && !model.Terminal(q.Status) {
		parts = append(parts, Unfinished)
	}
	if !isUnfinished(q.Status) {
		parts = append(parts, Finished)
	}
	if q.Last {
		slices.Reverse(parts)
	}
	return parts
}

func (l *Lists) runPage(q runs.RunQuery, part, statement string, limit int) (string, []any) {
	f := l.runFilter(q, part)
	if after := q.After; after != nil && (part == "" || after.Over == (part == Finished)) {
		f.and("(r.submitted_at_ms, r.run_id) > (?, ?)", after.SubmittedAtMs, after.RunID)
	}
	submitted := "r.submitted_at_ms"
	if q.SessionID != "" {
		submitted += l.Sorted
	}
	if q.Last {
		return l.page(&f, l.runs(statement, q, part), limit, submitted+" DESC", "r.run_id DESC")
	}
	return l.page(&f, l.runs(statement, q, part), limit, submitted, "r.run_id")
}

// Runs implements runs.Reader. It asks once for the runs of each part and once for all
// that their views need, at one moment.
func (r *Reader) Runs(ctx context.Context, q runs.RunQuery) ([]model.RunRecord, error) {
	ofOneAgent(&q.AgentID, &q.Scope)
	if !storable(q.SessionID, q.AgentID, string(q.Status), string(q.Kind)) || q.After != nil && !storable(q.After.RunID) {
		return nil, nil
	}
	if q.Budget != nil {
		q.Budget.Cut = false
	}
	var found records
	err := r.lists.Snapshot(ctx, func(ask func(...Query) error) error {
		used := 0
		for _, part := range runParts(q) {
			limit := q.Limit - len(found.list)
			if q.Budget != nil && limit > 0 {
				sql, args := r.sql.Lists.runPage(q, part, sqlRunSizes, limit)
				var err error
				if limit, err = fitting(ask, q.Budget, &used, sql, args); err != nil {
					return err
				}
			}
			if limit <= 0 {
				continue
			}
			sql, args := r.sql.Lists.runPage(q, part, sqlRuns, limit)
			if err := ask(Query{sql, args, found.readRuns}); err != nil {
				return err
			}
		}
		return found.complete(r, ask)
	})
	if err != nil {
		return nil, err
	}
	list := make([]model.RunRecord, 0, len(found.list))
	for _, record := range found.list {
		list = append(list, *record)
	}
	if q.Last {
		slices.Reverse(list)
	}
	return list, nil
}

// CountRuns implements runs.Reader.
func (r *Reader) CountRuns(ctx context.Context, q runs.RunQuery) (int64, error) {
	ofOneAgent(&q.AgentID, &q.Scope)
	if !storable(q.SessionID, q.AgentID, string(q.Status), string(q.Kind)) {
		return 0, nil
	}
	f := r.sql.Lists.runFilter(q, "")
	return count(ctx, r.lists, f.of(r.sql.Lists.runs(sqlCountRuns, q, "")), f.args...)
}

func requestFilter(q runs.RequestQuery) filter {
	var f filter
	f.and("q.kind = ?", string(q.Kind))
	f.and("q.settled_number IS NULL AND q.outcome IS NULL")
	f.equals("q.session_id", q.SessionID)
	f.equals("q.run_id", q.RunID)
	if q.OpenAtMs != 0 {
		f.and("(q.due_at_ms IS NULL OR q.due_at_ms > ?)", q.OpenAtMs)
	}
	f.requestWithin(&q.Scope)
	return f
}

// oldestRequest finds the request by what is beside the bodies, and reads it then.
func oldestRequest(q runs.RequestQuery) (sql string, args []any) {
	f := requestFilter(q)
	oldest := f.of(sqlRequestIDs) + "\nORDER BY q.created_at_ms, q.number, q.run_id LIMIT 1"
	var whole filter
	whole.args = f.args
	whole.equals("q.session_id", q.SessionID)
	whole.and("(q.run_id, q.request_id) = (" + oldest + ")")
	return whole.of(sqlRequests), whole.args
}

func (l *Lists) requestPage(q runs.RequestQuery, statement string, limit int) (string, []any) {
	f := requestFilter(q)
	if after := q.After; after != nil {
		f.and("(q.session_id, q.run_id, q.request_id) > (?, ?, ?)", after.SessionID, after.RunID, after.RequestID)
	}
	return l.page(&f, statement, limit, "q.session_id", "q.run_id", "q.request_id")
}

// PendingRequests implements runs.Reader.
func (r *Reader) PendingRequests(ctx context.Context, q runs.RequestQuery) ([]model.PendingRequest, error) {
	if !storable(string(q.Kind), q.SessionID, q.RunID) || q.After != nil && !storable(q.After.SessionID, q.After.RunID, q.After.RequestID) {
		return nil, nil
	}
	if q.Oldest {
		sql, args := oldestRequest(q)
		return list(ctx, r.lists, columns.PendingRequest, sql, args...)
	}
	return listWithin(ctx, r.lists, q.Budget, q.Limit, columns.PendingRequest, sqlRequestSizes, sqlRequests,
		func(statement string, limit int) (string, []any) { return r.sql.Lists.requestPage(q, statement, limit) })
}

// CountPendingRequests implements runs.Reader.
func (r *Reader) CountPendingRequests(ctx context.Context, q runs.RequestQuery) (int64, error) {
	if !storable(string(q.Kind), q.SessionID, q.RunID) {
		return 0, nil
	}
	f, counted := requestFilter(q), sqlCountRequests
	if q.EachQuestion {
		counted = "SELECT " + r.sql.Lists.OpenQuestions + " FROM requests AS q"
	}
	return count(ctx, r.lists, f.of(counted), f.args...)
}

// effectFilter returns where the effects of a query are found. Most effects are done: what
// is asked for more often has an index of its own.
func (l *Lists) effectFilter(q runs.EffectQuery) (from string, f filter) {
	from = "effects AS f"
	switch {
	case q.State == api.EffectPending:
		// It follows from the state, and lets the planner use effects_due.
		from = l.PendingEffects
		f.and("f.due_at_ms IS NOT NULL")
	case q.State == api.EffectFailed:
		// The predicate of effects_failed, word for word.
		f.and("f.state = 'failed'")
	default:
		f.equals("f.state", string(q.State))
	}
	f.equals("f.session_id", q.SessionID)
	if q.WebhookID != "" {
		// The predicate of effects_of_webhooks, word for word.
		from = "effects AS f"
		f.and("f.webhook_id <> ''")
		f.equals("f.webhook_id", q.WebhookID)
	}
	f.inSessionWithin(&q.Scope, "f.session_id")
	return from, f
}

func (l *Lists) effectPage(q runs.EffectQuery, statement string, limit int) (string, []any) {
	from, f := l.effectFilter(q)
	created := "f.created_at_ms"
	if q.SessionID != "" || q.State == api.EffectPending || q.State == api.EffectFailed || q.WebhookID != "" {
		created += l.Sorted
	}
	if after := q.After; after != nil {
		f.and("("+created+", f.effect_id) > (?, ?)", after.CreatedAtMs, after.EffectID)
	}
	return l.page(&f, statement+from, limit, created, "f.effect_id")
}

// Effects implements runs.Reader.
func (r *Reader) Effects(ctx context.Context, q runs.EffectQuery) ([]model.Effect, error) {
	if !storable(string(q.State), q.SessionID, q.WebhookID) || q.After != nil && !storable(q.After.EffectID) {
		return nil, nil
	}
	return listWithin(ctx, r.lists, q.Budget, q.Limit, columns.Effects.Targets, sqlEffectSizes, sqlEffects,
		func(statement string, limit int) (string, []any) { return r.sql.Lists.effectPage(q, statement, limit) })
}

// CountEffects implements runs.Reader.
func (r *Reader) CountEffects(ctx context.Context, q runs.EffectQuery) (int64, error) {
	if !storable(string(q.State), q.SessionID, q.WebhookID) {
		return 0, nil
	}
	from, f := r.sql.Lists.effectFilter(q)
	return count(ctx, r.lists, f.of(sqlCountEffects+from), f.args...)
}

func ruleFilter(q runs.RuleQuery) filter {
	var f filter
	f.equals("l.session_id", q.SessionID)
	f.inSessionWithin(&q.Scope, "l.session_id")
	return f
}

func (l *Lists) rulePage(q runs.RuleQuery, statement string, limit int) (string, []any) {
	f := ruleFilter(q)
	created := "l.created_at_ms"
	if q.SessionID != "" {
		created += l.Sorted
	}
	if after := q.After; after != nil {
		f.and("("+created+", l.rule_id) > (?, ?)", after.CreatedAtMs, after.RuleID)
	}
	return l.page(&f, statement, limit, created, "l.rule_id")
}

// Rules implements runs.Reader.
func (r *Reader) Rules(ctx context.Context, q runs.RuleQuery) ([]rules.Record, error) {
	if !storable(q.SessionID) || q.After != nil && !storable(q.After.RuleID) {
		return nil, nil
	}
	return listWithin(ctx, r.lists, q.Budget, q.Limit, columns.RuleRecord, sqlRuleSizes, sqlRules,
		func(statement string, limit int) (string, []any) { return r.sql.Lists.rulePage(q, statement, limit) })
}

// CountRules implements runs.Reader.
func (r *Reader) CountRules(ctx context.Context, q runs.RuleQuery) (int64, error) {
	if !storable(q.SessionID) {
		return 0, nil
	}
	f := ruleFilter(q)
	return count(ctx, r.lists, f.of(sqlCountRules), f.args...)
}
