package api

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

// Explanation says what rules would do about a call (decisions.md 18).
type Explanation struct {
	// Decision is what would happen; RuleAsk also when no rule applies.
	Decision RuleEffect      `json:"decision"`
	Rules    []ExplainedRule `json:"rules"`
}

// ExplainedRule says of one rule whether it applies. One that applies may still be
// beaten by another: deny goes before ask, and ask before allow.
type ExplainedRule struct {
	RuleID  string     `json:"rule_id"`
	Text    string     `json:"text"`
	Effect  RuleEffect `json:"effect"`
	Applies bool       `json:"applies"`
	// WhyNot is in plain words, and empty for a rule that applies.
	WhyNot string `json:"why_not,omitempty"`
}
