package sqlite

import (
	"database/sql"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/rules"
)

const ruleColumns = `rules.session_id, rules.rule_id, rules.agent_id, rules.tool_name, rules.effect, rules.match,
	rules.reason, rules.text, rules.created_by, rules.created_at_ms, rules.expires_at_ms, rules.max_uses, rules.uses,
	rules.source_run_id, rules.source_request_id, rules.revoked_at_ms, rules.revoked_by, rules.payload_digest`

func ruleTargets(r *rules.Rule) []any {
	return []any{
		&r.SessionID, &r.RuleID, (*textOrEmpty)(&r.AgentID), (*textOrEmpty)(&r.ToolName), &r.Effect, (*ruleMatch)(&r.Match),
		(*textOrEmpty)(&r.Reason), &r.Text, &r.CreatedBy, &r.CreatedAtMs, (*integerOrZero)(&r.ExpiresAtMs), (*integerOrZero)(&r.MaxUses), &r.Uses,
		(*textOrEmpty)(&r.SourceRunID), (*textOrEmpty)(&r.SourceRequestID), (*integerOrZero)(&r.RevokedAtMs), (*textOrEmpty)(&r.RevokedBy),
		(*textOrEmpty)(&r.PayloadDigest),
	}
}

func scanRule(rows *sql.Rows) (*rules.Rule, error) {
	rule := &rules.Rule{}
	return rule, rows.Scan(ruleTargets(rule)...)
}

// ruleHits counts what a rule has settled.
const ruleHits = `(SELECT count(*) FROM requests WHERE requests.rule_id = rules.rule_id)`

func scanRuleRecord(rows *sql.Rows) (rules.Record, error) {
	var record rules.Record
	err := rows.Scan(append(ruleTargets(&record.Rule), &record.Hits)...)
	return record, err
}

// ruleMatch reads and writes a match as JSON text.
type ruleMatch api.RuleMatch

// Scan implements [database/sql.Scanner].
func (m *ruleMatch) Scan(value any) error {
	text, ok := value.(string)
	if !ok {
		return fmt.Errorf("match column holds %T", value)
	}
	if err := json.Unmarshal([]byte(text), (*api.RuleMatch)(m)); err != nil {
		return fmt.Errorf("match column: %w", err)
	}
	return nil
}
