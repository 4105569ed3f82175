package read

import (
	"context"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/store/columns"
)

// The decided requests, and their deciders. The predicates of the partial indexes are repeated
// word for word where they must be used.
const (
	sqlDecisions = `
SELECT q.*, r.agent_id, r.kind, r.requester, ` + sqlAbout + `, ` + sqlParent + `, r.status, coalesce(r.lease_expires_at_ms, 0)` + fromRequests
	sqlCountDecisions        = `SELECT count(*) FROM requests AS q`
	sqlCountDecisionsOfAgent = `
SELECT count(*) FROM requests AS q JOIN runs AS r ON r.session_id = q.session_id AND r.run_id = q.run_id`

	shownKinds = "q.kind IN ('approval', 'question')"
)

func decisionFilter(q reads.DecisionQuery, scope *reads.Scope) filter {
	var f filter
	f.and("q.settled_at_ms IS NOT NULL AND " + shownKinds)
	f.equals("q.session_id", q.SessionID)
	// As an expression it tempts no planner to begin with the runs of the agent.
	f.equals("(r.agent_id || '')", q.AgentID)
	f.equals("q.resolved_by", q.ResolvedBy)
	f.equals("q.outcome", string(q.Outcome))
	f.requestWithin(scope)
	if q.SinceMs > 0 {
		f.and("q.settled_at_ms >= ?", q.SinceMs)
	}
	return f
}

func (l *Lists) decisionPage(q reads.DecisionQuery, scope *reads.Scope, statement string, limit int) (string, []any) {
	f := decisionFilter(q, scope)
	if after := q.After; after != nil {
		f.and("(q.settled_at_ms, q.handle) < (?, ?)", after.SettledAtMs, after.Handle)
	}
	return l.page(&f, statement, limit, "q.settled_at_ms DESC", "q.handle DESC")
}

// Decisions implements reads.Reader.
func (r *Reader) Decisions(ctx context.Context, q reads.DecisionQuery) ([]model.DecidedRequest, error) {
	if !storable(q.SessionID, q.AgentID, q.ResolvedBy, string(q.Outcome)) || q.After != nil && !storable(q.After.Handle) {
		return nil, nil
	}
	return listWithin(ctx, r.lists, q.Budget, q.Limit, columns.DecidedRequest, sqlDecisionSizes, sqlDecisions,
		func(statement string, limit int) (string, []any) {
			return r.sql.Lists.decisionPage(q, &r.scope, statement, limit)
		})
}

// CountDecisions implements reads.Reader.
func (r *Reader) CountDecisions(ctx context.Context, q reads.DecisionQuery) (int64, error) {
	if !storable(q.SessionID, q.AgentID, q.ResolvedBy, string(q.Outcome)) {
		return 0, nil
	}
	f, statement := decisionFilter(q, &r.scope), sqlCountDecisions
	if q.AgentID != "" {
		statement = sqlCountDecisionsOfAgent
	}
	return count(ctx, r.lists, f.of(statement), f.args...)
}

// DecisionByHandle implements reads.Reader.
func (r *Reader) DecisionByHandle(ctx context.Context, handle string) (*model.DecidedRequest, error) {
	unknown := refusal.UnknownRequest(handle)
	if !storable(handle) {
		return nil, unknown
	}
	var f filter
	f.and("q.handle = ? AND "+shownKinds, handle)
	f.requestWithin(&r.scope)
	return first(ctx, r.db, columns.DecidedRequest, unknown, f.of(sqlDecisions), f.args...)
}

// LeasedRuns implements reads.Reader.
func (r *Reader) LeasedRuns(ctx context.Context, q reads.LeaseQuery) (leased []model.Run, nowMs int64, err error) {
	var found records
	var moments []int64
	f := filter{args: r.now()}
	f.runWithin(&r.scope, "r")
	if q.WithoutCalls {
		f.and("r.kind <> ?", string(api.KindCall))
	}
	sql := f.with(r.sql.LeasedRuns) + "\nORDER BY r.kind = 'call', r.worker_id, r.run_id\nLIMIT CAST(" + f.argument(max(q.Limit, 0)) + " AS bigint)"
	err = r.lists.AskAtOneMoment(ctx,
		Query{sql, f.args, found.readRuns},
		Query{r.sql.Now, r.now(), into(columns.Itself[int64], &moments)})
	if err != nil {
		return nil, 0, err
	}
	if len(moments) == 0 {
		return nil, 0, errNoRow
	}
	for _, record := range found.list {
		leased = append(leased, record.Run)
	}
	return leased, moments[0], nil
}
