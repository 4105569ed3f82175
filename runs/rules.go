package runs

import (
	"cmp"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// AddRule writes a standing rule (docs/spec/v1.md#rule).
//
// Reply: Rule; Existing when a rule with the chosen id and the same payload exists. Errors:
// invalid_request; session_ended; id_conflict when the chosen id has another payload;
// too_many_rules.
//
// The digest of the call covers the members with a name in JSON, with defaults filled in.
type AddRule struct {
	RuleID string `json:"-"` // generated when empty
	// SessionID is rules.AllSessions, or empty, for a rule for all sessions. The session need not
	// exist.
	SessionID string         `json:"session_id"`
	AgentID   string         `json:"agent_id,omitempty"`
	ToolName  string         `json:"tool_name,omitempty"`
	Effect    api.RuleEffect `json:"effect"` // api.RuleAllow when empty
	Match     api.RuleMatch  `json:"match"`
	Reason    string         `json:"reason,omitempty"`
	MaxUses   int64          `json:"max_uses,omitzero"`
	// Escalation is only for api.RuleAsk.
	Escalation *api.Escalation `json:"escalation,omitempty"`
	// Hint is only for api.RuleHint, which needs it.
	Hint *api.Hint `json:"hint,omitempty"`
	// ExpiresAtMs and ExpiresAfterMs limit the rule's lifetime; at most one may be given. By default
	// the rule lasts as long as its session, or DefaultRuleAgeMs for a rule for all sessions, but at
	// most MaxAgeMs. An ExpiresAfterMs of 0 means no expiry.
	ExpiresAtMs    *int64 `json:"expires_at_ms,omitempty"`
	ExpiresAfterMs *int64 `json:"expires_after_ms,omitempty"`
	// MaxAgeMs caps the rule's lifetime; 0 for no cap. It is a service setting and not part of the
	// call.
	MaxAgeMs int64 `json:"-"`
	Actor    Actor `json:"-"`

	ruleIDGiven bool
	digest      string
}

// RevokeRule revokes a rule. Requests raised after the reply are not settled by it
// (docs/spec/v1.md#revoke).
//
// Reply: Rule; Existing when it was already revoked. Errors: invalid_request, rule_not_found.
type RevokeRule struct {
	RuleID string
	// SessionID is the rule's session, which is locked. It is rules.AllSessions or empty for a rule
	// for all sessions. A session other than the rule's is rule_not_found.
	SessionID string
	Actor     Actor
}

// Spec implements Command.
func (c *AddRule) Spec() Spec {
	return Spec{
		Name: "AddRule", Actions: actionsOfRule(c.SessionID), Target: TargetRules,
		size: Size{Rows: 1, NewRows: 1, Bytes: len(c.Reason) + matchBytes(&c.Match) + escalationBytes(c.Escalation) + len((&rules.Rule{Hint: c.Hint}).HintText())}, Settles: c.Effect == api.RuleDeny,
	}
}

// Needs implements Command.
func (c *AddRule) Needs() Needs {
	needs := Needs{SessionID: c.SessionID, ChangesRules: c.Effect != api.RuleAllow, CountRules: c.SessionID != rules.AllSessions || !(&rules.Rule{Match: c.Match}).Exact()}
	if c.ruleIDGiven {
		needs.RuleID = c.RuleID
	}
	return needs
}

func (c *AddRule) prepare(_ *Call, newID IDSource) error {
	c.Actor.prepare()
	c.Effect = cmp.Or(c.Effect, api.RuleAllow)
	c.SessionID = cmp.Or(c.SessionID, rules.AllSessions)
	ofSession := c.SessionID != rules.AllSessions
	var faults refusal.Faults
	faults.OptionalID("/rule_id", c.RuleID)
	if ofSession {
		faults.ID("/session_id", c.SessionID)
	}
	faults.OptionalID("/agent_id", c.AgentID)
	faults.Text("/tool_name", c.ToolName, api.MaxNameLength)
	if !c.Effect.Decides() && c.Effect != api.RuleAsk && c.Effect != api.RuleHint {
		faults.Add("/effect", "must be %q, %q, %q or %q", api.RuleAllow, api.RuleAsk, api.RuleDeny, api.RuleHint)
	}
	rules.CheckMatch(&c.Match, "/match", c.ToolName, ofSession, &faults)
	faults.Text("/reason", c.Reason, api.MaxTextLength)
	switch {
	case c.MaxUses == 0:
	case c.MaxUses < 0 || c.MaxUses > api.MaxRuleUses:
		faults.Add("/max_uses", "must be between 1 and %d", api.MaxRuleUses)
	case !ofSession:
		faults.Add("/max_uses", "needs a session_id")
	case c.Effect == api.RuleAsk:
		faults.Add("/max_uses", "must not be given for an ask, which decides nothing")
	case c.Effect == api.RuleHint:
		faults.Add("/max_uses", "must not be given for a hint, which decides nothing")
	}
	checkRuleEscalation(c.Escalation, c.Effect, &faults)
	checkRuleHint(c.Hint, c.Effect, &faults)
	if c.ExpiresAtMs != nil && c.ExpiresAfterMs != nil {
		faults.Add("/expires_after_ms", "must not be given together with expires_at_ms")
	}
	if c.ExpiresAtMs != nil && *c.ExpiresAtMs <= 0 {
		faults.Add("/expires_at_ms", "must be positive")
	}
	if c.ExpiresAfterMs != nil {
		rules.CheckAge("/expires_after_ms", *c.ExpiresAfterMs, c.MaxAgeMs, &faults)
	}
	if err := faults.Err(); err != nil {
		return err
	}
	c.ruleIDGiven = c.RuleID != ""
	c.RuleID = cmp.Or(c.RuleID, newID(PrefixRule))
	var err error
	c.digest, err = digestOf(c)
	return err
}

func (c *AddRule) decide(w *workingCopy) (Reply, error) {
	if existing := w.state.Rules[c.RuleID]; existing != nil && c.ruleIDGiven {
		if existing.PayloadDigest != c.digest {
			return Reply{}, refusal.New(api.CodeIDConflict, "rule %s exists with another payload", c.RuleID)
		}
		return Reply{Rule: &rules.Record{Rule: *existing}, Existing: true}, nil
	}
	if w.session != nil && w.session.EndedAtMs != 0 {
		return Reply{}, refusal.New(api.CodeSessionEnded, "session %s has ended", c.SessionID)
	}
	var faults refusal.Faults
	if w.checkKnown(c.Escalation, "/escalation", &faults); faults.Err() != nil {
		return Reply{}, faults.Err()
	}
	expiresAtMs, err := c.expiry(w.nowMs)
	if err != nil {
		return Reply{}, err
	}
	rule := &rules.Rule{
		RuleID: c.RuleID, SessionID: c.SessionID, AgentID: c.AgentID, ToolName: c.ToolName,
		Effect: c.Effect, Match: c.Match, Reason: c.Reason, CreatedBy: c.Actor.Name, ViaPrincipal: c.Actor.ViaPrincipal, CreatedAtMs: w.nowMs,
		ExpiresAtMs: expiresAtMs, MaxUses: c.MaxUses, Escalation: c.Escalation, Hint: c.Hint, PayloadDigest: c.digest,
	}
	rule.Text = rule.Describe(nil)
	if err := w.checkRuleBounds([]*rules.Rule{rule}); err != nil {
		return Reply{}, err
	}
	w.changes.NewRules = append(w.changes.NewRules, rule)
	w.logRule(api.AuditRuleCreated, rule, c.Actor)
	return Reply{Rule: &rules.Record{Rule: *rule}}, nil
}

// expiry returns when the rule expires, in ms since the epoch, and 0 for never. The decision
// computes it because the limits depend on the engine's clock. Errors: invalid_request.
func (c *AddRule) expiry(nowMs int64) (int64, error) {
	switch {
	case c.ExpiresAfterMs != nil:
		return rules.ExpiresAtMs(nowMs, *c.ExpiresAfterMs), nil
	case c.ExpiresAtMs == nil:
		return rules.ExpiresAtMs(nowMs, rules.DefaultAgeMs(c.SessionID != rules.AllSessions, c.MaxAgeMs)), nil
	case *c.ExpiresAtMs <= nowMs:
		return 0, refusal.Invalid(api.Fault{Pointer: "/expires_at_ms", Detail: "must be in the future"})
	}
	var faults refusal.Faults
	rules.CheckAge("/expires_at_ms", *c.ExpiresAtMs-nowMs, c.MaxAgeMs, &faults)
	return *c.ExpiresAtMs, faults.Err()
}

// Spec implements Command.
func (c *RevokeRule) Spec() Spec {
	return Spec{Name: "RevokeRule", Actions: actionsOfRule(c.SessionID), Target: TargetRule, Settles: true, size: oneRow}
}

// Needs implements Command.
func (c *RevokeRule) Needs() Needs {
	return Needs{SessionID: cmp.Or(c.SessionID, rules.AllSessions), RuleID: c.RuleID, ChangesRules: true}
}

func (c *RevokeRule) prepare(*Call, IDSource) error {
	c.Actor.prepare()
	var faults refusal.Faults
	if c.SessionID != rules.AllSessions {
		faults.OptionalID("/session_id", c.SessionID)
	}
	return faults.Err()
}

func (c *RevokeRule) decide(w *workingCopy) (Reply, error) {
	rule := w.state.Rules[c.RuleID]
	// A rule changes only under its own session's lock.
	if rule == nil || rule.SessionID != w.state.SessionID {
		return Reply{}, refusal.UnknownRule(c.RuleID)
	}
	if rule.RevokedAtMs != 0 {
		return Reply{Rule: &rules.Record{Rule: *rule}, Existing: true}, nil
	}
	revoked := w.revokeRule(rule, c.Actor.Name)
	w.logRule(api.AuditRuleRevoked, revoked, c.Actor)
	return Reply{Rule: &rules.Record{Rule: *revoked}}, nil
}
