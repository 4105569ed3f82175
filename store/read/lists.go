package read

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/holdpoint/holdpoint/runs"
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
	// SessionIn is the condition that the session of a request q is one that the subquery at the %s
	// returns. It must find the requests by an index.
	SessionIn string
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
	sqlRequestIDs    = `SELECT q.session_id, q.run_id, q.request_id FROM requests AS q`
	sqlEffects       = `SELECT f.* FROM `
	sqlCountEffects  = `SELECT count(*) FROM `
	sqlRules         = `SELECT l.*, (SELECT count(*) FROM requests AS q WHERE q.rule_id = l.rule_id) FROM rules AS l`
	sqlCountRules    = `SELECT count(*) FROM rules AS l`

	holdsSlot = `r.status IN ('running', 'waiting_for_approval', 'waiting_for_user_question') AND r.kind <> 'parent_clarification' AND r.kind <> 'call'`
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
