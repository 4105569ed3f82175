package sqlite

import (
	"context"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// Rule implements [runs.Reader].
func (s *Store) Rule(ctx context.Context, ruleID string) (*rules.Record, error) {
	var record rules.Record
	err := s.read(ctx, func(c *connection) error {
		var there bool
		var err error
		record, there, err = one(ctx, c, scanRuleRecord, `SELECT `+ruleColumns+`, `+ruleHits+` FROM rules WHERE rule_id = ?`, ruleID)
		if err == nil && !there {
			err = refusal.UnknownRule(ruleID)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return &record, nil
}

func ruleFilter(q runs.RuleQuery) filter {
	var f filter
	if q.SessionID != "" {
		f.and(`session_id = ?`, q.SessionID)
	}
	return f
}

// Rules implements [runs.Reader].
func (s *Store) Rules(ctx context.Context, q runs.RuleQuery) ([]rules.Record, error) {
	f := ruleFilter(q)
	if q.After != nil {
		f.and(`(created_at_ms, rule_id) > (?, ?)`, q.After.CreatedAtMs, q.After.RuleID)
	}
	query := `SELECT ` + ruleColumns + `, ` + ruleHits + ` FROM rules` + f.where() + ` ORDER BY created_at_ms, rule_id LIMIT ?`
	var records []rules.Record
	err := s.read(ctx, func(c *connection) error {
		var err error
		records, err = list(ctx, c, scanRuleRecord, query, append(f.args, max(q.Limit, 0))...)
		return err
	})
	return records, err
}

// CountRules implements [runs.Reader].
func (s *Store) CountRules(ctx context.Context, q runs.RuleQuery) (int64, error) {
	f := ruleFilter(q)
	return s.count(ctx, `SELECT count(*) FROM rules`+f.where(), f.args...)
}

// RulesFor implements [runs.Reader].
func (s *Store) RulesFor(ctx context.Context, sessionID string, limit int) ([]rules.Rule, int64, error) {
	var standing []rules.Rule
	err := s.read(ctx, func(c *connection) error {
		found, err := list(ctx, c, scanRule, `SELECT `+ruleColumns+` FROM rules INDEXED BY rules_standing
			WHERE session_id IN (?, ?) AND revoked_at_ms IS NULL ORDER BY created_at_ms, rule_id LIMIT ?`,
			sessionID, rules.AllSessions, max(limit, 0))
		for _, rule := range found {
			standing = append(standing, *rule)
		}
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	return standing, s.nowMs(), nil
}
