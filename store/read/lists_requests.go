package read

import (
	"context"
	"fmt"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/store/columns"
)

func (l *Lists) requestFilter(q reads.RequestQuery, scope *reads.Scope) filter {
	var f filter
	f.and("q.kind = ?", string(q.Kind))
	f.and("q.settled_number IS NULL AND q.outcome IS NULL")
	l.ofSession(&f, q)
	f.equals("q.run_id", q.RunID)
	if q.OpenAtMs != 0 {
		f.and("(q.due_at_ms IS NULL OR q.due_at_ms > ?)", q.OpenAtMs)
	}
	f.requestWithin(scope)
	f.requestWithinAny(q.AnyOf)
	return f
}

// ofSession adds a condition on a request's session. The recursion starts with the session's own
// row, so that all ids have the column's collation.
func (l *Lists) ofSession(f *filter, q reads.RequestQuery) {
	if !q.Below || q.SessionID == "" {
		f.equals("q.session_id", q.SessionID)
		return
	}
	f.and(fmt.Sprintf(l.SessionIn, sqlSessionsBelow), q.SessionID, runs.MaxSessionsBelow)
}

// sqlSessionsBelow has the predicate of the index of live sessions by their parent.
const sqlSessionsBelow = `
	WITH RECURSIVE below (session_id) AS (
		SELECT s.session_id FROM sessions AS s WHERE s.session_id = ?
		UNION
		SELECT s.session_id FROM below AS b JOIN sessions AS s
			ON s.parent_session_id = b.session_id AND s.parent_session_id <> '' AND s.ended_at_ms IS NULL
	)
	SELECT b.session_id FROM below AS b LIMIT CAST(? AS bigint)`

// oldestRequest finds the request by its small columns before it reads the body.
func (l *Lists) oldestRequest(q reads.RequestQuery, scope *reads.Scope) (sql string, args []any) {
	f := l.requestFilter(q, scope)
	oldest := f.of(sqlRequestIDs) + "\nORDER BY q.created_at_ms, q.number, q.run_id LIMIT 1"
	var whole filter
	whole.args = f.args
	whole.and("(q.session_id, q.run_id, q.request_id) = (" + oldest + ")")
	return whole.of(sqlRequests), whole.args
}

// searched returns a filter for the requests whose body has a text, among the first ones that the
// filter selects. A search reads a limited number of bodies and bytes: otherwise the large requests of
// one agent would slow down everyone who opens a request.
func (f *filter) searched(pattern string) filter {
	first := f.of(`SELECT q.session_id, q.run_id, q.request_id, octet_length(q.body) AS size FROM requests AS q`) + "\nLIMIT CAST(" + f.argument(api.MaxSearchedRequests) + " AS bigint)"
	found := filter{args: f.args}
	found.and(`(q.session_id, q.run_id, q.request_id) IN (
	SELECT o.session_id, o.run_id, o.request_id
	FROM (SELECT n.session_id, n.run_id, n.request_id, sum(n.size) OVER (ROWS UNBOUNDED PRECEDING) AS bytes FROM (`+first+`) AS n) AS o
	WHERE o.bytes <= ?)`, int64(api.MaxSearchedBytes))
	found.and("q.body LIKE ?", pattern)
	return found
}

func (l *Lists) requestPage(q reads.RequestQuery, scope *reads.Scope, statement string, limit int) (string, []any) {
	f := l.requestFilter(q, scope)
	if q.InputDigest != "" {
		f = f.searched(`%"input_digest":"` + q.InputDigest + `"%`)
	}
	if after := q.After; after != nil {
		f.and("(q.session_id, q.run_id, q.request_id) > (?, ?, ?)", after.SessionID, after.RunID, after.RequestID)
	}
	return l.page(&f, statement, limit, "q.session_id", "q.run_id", "q.request_id")
}

// PendingRequests implements reads.Reader.
func (r *Reader) PendingRequests(ctx context.Context, q reads.RequestQuery) ([]model.PendingRequest, error) {
	if !storable(string(q.Kind), q.SessionID, q.RunID, q.InputDigest) || q.After != nil && !storable(q.After.SessionID, q.After.RunID, q.After.RequestID) {
		return nil, nil
	}
	if q.Oldest {
		sql, args := r.sql.Lists.oldestRequest(q, &r.scope)
		return List(ctx, r.lists, columns.PendingRequest, sql, args...)
	}
	return listWithin(ctx, r.lists, q.Budget, q.Limit, columns.PendingRequest, sqlRequestSizes, sqlRequests,
		func(statement string, limit int) (string, []any) {
			return r.sql.Lists.requestPage(q, &r.scope, statement, limit)
		})
}

// CountPendingRequests implements reads.Reader.
func (r *Reader) CountPendingRequests(ctx context.Context, q reads.RequestQuery) (int64, error) {
	if !storable(string(q.Kind), q.SessionID, q.RunID) {
		return 0, nil
	}
	f, counted := r.sql.Lists.requestFilter(q, &r.scope), sqlCountRequests
	if q.EachQuestion {
		counted = "SELECT " + r.sql.Lists.OpenQuestions + " FROM requests AS q"
	}
	return count(ctx, r.lists, f.of(counted), f.args...)
}
