package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/holdpoint/holdpoint/api"
)

// compareRules orders rules by age; of equals the id decides.
func Compare(a, b *Rule) int {
	return cmp.Or(cmp.Compare(a.CreatedAtMs, b.CreatedAtMs), strings.Compare(a.RuleID, b.RuleID))
}

// GlobalRules stands in the place of a session id for rules that hold in all sessions.
// No session can have it as its id.
const AllSessions = "*"

// Rule is a standing decision about calls that are asked for later. It is matched
// under the lock of the session in which a request is raised.
type Rule struct {
	RuleID string
	// SessionID is GlobalRules when the rule holds in all sessions.
	SessionID string
	AgentID   string // empty for all
	ToolName  string // empty for all
	Effect    api.RuleEffect
	Match     api.RuleMatch
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
type Record struct {
	Rule Rule
	Hits int64
}

// whyOver says why a rule does not hold any more; it is empty for one that does.
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

// whyNot says in plain words why a rule by itself does not apply to a call; it is
// empty for one that does. Of an allow with pattern keys it tells only whether it
// covers any of the call's.
func (r *Rule) whyNot(call *Call, nowMs int64) string {
	if over := r.WhyOver(nowMs); over != "" {
		return over
	}
	switch match := &r.Match; {
	case r.SessionID != AllSessions && r.SessionID != call.SessionID:
		return "it holds in another session"
	case r.AgentID != "" && r.AgentID != call.AgentID:
		return "it is about another agent"
	case r.ToolName != "" && r.ToolName != call.ToolName:
		return "it is about another tool"
	case match.ToolCallID != "" && match.ToolCallID != call.ToolCallID:
		return "it is about another call"
	case match.InputDigest != "" && match.InputDigest != call.InputDigest:
		return "the input differs"
	case len(match.PatternKeys) > 0 && !slices.ContainsFunc(call.PatternKeys, func(key string) bool { return slices.Contains(match.PatternKeys, key) }):
		return "the call has none of its pattern keys"
	}
	return r.whyNotParams(call)
}

func (r *Rule) whyNotParams(call *Call) string {
	for _, name := range paramNames(&r.Match) {
		value, there := call.param(name)
		if !there {
			return "the input has no param " + quoted(name)
		}
		if !matchGlob(r.Match.Params[name], value) {
			return "the param " + quoted(name) + " does not match " + quoted(r.Match.Params[name])
		}
	}
	return ""
}

// describe says in plain words what the rule does: to what, where, for whom and until
// when. The input is the canonical form of the one that InputDigest is of, or nil when
// only the digest is known. What is cut or cannot be seen is marked in it, and what
// somebody chose to write stands in quotes, so that the text can be taken in one way
// only.
func (r *Rule) Describe(input []byte) string {
	var text strings.Builder
	switch r.Effect {
	case api.RuleDeny:
		text.WriteString("Deny ")
	case api.RuleAsk:
		text.WriteString("Ask a person about ")
	case api.RuleAllow:
		text.WriteString("Allow ")
	}
	switch {
	case r.Match.AnyInput:
		text.WriteString("every call of the tool " + plain(r.ToolName) + ", whatever its input")
	case r.ToolName != "":
		text.WriteString("the tool " + plain(r.ToolName))
	default:
		text.WriteString("any tool")
	}
	text.WriteString(strings.Join(r.conditions(input), " and"))
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
	if r.ExpiresAtMs == 0 {
		text.WriteString(", with no end date.")
	} else {
		text.WriteString(", until " + utcTime(r.ExpiresAtMs) + ".")
	}
	return text.String()
}

// conditions are what must hold of a call, each with a space before it.
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
		glob := match.Params[name]
		all = append(all, " when "+plain(name)+" "+shownGlob(glob))
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
