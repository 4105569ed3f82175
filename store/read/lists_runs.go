package read

import (
	"context"
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

func (l *Lists) runFilter(q reads.RunQuery, scope *reads.Scope, part string) filter {
	var f filter
	f.equals("r.session_id", q.SessionID)
	f.equals("r.agent_id", q.AgentID)
	if q.Kind != "" && q.WithCalls {
		f.and("r.kind IN (?, 'call')", string(q.Kind))
	} else {
		f.equals("r.kind", string(q.Kind))
	}
	f.equals("r.status", string(q.Status))
	f.runWithin(scope, "r")
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
func (l *Lists) runs(statement string, q reads.RunQuery, part string) string {
	if isUnfinished(q.Status) {
		part = Unfinished
	}
	if l.RunIndex != nil {
		statement += l.RunIndex(q, part)
	}
	return statement
}

// The parts of a list of runs that is sorted by whether they are finished, by their condition.
const (
	Unfinished = "r.finished_at_ms IS NULL"
	Finished   = "r.finished_at_ms IS NOT NULL"
)

// runParts returns the parts of a list with rows after the cursor, in query order. The empty
// part is the whole list.
func runParts(q reads.RunQuery) []string {
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

func (l *Lists) runPage(q reads.RunQuery, scope *reads.Scope, part, statement string, limit int) (string, []any) {
	f := l.runFilter(q, scope, part)
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

// Runs implements reads.Reader. It queries each part once, and then once everything that the
// views need, in one snapshot.
func (r *Reader) Runs(ctx context.Context, q reads.RunQuery) ([]model.RunRecord, error) {
	scope := ofOneAgent(&q.AgentID, r.scope)
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
				sql, args := r.sql.Lists.runPage(q, &scope, part, sqlRunSizes, limit)
				var err error
				if limit, err = fitting(ask, q.Budget, &used, sql, args); err != nil {
					return err
				}
			}
			if limit <= 0 {
				continue
			}
			sql, args := r.sql.Lists.runPage(q, &scope, part, sqlRuns, limit)
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

// CountRuns implements reads.Reader.
func (r *Reader) CountRuns(ctx context.Context, q reads.RunQuery) (int64, error) {
	scope := ofOneAgent(&q.AgentID, r.scope)
	if !storable(q.SessionID, q.AgentID, string(q.Status), string(q.Kind)) {
		return 0, nil
	}
	f := r.sql.Lists.runFilter(q, &scope, "")
	q.WithCalls = false // a count has no order, so the index by kind finds both
	return count(ctx, r.lists, f.of(r.sql.Lists.runs(sqlCountRuns, q, "")), f.args...)
}
