package rules

import (
	"strings"

	"github.com/holdpoint/holdpoint/api"
)

// CommandMatch returns a match for each call of a tool with the command of an input, whatever its
// description and time limit. All other members must be equal. It returns false when there is none: the
// input has no command, or a value that a glob cannot spell.
func CommandMatch(tool string, input api.JSON) (match api.RuleMatch, found bool) {
	call := Call{ToolName: tool, Input: input, Budget: NewBudget(1)}
	call.decode()
	rule := Rule{ToolName: tool, Effect: api.RuleAllow, Match: api.RuleMatch{Params: map[string]string{}}}
	names := sortedNames(call.members)
	for _, name := range names {
		if meaningOf(tool, name) != meansCommand {
			continue
		}
		text, there := call.param(name)
		if !there || !literal(name, text) {
			return match, false
		}
		rule.Match.Params[name], found = text, true
		break
	}
	if !found {
		return match, false
	}
	for _, name := range names {
		if _, named := rule.Match.Params[name]; named || idleNames[foldedName(name)] || saysNothing(call.members[name]) || call.sameCommand(name, &rule) {
			continue
		}
		text, there := call.param(name)
		if !there || !literal(name, text) {
			return match, false
		}
		rule.Match.Params[name] = text
	}
	if len(rule.Match.Params) > api.MaxRuleParams {
		return match, false
	}
	// What is remembered must apply to the same call.
	_, fault := rule.failingParam(&call)
	return rule.Match, fault == noFault
}

// literal reports whether a param of a rule can match a text and nothing else.
func literal(name, text string) bool {
	return text != "" && !strings.ContainsAny(text, "*?") && len(text) <= api.MaxGlobLength && len(name) <= api.MaxNameLength
}
