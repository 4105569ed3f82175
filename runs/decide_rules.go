package runs

import "cmp"

// ruleBody is what identifies the call that adds a rule: its members as they were
// given, with the defaults that can be left out.
type ruleBody struct {
	SessionID      string     `json:"session_id"`
	AgentID        string     `json:"agent_id,omitempty"`
	ToolName       string     `json:"tool_name,omitempty"`
	Effect         RuleEffect `json:"effect"`
	Match          RuleMatch  `json:"match"`
	Reason         string     `json:"reason,omitempty"`
	MaxUses        int64      `json:"max_uses,omitzero"`
	ExpiresAtMs    *int64     `json:"expires_at_ms,omitempty"`
	ExpiresAfterMs *int64     `json:"expires_after_ms,omitempty"`
}

// Needs implements Command.
func (c *AddRule) Needs() Needs {
	needs := Needs{SessionID: c.SessionID, ChangesRules: c.Effect != RuleAllow}
	if c.ruleIDGiven {
		needs.RuleID = c.RuleID
	}
	return needs
}

func (c *AddRule) prepare(newID IDSource) error {
	c.Actor.prepare()
	c.Effect = cmp.Or(c.Effect, RuleAllow)
	c.SessionID = cmp.Or(c.SessionID, GlobalRules)
	ofSession := c.SessionID != GlobalRules
	var faults faultList
	faults.optionalID("/rule_id", c.RuleID)
	if ofSession {
		faults.id("/session_id", c.SessionID)
	}
	faults.optionalID("/agent_id", c.AgentID)
	faults.text("/tool_name", c.ToolName, MaxNameLength)
	if c.Effect != RuleAllow && c.Effect != RuleAsk && c.Effect != RuleDeny {
		faults.add("/effect", "must be %q, %q or %q", RuleAllow, RuleAsk, RuleDeny)
	}
	checkMatch(&c.Match, "/match", c.ToolName, ofSession, &faults)
	faults.text("/reason", c.Reason, MaxTextLength)
	switch {
	case c.MaxUses == 0:
	case c.MaxUses < 0 || c.MaxUses > MaxRuleUses:
		faults.add("/max_uses", "must be between 1 and %d", MaxRuleUses)
	case !ofSession:
		faults.add("/max_uses", "needs a session_id")
	case c.Effect == RuleAsk:
		faults.add("/max_uses", "must not be given for an ask, which decides nothing")
	}
	if c.ExpiresAtMs != nil && c.ExpiresAfterMs != nil {
		faults.add("/expires_after_ms", "must not be given together with expires_at_ms")
	}
	if c.ExpiresAtMs != nil && *c.ExpiresAtMs <= 0 {
		faults.add("/expires_at_ms", "must be positive")
	}
	if c.ExpiresAfterMs != nil {
		checkRuleAge("/expires_after_ms", *c.ExpiresAfterMs, c.MaxAgeMs, &faults)
	}
	if err := faults.err(); err != nil {
		return err
	}
	c.ruleIDGiven = c.RuleID != ""
	c.RuleID = cmp.Or(c.RuleID, newID(PrefixRule))
	var err error
	c.digest, err = digestOf(ruleBody{
		SessionID: c.SessionID, AgentID: c.AgentID, ToolName: c.ToolName, Effect: c.Effect, Match: c.Match,
		Reason: c.Reason, MaxUses: c.MaxUses, ExpiresAtMs: c.ExpiresAtMs, ExpiresAfterMs: c.ExpiresAfterMs,
	})
	return err
}

func (c *AddRule) decide(w *work) (Reply, error) {
	if existing := w.state.Rules[c.RuleID]; existing != nil && c.ruleIDGiven {
		if existing.PayloadDigest != c.digest {
			return Reply{}, newError(CodeIDConflict, "rule %s exists with another payload", c.RuleID)
		}
		return Reply{Rule: &RuleRecord{Rule: *existing}, Existing: true}, nil
	}
	if w.session != nil && w.session.EndedAtMs != 0 {
		return Reply{}, newError(CodeSessionEnded, "session %s has ended", c.SessionID)
	}
	expiresAtMs, err := c.expiry(w.nowMs)
	if err != nil {
		return Reply{}, err
	}
	rule := &Rule{
		RuleID: c.RuleID, SessionID: c.SessionID, AgentID: c.AgentID, ToolName: c.ToolName,
		Effect: c.Effect, Match: c.Match, Reason: c.Reason, CreatedBy: c.Actor.Name, CreatedAtMs: w.nowMs,
		ExpiresAtMs: expiresAtMs, MaxUses: c.MaxUses, PayloadDigest: c.digest,
	}
	rule.Text = rule.describe(nil)
	w.changes.NewRules = append(w.changes.NewRules, rule)
	return Reply{Rule: &RuleRecord{Rule: *rule}}, nil
}

// expiry returns when the rule ends, 0 for never. Only the engine's clock knows
// whether a given moment is in the bounds.
func (c *AddRule) expiry(nowMs int64) (int64, error) {
	switch {
	case c.ExpiresAfterMs != nil:
		return expiryOf(nowMs, *c.ExpiresAfterMs), nil
	case c.ExpiresAtMs == nil:
		return expiryOf(nowMs, defaultRuleAge(c.MaxAgeMs)), nil
	case *c.ExpiresAtMs <= nowMs:
		return 0, invalid(Fault{Pointer: "/expires_at_ms", Detail: "must be in the future"})
	}
	var faults faultList
	checkRuleAge("/expires_at_ms", *c.ExpiresAtMs-nowMs, c.MaxAgeMs, &faults)
	return *c.ExpiresAtMs, faults.err()
}

// Needs implements Command.
func (c *RevokeRule) Needs() Needs {
	return Needs{SessionID: cmp.Or(c.SessionID, GlobalRules), RuleID: c.RuleID, ChangesRules: true}
}

func (c *RevokeRule) prepare(IDSource) error {
	c.Actor.prepare()
	var faults faultList
	if c.SessionID != GlobalRules {
		faults.optionalID("/session_id", c.SessionID)
	}
	return faults.err()
}

func (c *RevokeRule) decide(w *work) (Reply, error) {
	rule := w.state.Rules[c.RuleID]
	// A rule of another session changes under the lock of that one.
	if rule == nil || rule.SessionID != w.state.SessionID {
		return Reply{}, UnknownRule(c.RuleID)
	}
	if rule.RevokedAtMs != 0 {
		return Reply{Rule: &RuleRecord{Rule: *rule}, Existing: true}, nil
	}
	return Reply{Rule: &RuleRecord{Rule: *w.revoke(rule, c.Actor.Name)}}, nil
}
