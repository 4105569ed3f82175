package read

import (
	"context"

	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/rules"
	"github.com/holdpoint/holdpoint/store/columns"
)

func ruleFilter(q reads.RuleQuery, scope *reads.Scope) filter {
	var f filter
	f.equals("l.session_id", q.SessionID)
	f.inSessionWithin(scope, "l.session_id")
	return f
}

func (l *Lists) rulePage(q reads.RuleQuery, scope *reads.Scope, statement string, limit int) (string, []any) {
	f := ruleFilter(q, scope)
	created := "l.created_at_ms"
	if q.SessionID != "" {
		created += l.Sorted
	}
	if after := q.After; after != nil {
		f.and("("+created+", l.rule_id) > (?, ?)", after.CreatedAtMs, after.RuleID)
	}
	return l.page(&f, statement, limit, created, "l.rule_id")
}

// Rules implements reads.Reader.
func (r *Reader) Rules(ctx context.Context, q reads.RuleQuery) ([]rules.Record, error) {
	if !storable(q.SessionID) || q.After != nil && !storable(q.After.RuleID) {
		return nil, nil
	}
	return listWithin(ctx, r.lists, q.Budget, q.Limit, columns.RuleRecord, sqlRuleSizes, sqlRules,
		func(statement string, limit int) (string, []any) {
			return r.sql.Lists.rulePage(q, &r.scope, statement, limit)
		})
}

// CountRules implements reads.Reader.
func (r *Reader) CountRules(ctx context.Context, q reads.RuleQuery) (int64, error) {
	if !storable(q.SessionID) {
		return 0, nil
	}
	f := ruleFilter(q, &r.scope)
	return count(ctx, r.lists, f.of(sqlCountRules), f.args...)
}
