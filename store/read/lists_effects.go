package read

import (
	"context"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/store/columns"
)

// effectFilter returns the source of a query's effects. Most effects are done, so the frequent
// queries have their own index.
func (l *Lists) effectFilter(q reads.EffectQuery, scope *reads.Scope) (from string, f filter) {
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
	f.equals("f.run_id", q.RunID)
	if q.WebhookID != "" {
		// The predicate of effects_of_webhooks, word for word.
		from = "effects AS f"
		f.and("f.webhook_id <> ''")
		f.equals("f.webhook_id", q.WebhookID)
	}
	f.inSessionWithin(scope, "f.session_id")
	return from, f
}

func (l *Lists) effectPage(q reads.EffectQuery, scope *reads.Scope, statement string, limit int) (string, []any) {
	from, f := l.effectFilter(q, scope)
	created := "f.created_at_ms"
	if q.SessionID != "" || q.State == api.EffectPending || q.State == api.EffectFailed || q.WebhookID != "" {
		created += l.Sorted
	}
	if q.Newest {
		return l.page(&f, statement+from, limit, created+" DESC", "f.effect_id DESC")
	}
	if after := q.After; after != nil {
		f.and("("+created+", f.effect_id) > (?, ?)", after.CreatedAtMs, after.EffectID)
	}
	return l.page(&f, statement+from, limit, created, "f.effect_id")
}

// Effects implements reads.Reader.
func (r *Reader) Effects(ctx context.Context, q reads.EffectQuery) ([]model.Effect, error) {
	if !storable(string(q.State), q.SessionID, q.RunID, q.WebhookID) || q.After != nil && !storable(q.After.EffectID) {
		return nil, nil
	}
	return listWithin(ctx, r.lists, q.Budget, q.Limit, columns.Effects.Targets, sqlEffectSizes, sqlEffects,
		func(statement string, limit int) (string, []any) {
			return r.sql.Lists.effectPage(q, &r.scope, statement, limit)
		})
}

// CountEffects implements reads.Reader.
func (r *Reader) CountEffects(ctx context.Context, q reads.EffectQuery) (int64, error) {
	if !storable(string(q.State), q.SessionID, q.RunID, q.WebhookID) {
		return 0, nil
	}
	from, f := r.sql.Lists.effectFilter(q, &r.scope)
	return count(ctx, r.lists, f.of(sqlCountEffects+from), f.args...)
}
