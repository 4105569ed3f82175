package postgres

import (
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/rules"
)

const ruleColumns = `
	l.session_id, l.rule_id, coalesce(l.agent_id, ''), coalesce(l.tool_name, ''), l.effect, l.match,
	coalesce(l.reason, ''), l.text, l.created_by, l.created_at_ms, coalesce(l.expires_at_ms, 0),
	coalesce(l.max_uses, 0), l.uses, coalesce(l.source_run_id, ''), coalesce(l.source_request_id, ''),
	coalesce(l.revoked_at_ms, 0), coalesce(l.revoked_by, ''), coalesce(l.payload_digest, '')`

func ruleTargets(l *rules.Rule) []any {
	return []any{
		&l.SessionID, &l.RuleID, &l.AgentID, &l.ToolName, (*string)(&l.Effect), (*ruleMatch)(&l.Match),
		&l.Reason, &l.Text, &l.CreatedBy, &l.CreatedAtMs, &l.ExpiresAtMs,
		&l.MaxUses, &l.Uses, &l.SourceRunID, &l.SourceRequestID,
		&l.RevokedAtMs, &l.RevokedBy, &l.PayloadDigest,
	}
}

// ruleMatch reads a match from its JSON text.
type ruleMatch api.RuleMatch

// Scan implements sql.Scanner.
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
