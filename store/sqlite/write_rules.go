package sqlite

import (
	"context"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// applyRules writes standing decisions.
func (b *batch) applyRules(ctx context.Context, writes *runs.Writes) error {
	for _, rule := range writes.NewRules {
		if err := b.insertRule(ctx, rule); err != nil {
			return err
		}
	}
	for _, rule := range writes.UpdatedRules {
		if err := b.updateRule(ctx, rule); err != nil {
			return err
		}
	}
	return nil
}

func (b *batch) insertRule(ctx context.Context, r *rules.Rule) error {
	match, err := document.Canonical(r.Match)
	if err != nil {
		return err
	}
	_, err = b.write.exec(ctx, `INSERT INTO rules (session_id, rule_id, agent_id, tool_name, effect, match, input_digest,
		reason, text, created_by, created_at_ms, expires_at_ms, max_uses, uses, source_run_id, source_request_id,
		revoked_at_ms, revoked_by, payload_digest) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		r.SessionID, r.RuleID, orNull(r.AgentID), orNull(r.ToolName), string(r.Effect), string(match), orNull(r.Match.InputDigest),
		orNull(r.Reason), r.Text, r.CreatedBy, r.CreatedAtMs, orNull(r.ExpiresAtMs), orNull(r.MaxUses), r.Uses,
		orNull(r.SourceRunID), orNull(r.SourceRequestID), orNull(r.RevokedAtMs), orNull(r.RevokedBy), orNull(r.PayloadDigest))
	return err
}

// updateRule writes what can change in a rule. What it says never does. That it was
// revoked is named only when it was, for the sake of the index that depends on it (see
// updateRun).
func (b *batch) updateRule(ctx context.Context, r *rules.Rule) error {
	query, args := `UPDATE rules SET uses = ?`, []any{r.Uses}
	if r.RevokedAtMs != 0 {
		query += `, revoked_at_ms = ?, revoked_by = ?`
		args = append(args, r.RevokedAtMs, orNull(r.RevokedBy))
	}
	return b.updateOne(ctx, "rule "+r.RuleID, query+` WHERE session_id = ? AND rule_id = ?`, append(args, r.SessionID, r.RuleID)...)
}
