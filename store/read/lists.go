package read

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/store/columns"
)

// Lists has an engine's differences in lists.
type Lists struct {
	// Sorted follows the sort column of a list whose rows another index finds.
	Sorted string
	// PendingEffects is where pending effects are found.
	PendingEffects string
	// OpenQuestions sums the unanswered questions of requests q; a typed one counts as 1.
	OpenQuestions string
	// SessionIn is the condition that the session of a request q is one that the subquery at the %s
	// returns. It must find the requests by an index.
	SessionIn string
	// RunIndex returns what follows the table of runs to name the index of a list, or of its
	// part Unfinished or Finished, for an engine that does not find it on its own. May be nil.
	RunIndex func(q reads.RunQuery, part string) string
	// Unfinished replaces the part Unfinished in lists of all sessions by the predicate of their
	// indexes. Empty: no change.
	Unfinished string
	// RequestRuns replaces the join of requests q with their runs r in a page. Empty: no change.
	RequestRuns string
	// Whole wraps a page, which replaces its %s, so that all rows are found before the first is
	// returned. Empty: no change.
	Whole string
}

// The lists, without their filters. The predicates of the partial indexes are repeated word for
// word where they must be used; open requests have two, one per engine.
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
SELECT q.*, r.agent_id, r.kind, r.requester, ` + sqlAbout + `, ` + sqlParent + fromRequests
	// sqlAbout and sqlParent are subqueries, because a join could change the order in which the tables are read.
	sqlAbout     = `(SELECT s.about FROM sessions AS s WHERE s.session_id = q.session_id)`
	sqlParent    = `(SELECT coalesce(s.parent_session_id, '') FROM sessions AS s WHERE s.session_id = q.session_id)`
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

// and adds a condition; each ? in it is replaced by the next value.
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

// equals adds a condition on a column's value, unless the value is empty.
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
	if l.RequestRuns != "" {
		statement = strings.Replace(statement, fromRequests, l.RequestRuns, 1)
	}
	sql = f.of(statement) + "\nORDER BY " + strings.Join(order, ", ") + "\nLIMIT CAST(" + f.argument(max(limit, 0)) + " AS bigint)"
	if l.Whole != "" {
		sql = fmt.Sprintf(l.Whole, sql)
	}
	return sql, f.args
}
