package runs

// RuleEffect says what a rule does about a call that it applies to. Deny goes before
// ask, and ask before allow (decisions.md 16).
type RuleEffect string

// The effects of rules.
const (
	RuleAllow RuleEffect = "allow"
	// RuleAsk has a person asked whatever other rules allow.
	RuleAsk  RuleEffect = "ask"
	RuleDeny RuleEffect = "deny"
)

// Remember is what a decision about an approval also writes a rule for.
type Remember string

// The scopes in which a decision is remembered (v1-work.md "Rules").
const (
	RememberSession Remember = "session"
	RememberAlways  Remember = "always"
)

// Limits and defaults of rules.
const (
	// DefaultRuleAgeMs is how long a rule holds when nobody says: 30 days.
	DefaultRuleAgeMs = 30 * 24 * 3_600_000
	// MaxRuleParams bounds the params of one rule, MaxGlobLength the bytes of a glob.
	MaxRuleParams = 64
	MaxGlobLength = 4_096
	// MaxRuleUses bounds RuleMatch's max_uses.
	MaxRuleUses = 1_000_000
)

// GlobalRules stands in the place of a session id for rules that hold in all sessions.
// No session can have it as its id.
const GlobalRules = "*"

// RuleMatch says which calls a rule applies to: all that it gives must hold, and an
// empty one is refused (decisions.md 17).
type RuleMatch struct {
	// PatternKeys: an allow covers these keys, and a request whose every key is covered,
	// by one rule or by several together, is allowed. A deny or an ask applies to a
	// request that has any of them.
	PatternKeys []string `json:"pattern_keys,omitempty"`
	// InputDigest is "sha256:" and the hexadecimal SHA-256 of the RFC 8785 form of the
	// input. It needs a tool name.
	InputDigest string `json:"input_digest,omitempty"`
	// Params are globs for members of the input by name. It needs a tool name. A member
	// that is not there matches nothing; one that is no text is matched in its compact
	// JSON form.
	Params map[string]string `json:"params,omitempty"`
	// ToolCallID names the one call that is meant. It needs a session.
	ToolCallID string `json:"tool_call_id,omitempty"`
	// AnyInput says that the tool alone counts: it needs a tool name and stands alone.
	AnyInput bool `json:"any_input,omitzero"`
}

// Rule is a standing decision about calls that are asked for later. It is matched
// under the lock of the session in which a request is raised.
type Rule struct {
	RuleID string
	// SessionID is GlobalRules when the rule holds in all sessions.
	SessionID string
	AgentID   string // empty for all
	ToolName  string // empty for all
	Effect    RuleEffect
	Match     RuleMatch
	// Reason is given to the worker with what the rule decides.
	Reason string
	// Text says in plain words what the rule does; see Rule.describe.
	Text        string
	CreatedBy   string
	CreatedAtMs int64
	// ExpiresAtMs is 0 when the rule does not expire.
	ExpiresAtMs int64
	// MaxUses ends the rule after so many decisions, which Uses counts; 0 for no bound,
	// and then Uses stays 0. Only a rule of one session may have it. A decision that
	// several rules make together is a use of each that was needed for it.
	MaxUses int64
	Uses    int64
	// SourceRunID and SourceRequestID name the request with whose decision the rule was
	// written; both are empty for a rule that was added by itself.
	SourceRunID     string
	SourceRequestID string
	RevokedAtMs     int64 // 0 while it is not revoked
	RevokedBy       string
	// PayloadDigest tells a repeated call with a chosen id from another one; empty for
	// a rule that was written with a decision.
	PayloadDigest string
}

// RuleRecord is a rule with how many requests it has settled.
type RuleRecord struct {
	Rule Rule
	Hits int64
}

// AppliedRule is what a resolution tells of the rule that made it, or that was
// written with it (decisions.md 1).
type AppliedRule struct {
	RuleID string `json:"rule_id"`
	Text   string `json:"text"`
}

// RuleView is a rule on the wire (v1-work.md "Rules").
type RuleView struct {
	RuleID          string     `json:"rule_id"`
	Effect          RuleEffect `json:"effect"`
	SessionID       string     `json:"session_id,omitempty"`
	AgentID         string     `json:"agent_id,omitempty"`
	ToolName        string     `json:"tool_name,omitempty"`
	Match           RuleMatch  `json:"match"`
	Reason          string     `json:"reason,omitempty"`
	CreatedBy       string     `json:"created_by"`
	CreatedAtMs     int64      `json:"created_at_ms"`
	ExpiresAtMs     int64      `json:"expires_at_ms,omitzero"`
	MaxUses         int64      `json:"max_uses,omitzero"`
	SourceRunID     string     `json:"source_run_id,omitempty"`
	SourceRequestID string     `json:"source_request_id,omitempty"`
	RevokedAtMs     int64      `json:"revoked_at_ms,omitzero"`
	RevokedBy       string     `json:"revoked_by,omitempty"`
	Hits            int64      `json:"hits"`
	Text            string     `json:"text"`
}

// View returns the rule as the wire shows it.
func (r *RuleRecord) View() RuleView {
	rule := &r.Rule
	view := RuleView{
		RuleID: rule.RuleID, Effect: rule.Effect, AgentID: rule.AgentID,
		ToolName: rule.ToolName, Match: rule.Match, Reason: rule.Reason,
		CreatedBy: rule.CreatedBy, CreatedAtMs: rule.CreatedAtMs, ExpiresAtMs: rule.ExpiresAtMs,
		MaxUses: rule.MaxUses, SourceRunID: rule.SourceRunID, SourceRequestID: rule.SourceRequestID,
		RevokedAtMs: rule.RevokedAtMs, RevokedBy: rule.RevokedBy, Hits: r.Hits, Text: rule.Text,
	}
	if rule.SessionID != GlobalRules {
		view.SessionID = rule.SessionID
	}
	return view
}

// UnknownRule is the error of a call that names a rule that is not there.
func UnknownRule(ruleID string) *Error {
	return newError(CodeRuleNotFound, "unknown rule %s", ruleID)
}
