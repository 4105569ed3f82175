package rules

import (
	"strings"

	"github.com/holdpoint/holdpoint/api"
)

// CommandMatch returns a match for every call of a tool with the command of an input, ignoring
// its description and time limit. All other members must be equal. It returns false if there is
// none: the input has no command, or a value that a glob cannot express.
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
	// The remembered rule must match the call that it was made from.
	_, fault := rule.failingParam(&call)
	return rule.Match, fault == noFault
}

// literal reports whether a param of a rule matches exactly one text.
func literal(name, text string) bool {
	return text != "" && !strings.ContainsAny(text, "*?") && len(text) <= api.MaxGlobLength && len(name) <= api.MaxNameLength
}
