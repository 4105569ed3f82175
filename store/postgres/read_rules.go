package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// ruleHits counts what a rule has settled.
const ruleHits = `
	(SELECT count(*) FROM requests AS q WHERE q.rule_id = l.rule_id)`

func ruleRecordTargets(r *rules.Record) []any { return append(ruleTargets(&r.Rule), &r.Hits) }

const (
	sqlRule = `SELECT` + ruleColumns + `,` + ruleHits + ` FROM rules AS l WHERE l.rule_id = $1`

	// sqlRulesFor reaches the rules of the session and then those of all sessions. The
	// sum keeps the planner from walking the list of all rules until it has met enough.
	sqlRulesFor = `
SELECT` + ruleColumns + `
FROM unnest($1::text[]) AS k (session_id)
CROSS JOIN LATERAL (
	SELECT * FROM rules AS one
	WHERE one.session_id = k.session_id AND one.revoked_at_ms IS NULL OFFSET 0
) AS l
ORDER BY l.created_at_ms + 0, l.rule_id
LIMIT $2::bigint`
)

// Rule implements runs.Reader.
func (s *Store) Rule(ctx context.Context, ruleID string) (*rules.Record, error) {
	if !refusal.ValidID(ruleID) {
		return nil, refusal.UnknownRule(ruleID)
	}
	record := &rules.Record{}
	err := s.reads.QueryRow(ctx, sqlRule, ruleID).Scan(ruleRecordTargets(record)...)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, refusal.UnknownRule(ruleID)
	}
	if err != nil {
		return nil, readFailure(ctx, err)
	}
	return record, nil
}

// Rules implements runs.Reader.
func (s *Store) Rules(ctx context.Context, q runs.RuleQuery) ([]rules.Record, error) {
	if !storable(q.SessionID) || q.After != nil && !storable(q.After.RuleID) {
		return nil, nil
	}
	sql, args := ruleList(q)
	rows, err := s.reads.Query(ctx, sql, args...)
	if err != nil {
		return nil, readFailure(ctx, err)
	}
	defer rows.Close()
	var list []rules.Record
	err = each(rows, ruleRecordTargets, func(r *rules.Record) { list = append(list, *r) })
	return list, readFailure(ctx, err)
}

// CountRules implements runs.Reader.
func (s *Store) CountRules(ctx context.Context, q runs.RuleQuery) (int64, error) {
	if !storable(q.SessionID) {
		return 0, nil
	}
	sql, args := ruleCount(q)
	return s.count(ctx, sql, args)
}

// RulesFor implements runs.Reader.
func (s *Store) RulesFor(ctx context.Context, sessionID string, limit int) (standing []rules.Rule, atMs int64, err error) {
	sessions := []string{rules.AllSessions}
	if refusal.ValidID(sessionID) {
		sessions = append(sessions, sessionID)
	}
	err = s.snapshot(ctx, func(batch *pgx.Batch) {
		batch.Queue(sqlRulesFor, sessions, max(limit, 0)).Query(func(rows pgx.Rows) error {
			return each(rows, ruleTargets, func(l *rules.Rule) { standing = append(standing, *l) })
		})
		batch.Queue(sqlNow).QueryRow(func(row pgx.Row) error { return row.Scan(&atMs) })
	})
	if err != nil {
		return nil, 0, readFailure(ctx, err)
	}
	return standing, atMs, nil
}

func ruleFilter(q runs.RuleQuery) query {
	var filter query
	if q.SessionID != "" {
		filter.and("l.session_id = ?", q.SessionID)
	}
	return filter
}

func ruleCount(q runs.RuleQuery) (sql string, args []any) {
	filter := ruleFilter(q)
	return "SELECT count(*) FROM rules AS l" + filter.conditions(), filter.args
}

// ruleList returns the statement of one page of rules.
func ruleList(q runs.RuleQuery) (sql string, args []any) {
	filter := ruleFilter(q)
	// The sum keeps the planner from walking the list of all sessions' rules.
	created := "l.created_at_ms"
	if q.SessionID != "" {
		created = "l.created_at_ms + 0"
	}
	if after := q.After; after != nil {
		filter.and("("+created+", l.rule_id) > (?, ?)", after.CreatedAtMs, after.RuleID)
	}
	sql = "SELECT" + ruleColumns + "," + ruleHits + "\nFROM rules AS l" + filter.conditions() +
		"\nORDER BY " + created + ", l.rule_id\nLIMIT " + filter.parameter(max(q.Limit, 0))
	return sql, filter.args
}
