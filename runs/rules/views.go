package rules

import "github.com/holdpoint/holdpoint/api"

// View returns the rule's /v1 view, without a session for a rule of all sessions.
func (r *Record) View() api.RuleView {
	rule := &r.Rule
	view := api.RuleView{
		RuleID: rule.RuleID, Effect: rule.Effect, AgentID: rule.AgentID,
		ToolName: rule.ToolName, Match: rule.Match, Reason: rule.Reason,
		CreatedBy: rule.CreatedBy, ViaPrincipal: rule.ViaPrincipal, CreatedAtMs: rule.CreatedAtMs, ExpiresAtMs: rule.ExpiresAtMs,
		MaxUses: rule.MaxUses, Escalation: rule.Escalation, Hint: rule.Hint, SourceRunID: rule.SourceRunID, SourceRequestID: rule.SourceRequestID,
		RevokedAtMs: rule.RevokedAtMs, RevokedBy: rule.RevokedBy, Hits: r.Hits, Uses: rule.Uses, Text: rule.Text,
	}
	if rule.SessionID != AllSessions {
		view.SessionID = rule.SessionID
	}
	return view
}
