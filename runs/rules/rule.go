package rules

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/holdpoint/holdpoint/api"
)

// Compare orders rules by age, oldest first, and rules of the same ms by id.
func Compare(a, b *Rule) int {
	return cmp.Or(cmp.Compare(a.CreatedAtMs, b.CreatedAtMs), strings.Compare(a.RuleID, b.RuleID))
}

// AllSessions is the SessionID of a rule that holds in all sessions. It is not a valid id, so
// no session has it.
const AllSessions = "*"

// Rule is a standing decision about calls that are raised later (docs/spec/v1.md#rule). Times
// are ms since the epoch.
type Rule struct {
	RuleID string
	// SessionID is [AllSessions] if the rule belongs to no single session.
	SessionID string
	AgentID   string // empty for all
	ToolName  string // empty for all
	Effect    api.RuleEffect
	Match     api.RuleMatch
	// Reason is passed to the worker with each decision of the rule.
	Reason string
	// Text says in plain words what the rule does; see [Rule.Describe].
	Text      string
	CreatedBy string
	// ViaPrincipal owned the credential, if it acted for CreatedBy.
	ViaPrincipal string
	CreatedAtMs  int64
	// ExpiresAtMs is 0 if the rule does not expire.
	ExpiresAtMs int64
	// MaxUses ends the rule after that many decisions, counted by Uses; 0 for no limit, and then
	// Uses stays 0. Only a rule of one session may have it, because Uses changes under that
	// session's lock. A decision by several rules counts for each one it needed.
	MaxUses int64
	Uses    int64
	// Escalation, only of an ask, replaces the one of each request that the rule matches; nil for none.
	Escalation *api.Escalation
	// Hint is only of a hint, without a RuleID.
	Hint *api.Hint
	// SourceRunID and SourceRequestID name the request whose decision wrote the rule
	// (docs/spec/v1.md#remember); empty if the rule was added directly.
	SourceRunID     string
	SourceRequestID string
	RevokedAtMs     int64 // 0 while it is not revoked
	RevokedBy       string
	// PayloadDigest distinguishes a retry with a chosen rule id from another payload; empty for
	// a rule written with a decision.
	PayloadDigest string
}

// Record is a rule with the number of requests it settled.
type Record struct {
	Rule Rule
	Hits int64
}

// WhyOver returns in plain words why a rule has ended at nowMs, and "" if it has not.
func (r *Rule) WhyOver(nowMs int64) string {
	switch {
	case r.RevokedAtMs != 0:
		return "it was revoked"
	case r.ExpiresAtMs != 0 && r.ExpiresAtMs <= nowMs:
		return "it has expired"
	case r.MaxUses != 0 && r.Uses >= r.MaxUses:
		return "it is used up"
	}
	return ""
}

// whyNot returns in plain words why a rule on its own does not apply to a call, and "" if it
// does. For an allow with pattern keys, "" means only that it covers one of the call's keys:
// [Matches.Judge] decides whether all are covered.
func (r *Rule) whyNot(call *Call, nowMs int64) string {
	if over := r.WhyOver(nowMs); over != "" {
		return over
	}
	switch {
	case r.SessionID != AllSessions && r.SessionID != call.SessionID:
		return "it holds in another session"
	case r.AgentID != "" && r.AgentID != call.AgentID:
		return "it is about another agent"
	}
	return r.whyNotMatch(call)
}

// Matches reports whether the rule matches a call in any session. For an allow with pattern keys, it
// says only that the rule covers one of the call's keys.
func (r *Rule) Matches(call *Call) bool {
	if call.Budget == nil {
		call.Budget = NewBudget(1)
	}
	return r.whyNotMatch(call) == ""
}

// Describe returns in plain words what the rule does: to which calls, where, for whom, until
// when. The input is the canonical form behind Match.InputDigest, nil if only the digest is
// known. Cut and invisible parts are marked and callers' texts are quoted, so that a rule cannot
// be written to read like another.
func (r *Rule) Describe(input []byte) string {
	var text strings.Builder
	switch r.Effect {
	case api.RuleDeny:
		text.WriteString("Deny ")
	case api.RuleAsk:
		text.WriteString("Ask a person about ")
	case api.RuleAllow:
		text.WriteString("Allow ")
	case api.RuleHint:
		text.WriteString(r.shownHint())
	}
	switch {
	case r.Match.AnyInput:
		text.WriteString("every call of the tool " + plain(r.ToolName) + ", whatever its input")
	case r.ToolName != "":
		text.WriteString("the tool " + plain(r.ToolName))
	default:
		text.WriteString("any tool")
	}
	text.WriteString(strings.Join(r.conditions(input), " and") + r.shownDirectory())
	if r.SessionID == AllSessions {
		text.WriteString(", in every session")
	} else {
		text.WriteString(", in session " + plain(r.SessionID))
	}
	if r.AgentID != "" {
		text.WriteString(", for agent " + plain(r.AgentID))
	}
	switch r.MaxUses {
	case 0:
	case 1:
		text.WriteString(", once only")
	default:
		fmt.Fprintf(&text, ", at most %d times", r.MaxUses)
	}
	switch {
	case r.ExpiresAtMs != 0:
		text.WriteString(", until " + utcTime(r.ExpiresAtMs) + ".")
	case r.SessionID == AllSessions:
		text.WriteString(", with no end date.")
	default:
		text.WriteString(", until the session ends.")
	}
	text.WriteString(r.shownEscalation())
	return text.String()
}

// conditions returns the conditions on a call, each with a leading space.
func (r *Rule) conditions(input []byte) []string {
	var all []string
	match := &r.Match
	switch {
	case match.InputDigest != "" && input != nil:
		all = append(all, " with exactly this input: "+shownInput(string(input), match.InputDigest))
	case match.InputDigest != "":
		all = append(all, " with exactly the input whose digest is "+match.InputDigest)
	}
	if match.ToolCallID != "" {
		all = append(all, " for the one call "+quoted(match.ToolCallID))
	}
	for _, name := range paramNames(match) {
		all = append(all, " when "+r.shownGlob(name))
	}
	if len(match.PatternKeys) == 0 {
		return all
	}
	keys := make([]string, len(match.PatternKeys))
	for i, key := range match.PatternKeys {
		keys[i] = quoted(key)
	}
	either := strings.Join(keys, " or ")
	if r.Effect == api.RuleAllow {
		return append(all, " when each of its pattern keys is "+either+", or is allowed by another rule")
	}
	return append(all, " when any of its pattern keys is "+either)
}
