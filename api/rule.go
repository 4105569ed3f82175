package api

// RuleEffect is what a rule does with a matching call. Deny overrides ask, and ask overrides allow. A hint
// decides nothing.
type RuleEffect string

// Effects of rules.
const (
	RuleAllow RuleEffect = "allow"
	// RuleAsk asks a person even if other rules allow the call.
	RuleAsk  RuleEffect = "ask"
	RuleDeny RuleEffect = "deny"
	// RuleHint shows its [Hint] to the person who decides. Whether anybody is asked is up to the other rules.
	RuleHint RuleEffect = "hint"
)

// Decides reports whether rules with this effect settle calls.
func (e RuleEffect) Decides() bool { return e == RuleAllow || e == RuleDeny }

// Remember is the scope of the rule that a decision creates.
type Remember string

// Scopes of remembered decisions.
const (
	RememberSession Remember = "session"
	RememberAlways  Remember = "always"
)

// RememberAs selects the calls that a rule created by a decision matches.
type RememberAs string

// Values of RememberAs.
const (
	// RememberExact matches the tool with exactly the same input. It is the default.
	RememberExact RememberAs = "exact"
	// RememberCommand matches the tool with the same command, with any description and time limit.
	RememberCommand RememberAs = "command"
	// RememberPrefix matches the tool with every command that starts with the same words.
	RememberPrefix RememberAs = "prefix"
	// RememberFolder matches the tool with every file in the same folder, and in folders below it.
	RememberFolder RememberAs = "folder"
	// RememberTool matches every call of the tool, in one session.
	RememberTool RememberAs = "tool"
)

// RuleMatch selects the calls that a rule applies to: all given members must match. An empty match
// is refused.
type RuleMatch struct {
	_ struct{} `body:"closed"`
	// PatternKeys, at most MaxPatternKeys: an allow covers these keys. A request is allowed when
	// every one of its keys is covered, by one rule or by several together. A deny or an ask
	// applies to a request that has any of the keys.
	PatternKeys []string `json:"pattern_keys,omitempty"`
	// InputDigest is "sha256:" and the hexadecimal SHA-256 of the RFC 8785 form of the
	// input. It needs a tool name.
	InputDigest string `json:"input_digest,omitempty" body:"filled"`
	// Params are globs for members of the input by name, at most MaxRuleParams. It needs a tool
	// name. A missing member matches nothing. A value that is not a string is matched as compact
	// JSON.
	Params map[string]string `json:"params,omitempty"`
	// ToolCallID matches one call. It needs a session.
	ToolCallID string `json:"tool_call_id,omitempty" body:"filled"`
	// AnyInput matches every call of the tool. It needs a tool name and excludes the other members.
	AnyInput bool `json:"any_input,omitzero"`
	// Directory is an additional condition on [ApprovalRequest.Directory]. An allow applies to exactly
	// this text. A deny or an ask also applies to directories below it, and to calls without a
	// directory. At most MaxDirectoryLength bytes.
	Directory string `json:"directory,omitempty" body:"filled"`
}

// AppliedRule names in a resolution the rule that made it, or that was created with it.
type AppliedRule struct {
	RuleID string `json:"rule_id"`
	Text   string `json:"text"`
}

// RuleView is a rule on the wire.
type RuleView struct {
	RuleID       string     `json:"rule_id"`
	Effect       RuleEffect `json:"effect"`
	SessionID    string     `json:"session_id,omitempty"` // empty for all sessions
	AgentID      string     `json:"agent_id,omitempty"`   // empty for all agents
	ToolName     string     `json:"tool_name,omitempty"`
	Match        RuleMatch  `json:"match"`
	Reason       string     `json:"reason,omitempty"`
	CreatedBy    string     `json:"created_by"`
	ViaPrincipal string     `json:"via_principal,omitempty"` // whose credential it was, when that acted for CreatedBy
	CreatedAtMs  int64      `json:"created_at_ms"`
	ExpiresAtMs  int64      `json:"expires_at_ms,omitzero"` // 0: no expiry
	MaxUses      int64      `json:"max_uses,omitzero"`      // 0: no limit
	// Escalation is for the requests that a RuleAsk leaves to people.
	Escalation *Escalation `json:"escalation,omitempty"`
	// Hint is only of a RuleHint, without its RuleID.
	Hint            *Hint  `json:"hint,omitempty"`
	SourceRunID     string `json:"source_run_id,omitempty"`
	SourceRequestID string `json:"source_request_id,omitempty"`
	RevokedAtMs     int64  `json:"revoked_at_ms,omitzero"`
	RevokedBy       string `json:"revoked_by,omitempty"`
	Hits            int64  `json:"hits"` // requests that the rule settled
	// Uses counts towards MaxUses: also requests that the rule settled together with others, and ones deleted since.
	Uses int64  `json:"uses,omitzero"`
	Text string `json:"text"` // what the rule does, in plain words
}

// AddRuleBody describes a new rule.
type AddRuleBody struct {
	_              struct{} `body:"closed"`
	IdempotencyKey *string  `json:"idempotency_key,omitzero"`
	RuleID         *string  `json:"rule_id,omitzero"` // made by the service when absent
	// SessionID limits the rule to a session, which need not exist yet. Without it the rule applies
	// to all sessions.
	SessionID *string    `json:"session_id,omitzero"`
	AgentID   *string    `json:"agent_id,omitzero"`
	ToolName  *string    `json:"tool_name,omitzero"`
	Effect    RuleEffect `json:"effect,omitempty" body:"filled"` // RuleAllow when absent
	Match     RuleMatch  `json:"match" body:"required"`
	// Reason is passed to the worker with the rule's decisions.
	Reason string `json:"reason,omitempty"`
	// MaxUses ends the rule after 1 to MaxRuleUses decisions. It needs a session.
	MaxUses *int64 `json:"max_uses,omitzero"`
	// Escalation, only of a RuleAsk, replaces the one of each request that the rule matches. It has at most
	// MaxRuleEscalationBytes.
	Escalation *Escalation `json:"escalation,omitempty"`
	// Hint is required for a RuleHint, and refused for others.
	Hint *Hint `json:"hint,omitempty"`
	// At most one of ExpiresAtMs and ExpiresAfterMs is given. Without either, DefaultRuleAgeMs
	// applies.
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
	Directory   string   `json:"directory,omitempty"`
	// SensitivePaths and InputDigest are the ones of an approval whose Input is masked: without them the
	// rules in [RememberTexts] would be about the mask. InputDigest is required with SensitivePaths, and
	// ignored without.
	SensitivePaths []string `json:"sensitive_paths,omitempty"`
	InputDigest    string   `json:"input_digest,omitempty" body:"filled"`
	// Effect (RuleAllow when empty, or RuleDeny) and RememberForMs (as in [ApprovalResolution])
	// describe the decision whose rules [RememberTexts] shows.
	Effect        RuleEffect `json:"effect,omitempty" body:"filled"`
	RememberForMs *int64     `json:"remember_for_ms,omitzero"`
	// Also are handles of requests, at most MaxAlsoExplained, that each of the [RememberChoice] is tried on.
	Also []string `json:"also,omitempty"`
}

// Explanation says what the rules would do with a call.
type Explanation struct {
	// Decision is the result. It is RuleAsk when no rule applies.
	Decision RuleEffect      `json:"decision"`
	Rules    []ExplainedRule `json:"rules"`
}

// ExplainedRule says whether one rule applies. Another rule may still override it: deny overrides
// ask, and ask overrides allow.
type ExplainedRule struct {
	RuleID  string     `json:"rule_id"`
	Text    string     `json:"text"`
	Effect  RuleEffect `json:"effect"`
	Applies bool       `json:"applies"`
	// WhyNot is for people. It is empty for a rule that applies.
	WhyNot string `json:"why_not,omitempty"`
}

// RuleExplanation is the reply to an [ExplainRulesBody].
type RuleExplanation struct {
	Explanation
	// Remember has the texts of the rules that the decision would create with remember.
	Remember RememberTexts `json:"remember"`
}

// RememberTexts are the texts of the rules that a decision would create, by the scope of remember.
// A text is empty when no such rule can be created.
type RememberTexts struct {
	Session string `json:"session,omitempty"`
	Always  string `json:"always,omitempty"`
	// Examples apply to both rules, because they match the same calls. Nil when neither rule can be
	// created.
	Examples *RuleExamples `json:"examples,omitempty"`
	// Choices are all rules that the decision may create, by remember_as.
	Choices []RememberChoice `json:"choices,omitempty"`
}

// RememberChoice has the texts of the rules that a decision with this remember_as would create.
type RememberChoice struct {
	As RememberAs `json:"as"`
	// About is the words with which the commands of RememberPrefix start, or the folder of
	// RememberFolder with a slash at its end.
	About    string        `json:"about,omitempty"`
	Session  string        `json:"session,omitempty"`
	Always   string        `json:"always,omitempty"`
	Examples *RuleExamples `json:"examples,omitempty"`
	// Also are the handles of [ExplainRulesBody] whose call the rule for all sessions would have decided: open approvals
	// that the caller can read. Requests that there was no time or room to read are left out.
	Also []string `json:"also,omitempty"`
}

// RuleExamples are calls that a rule matches and similar calls that it does not, at most three of
// each. There are none for a rule about one input that is unknown or large.
type RuleExamples struct {
	Matching    []RuleExample `json:"matching"`
	NotMatching []RuleExample `json:"not_matching"`
}

// RuleExample is an invented call.
type RuleExample struct {
	ToolName    string   `json:"tool_name"`
	ToolCallID  string   `json:"tool_call_id,omitempty"`
	Input       JSON     `json:"input"`
	PatternKeys []string `json:"pattern_keys,omitempty"`
	Directory   string   `json:"directory,omitempty"`
	// WhyNot is for people. It is empty for a call that the rule matches.
	WhyNot string `json:"why_not,omitempty"`
}
