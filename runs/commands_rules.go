package runs

import "github.com/holdpoint/holdpoint/api"

// AddRule writes a standing rule.
//
// Reply: Rule, Existing. Errors: invalid_request; session_ended; id_conflict when the
// chosen id is another rule's, or the same with another payload.
type AddRule struct {
	RuleID string // made when empty
	// SessionID is GlobalRules, or empty, for a rule that holds in all sessions. It may
	// name a session that is not there yet.
	SessionID string
	AgentID   string
	ToolName  string
	Effect    api.RuleEffect // RuleAllow when empty
	Match     api.RuleMatch
	Reason    string
	MaxUses   int64
	// ExpiresAtMs or ExpiresAfterMs, of which at most one is given, says how long the
	// rule holds: DefaultRuleAgeMs when neither is, for ever when ExpiresAfterMs is 0.
	ExpiresAtMs    *int64
	ExpiresAfterMs *int64
	// MaxAgeMs caps how long a rule may hold; 0 for no cap. It is the service's setting
	// and not the caller's.
	MaxAgeMs int64
	Actor    Actor

	ruleIDGiven bool
	digest      string
}

// RevokeRule ends a rule at once: what is raised after its reply is not settled by it.
// Revoking it again changes nothing.
//
// Reply: Rule, Existing. Errors: rule_not_found.
type RevokeRule struct {
	RuleID string
	// SessionID is the rule's, GlobalRules when it has none. A rule never changes it.
	SessionID string
	Actor     Actor
}
