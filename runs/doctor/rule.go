package doctor

import (
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// readRules checks the rules that are bound to a session, whether it is there or not,
// and those that hold in all.
func (e *examiner) readRules(rows *model.SessionRows) error {
	if rows.Rules == nil {
		return nil
	}
	for rule, err := range rows.Rules {
		if err != nil {
			return err
		}
		e.summary.Rows.Rules++
		at := Finding{RuleID: rule.RuleID}
		switch revoked := rule.RevokedAtMs != 0; {
		case revoked != (rule.RevokedBy != ""):
			e.find(RuleRevocationWrong, at, "revoked_at_ms is %d and revoked_by %q", rule.RevokedAtMs, rule.RevokedBy)
		case !revoked && rows.Session != nil && rows.Session.EndedAtMs != 0:
			e.find(RuleOutlivesSession, at, "the session has ended, but its rule was not revoked")
		}
		if rule.MaxUses < 0 || rule.Uses < 0 || rule.Uses > rule.MaxUses {
			e.find(RuleUsesWrong, at, "uses is %d and max_uses %d", rule.Uses, rule.MaxUses)
		} else if rule.MaxUses != 0 && rule.SessionID == rules.AllSessions {
			e.find(RuleUsesWrong, at, "max_uses is %d, but the rule holds in all sessions", rule.MaxUses)
		}
	}
	return nil
}
