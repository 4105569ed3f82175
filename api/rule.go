package api

// RuleEffect says what a rule does about a call that it applies to. Deny goes before
// ask, and ask before allow.
type RuleEffect string

// The effects of rules.
const (
	RuleAllow RuleEffect = "allow"
	// RuleAsk asks a person, whatever other rules allow.
	RuleAsk  RuleEffect = "ask"
	RuleDeny RuleEffect = "deny"
)

// Remember is the scope of the rule that a decision about an approval also writes.
type Remember string

// The scopes in which a decision is remembered.
const (
	RememberSession Remember = "session"
	RememberAlways  Remember = "always"
)

// RememberAs says to which calls the rule applies that a decision about an approval writes.
type RememberAs string

// What a remembered decision is about.
const (
	// RememberExact is the tool with exactly the same input, and the default.
	RememberExact RememberAs = "exact"
	// RememberCommand is the tool with the same command, whatever the description and time limit.
	RememberCommand RememberAs = "command"
	// RememberTool is every call of the tool, in one session.
	RememberTool RememberAs = "tool"
)

// RuleMatch says which calls a rule applies to: everything that it gives must hold. An
// empty one is refused.
type RuleMatch struct {
	_ struct{} `body:"closed"`
	// PatternKeys, at most MaxPatternKeys: an allow covers these keys, and a request whose
	// every key is covered, by one rule or by several together, is allowed. A deny or an
	// ask applies to a request that has any of them.
	PatternKeys []string `json:"pattern_keys,omitempty"`
	// InputDigest is "sha256:" and the hexadecimal SHA-256 of the RFC 8785 form of the
	// input. It needs a tool name.
	InputDigest string `json:"input_digest,omitempty"`
	// Params are globs for members of the input by name, at most MaxRuleParams. It needs a
	// tool name. A missing member matches nothing; a value that is not text is matched in
	// its compact JSON form.
	Params map[string]string `json:"params,omitempty"`
	// ToolCallID names the one call that is meant. It needs a session.
	ToolCallID string `json:"tool_call_id,omitempty"`
	// AnyInput matches every call of the tool. It needs a tool name and stands alone.
	AnyInput bool `json:"any_input,omitzero"`
}

// AppliedRule is how a resolution names the rule that made it, or that was written with
// it.
type AppliedRule struct {
	RuleID string `json:"rule_id"`
	Text   string `json:"text"`
}

// RuleView is a rule on the wire.
type RuleView struct {
	RuleID          string     `json:"rule_id"`
	Effect          RuleEffect `json:"effect"`
	SessionID       string     `json:"session_id,omitempty"` // empty for all sessions
	AgentID         string     `json:"agent_id,omitempty"`   // empty for all agents
	ToolName        string     `json:"tool_name,omitempty"`
	Match           RuleMatch  `json:"match"`
	Reason          string     `json:"reason,omitempty"`
	CreatedBy       string     `json:"created_by"`
	ViaPrincipal    string     `json:"via_principal,omitempty"` // whose credential it was, when that acted for CreatedBy
	CreatedAtMs     int64      `json:"created_at_ms"`
	ExpiresAtMs     int64      `json:"expires_at_ms,omitzero"` // 0: no expiry
	MaxUses         int64      `json:"max_uses,omitzero"`      // 0: no limit
	SourceRunID     string     `json:"source_run_id,omitempty"`
	SourceRequestID string     `json:"source_request_id,omitempty"`
	RevokedAtMs     int64      `json:"revoked_at_ms,omitzero"`
	RevokedBy       string     `json:"revoked_by,omitempty"`
	Hits            int64      `json:"hits"` // requests that the rule settled
	Text            string     `json:"text"` // what the rule does, in plain words
}

// AddRuleBody describes a rule.
type AddRuleBody struct {
	_              struct{} `body:"closed"`
	IdempotencyKey *string  `json:"idempotency_key,omitzero"`
	RuleID         *string  `json:"rule_id,omitzero"` // made by the service when absent
	// SessionID binds the rule to a session, which need not exist yet; the rule holds in
	// all sessions when it is absent.
	SessionID *string    `json:"session_id,omitzero"`
	AgentID   *string    `json:"agent_id,omitzero"`
	ToolName  *string    `json:"tool_name,omitzero"`
	Effect    RuleEffect `json:"effect,omitempty"` // RuleAllow when empty
	Match     RuleMatch  `json:"match" body:"required"`
	// Reason reaches the worker with what the rule decides.
	Reason string `json:"reason,omitempty"`
	// MaxUses ends the rule after 1 to MaxRuleUses decisions; it needs a session.
	MaxUses *int64 `json:"max_uses,omitzero"`
	// At most one of the next two is given; DefaultRuleAgeMs holds without either.
	ExpiresAtMs *int64 `json:"expires_at_ms,omitzero"`
	// ExpiresAfterMs counts from now; 0: no expiry.
	ExpiresAfterMs *int64 `json:"expires_after_ms,omitzero"`
}

// ExplainRulesBody describes a tool call.
type ExplainRulesBody struct {
	SessionID   *string  `json:"session_id,omitzero"`
	AgentID     *string  `json:"agent_id,omitzero"`
	ToolName    string   `json:"tool_name" body:"required"`
	ToolCallID  string   `json:"tool_call_id,omitempty"`
	Input       JSON     `json:"input" body:"required"` // nil is sent as null
	PatternKeys []string `json:"pattern_keys,omitempty"`
	// Effect and RememberForMs are those of the decision whose rules [RememberTexts] shows:
	// RuleAllow when empty, or RuleDeny; and for how long, as in [ApprovalResolution].
	Effect        RuleEffect `json:"effect,omitempty"`
	RememberForMs *int64     `json:"remember_for_ms,omitzero"`
}

// Explanation says what rules would do about a call.
type Explanation struct {
	// Decision is what would happen; RuleAsk also when no rule applies.
	Decision RuleEffect      `json:"decision"`
	Rules    []ExplainedRule `json:"rules"`
}

// ExplainedRule says of one rule whether it applies. One that applies may still be
// overruled by another: deny goes before ask, and ask before allow.
type ExplainedRule struct {
	RuleID  string     `json:"rule_id"`
	Text    string     `json:"text"`
	Effect  RuleEffect `json:"effect"`
	Applies bool       `json:"applies"`
	// WhyNot is for people, and empty for a rule that applies.
	WhyNot string `json:"why_not,omitempty"`
}

// RuleExplanation is the reply to an [ExplainRulesBody].
type RuleExplanation struct {
	Explanation
	// Remember has the texts of the rules that the decision with remember would write.
	Remember RememberTexts `json:"remember"`
}

// RememberTexts are the texts of the rules that a decision would write, by the scope
// of its remember; empty where no such rule can be written.
type RememberTexts struct {
	Session string `json:"session,omitempty"`
	Always  string `json:"always,omitempty"`
	// Examples are of either rule: they match the same calls. Nil when neither can be written.
	Examples *RuleExamples `json:"examples,omitempty"`
	// Choices are all rules that the decision may write, by its remember_as.
	Choices []RememberChoice `json:"choices,omitempty"`
}

// RememberChoice has the texts of the rules that a decision with a remember_as would write.
type RememberChoice struct {
	As       RememberAs    `json:"as"`
	Session  string        `json:"session,omitempty"`
	Always   string        `json:"always,omitempty"`
	Examples *RuleExamples `json:"examples,omitempty"`
}

// RuleExamples are calls that a rule matches, and near ones that it does not: at most three of each,
// and none of a rule for one input that is unknown or large.
type RuleExamples struct {
	Matching    []RuleExample `json:"matching"`
	NotMatching []RuleExample `json:"not_matching"`
}

// RuleExample is a made-up call.
type RuleExample struct {
	ToolName    string   `json:"tool_name"`
	ToolCallID  string   `json:"tool_call_id,omitempty"`
	Input       JSON     `json:"input"`
	PatternKeys []string `json:"pattern_keys,omitempty"`
	// WhyNot is for people, and empty for a call that the rule matches.
	WhyNot string `json:"why_not,omitempty"`
}
