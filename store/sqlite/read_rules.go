package sqlite

import (
	"context"

	"github.com/holdpoint/holdpoint/runs"
)

// Rule implements [runs.Reader].
func (s *Store) Rule(ctx context.Context, ruleID string) (*runs.RuleRecord, error) {
	var record runs.RuleRecord
	err := s.read(ctx, func(c *connection) error {
		var there bool
		var err error
		record, there, err = one(ctx, c, scanRuleRecord, `SELECT `+ruleColumns+`, `+ruleHits+` FROM rules WHERE rule_id = ?`, ruleID)
		if err == nil && !there {
			err = runs.UnknownRule(ruleID)
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
func (s *Store) Rules(ctx context.Context, q runs.RuleQuery) ([]runs.RuleRecord, error) {
	f := ruleFilter(q)
	if q.After != nil {
		f.and(`(created_at_ms, rule_id) > (?, ?)`, q.After.CreatedAtMs, q.After.RuleID)
	}
	query := `SELECT ` + ruleColumns + `, ` + ruleHits + ` FROM rules` + f.where() + ` ORDER BY created_at_ms, rule_id LIMIT ?`
	var records []runs.RuleRecord
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
func (s *Store) RulesFor(ctx context.Context, sessionID string, limit int) ([]runs.Rule, int64, error) {
	var rules []runs.Rule
	err := s.read(ctx, func(c *connection) error {
		found, err := list(ctx, c, scanRule, `SELECT `+ruleColumns+` FROM rules INDEXED BY rules_standing
			WHERE session_id IN (?, ?) AND revoked_at_ms IS NULL ORDER BY created_at_ms, rule_id LIMIT ?`,
			sessionID, runs.GlobalRules, max(limit, 0))
		for _, rule := range found {
			rules = append(rules, *rule)
		}
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	return rules, s.nowMs(), nil
}
