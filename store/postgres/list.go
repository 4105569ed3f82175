package postgres

import (
	"strconv"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// query is a statement put together of constant pieces, with its parameters.
type query struct {
	where []string
	args  []any
}

// and adds a condition; each ? in it stands for the next of the values.
func (q *query) and(condition string, values ...any) {
	for _, value := range values {
		condition = strings.Replace(condition, "?", q.parameter(value), 1)
	}
	q.where = append(q.where, condition)
}

func (q *query) parameter(value any) string {
	q.args = append(q.args, value)
	return "$" + strconv.Itoa(len(q.args))
}

func (q *query) conditions() string {
	if len(q.where) == 0 {
		return ""
	}
	return "\nWHERE " + strings.Join(q.where, "\n\tAND ")
}

// takesSlot is the predicate of runs_one_active: what does not repeat it word for
// word cannot use that index.
const takesSlot = `r.status IN ('running', 'waiting_for_approval', 'waiting_for_user_question') AND r.kind <> 'parent_clarification'`

// sessionFilter returns the FROM and the conditions of a list of sessions.
func sessionFilter(q runs.SessionQuery) (from string, filter query) {
	from = "\nFROM sessions AS s LEFT JOIN runs AS r ON r.session_id = s.session_id AND r.run_id = s.active_run_id"
	if q.AgentID != "" {
		filter.and("s.agent_id = ?", q.AgentID)
	}
	switch {
	case q.Status == "":
	case q.Status == api.SessionEnded:
		filter.and("s.ended_at_ms IS NOT NULL")
	case q.Status == api.SessionIdle:
		filter.and("s.ended_at_ms IS NULL AND s.active_run_id IS NULL")
	default:
		from = "\nFROM sessions AS s JOIN runs AS r ON r.session_id = s.session_id AND r.run_id = s.active_run_id"
		filter.and("r.status = ? AND "+takesSlot, string(q.Status))
	}
	return from, filter
}

// sessionList returns the statement of one page of sessions.
func sessionList(q runs.SessionQuery) (sql string, args []any) {
	from, filter := sessionFilter(q)
	if q.After != "" {
		filter.and("s.session_id > ?", q.After)
	}
	sql = "SELECT" + sessionColumns + `,
	CASE WHEN s.ended_at_ms IS NOT NULL THEN 'ended' ELSE coalesce(r.status, 'idle') END,
	(SELECT count(*) FROM requests AS q WHERE q.kind = 'approval' AND q.session_id = s.session_id AND q.settled_number IS NULL),
	(SELECT count(*) FROM requests AS q WHERE q.kind = 'question' AND q.session_id = s.session_id AND q.settled_number IS NULL)` +
		from + filter.conditions() + "\nORDER BY s.session_id\nLIMIT " + filter.parameter(max(q.Limit, 0))
	return sql, filter.args
}

func sessionCount(q runs.SessionQuery) (sql string, args []any) {
	from, filter := sessionFilter(q)
	return "SELECT count(*)" + from + filter.conditions(), filter.args
}

// runFilter returns the conditions of a list of runs.
func runFilter(q runs.RunQuery) query {
	var filter query
	if q.SessionID != "" {
		filter.and("r.session_id = ?", q.SessionID)
	}
	if q.AgentID != "" {
		filter.and("r.agent_id = ?", q.AgentID)
	}
	if q.Kind != "" {
		filter.and("r.kind = ?", string(q.Kind))
	}
	if q.Status != "" {
		filter.and("r.status = ?", string(q.Status))
		if model.KnownStatus(q.Status) && !model.Terminal(q.Status) {
			// It follows from the status, and lets the planner use runs_unfinished.
			filter.and("r.finished_at_ms IS NULL")
		}
	}
	return filter
}

// runPart is the part of a list of runs that one statement gives.
type runPart string

const (
	allRuns        runPart = ""
	unfinishedRuns runPart = "r.finished_at_ms IS NULL"
	finishedRuns   runPart = "r.finished_at_ms IS NOT NULL"
)

// runParts returns the statements' parts in the order in which they are asked.
func runParts(q runs.RunQuery) []runPart {
	switch {
	case !q.PriorityActive:
		return []runPart{allRuns}
	case q.Last:
		return []runPart{finishedRuns, unfinishedRuns}
	default:
		return []runPart{unfinishedRuns, finishedRuns}
	}
}

// runList returns the statement of up to limit runs of one part. ok is false when
// the part lies before the cursor.
func runList(q runs.RunQuery, part runPart, limit int) (sql string, args []any, ok bool) {
	filter := runFilter(q)
	if part != allRuns {
		filter.and(string(part))
	}
	if after := q.After; after != nil {
		if part == unfinishedRuns && after.Over {
			return "", nil, false
		}
		if part == allRuns || after.Over == (part == finishedRuns) {
			filter.and("(r.submitted_at_ms, r.run_id) > (?, ?)", after.SubmittedAtMs, after.RunID)
		}
	}
	// The sum keeps the planner from walking the list of all sessions' runs until it
	// has met enough of this one's.
	submitted := "r.submitted_at_ms"
	if q.SessionID != "" {
		submitted = "r.submitted_at_ms + 0"
	}
	direction := ""
	if q.Last {
		direction = " DESC"
	}
	sql = "SELECT" + runColumns + ", 0::bigint\nFROM runs AS r" + filter.conditions() +
		"\nORDER BY " + submitted + direction + ", r.run_id" + direction + "\nLIMIT " + filter.parameter(max(limit, 0))
	return sql, filter.args, true
}

func runCount(q runs.RunQuery) (sql string, args []any) {
	filter := runFilter(q)
	return "SELECT count(*) FROM runs AS r" + filter.conditions(), filter.args
}

func requestFilter(q runs.RequestQuery) query {
	var filter query
	filter.and("q.kind = ?", string(q.Kind))
	filter.and("q.settled_number IS NULL")
	if q.SessionID != "" {
		filter.and("q.session_id = ?", q.SessionID)
	}
	return filter
}

// requestList returns the statement of one page of open requests.
func requestList(q runs.RequestQuery) (sql string, args []any) {
	filter := requestFilter(q)
	if after := q.After; after != nil {
		filter.and("(q.session_id, q.run_id, q.request_id) > (?, ?, ?)", after.SessionID, after.RunID, after.RequestID)
	}
	sql = "SELECT" + requestColumns + ", r.agent_id, r.kind, r.requester\nFROM requests AS q\nJOIN runs AS r ON r.session_id = q.session_id AND r.run_id = q.run_id" +
		filter.conditions() + "\nORDER BY q.session_id, q.run_id, q.request_id\nLIMIT " + filter.parameter(max(q.Limit, 0))
	return sql, filter.args
}

func requestCount(q runs.RequestQuery) (sql string, args []any) {
	filter := requestFilter(q)
	return "SELECT count(*) FROM requests AS q" + filter.conditions(), filter.args
}

func effectFilter(q runs.EffectQuery) query {
	var filter query
	switch {
	case q.State == api.EffectPending:
		// It follows from the state, and lets the planner use effects_due.
		filter.and("f.due_at_ms IS NOT NULL")
	case q.State == api.EffectFailed:
		// The predicate of effects_failed, word for word.
		filter.and("f.state = 'failed'")
	case q.State != "":
		filter.and("f.state = ?", string(q.State))
	}
	if q.SessionID != "" {
		filter.and("f.session_id = ?", q.SessionID)
	}
	return filter
}

func effectsCount(q runs.EffectQuery) (sql string, args []any) {
	filter := effectFilter(q)
	return "SELECT count(*) FROM effects AS f" + filter.conditions(), filter.args
}

// effectList returns the statement of one page of effects.
func effectList(q runs.EffectQuery) (sql string, args []any) {
	filter := effectFilter(q)
	// The sum keeps the planner from walking the list of all effects until it has met
	// enough of those that another index finds at once.
	created := "f.created_at_ms + 0"
	if q.SessionID == "" && q.State != api.EffectPending && q.State != api.EffectFailed {
		created = "f.created_at_ms"
	}
	if after := q.After; after != nil {
		filter.and("("+created+", f.effect_id) > (?, ?)", after.CreatedAtMs, after.EffectID)
	}
	sql = "SELECT" + effectColumns + "\nFROM effects AS f" + filter.conditions() +
		"\nORDER BY " + created + ", f.effect_id\nLIMIT " + filter.parameter(max(q.Limit, 0))
	return sql, filter.args
}
