package rules

import (
	"regexp"
	"slices"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/rules/shellcmd"
)

// CommandMatch returns a match for every call of a tool with the command of an input, ignoring
// its description and time limit. All other members must be equal. It returns false if there is
// none: the input has no command, or a value that a glob cannot express.
func CommandMatch(tool string, input api.JSON) (match api.RuleMatch, found bool) {
	return commandMatch(tool, input, func(command string) string { return command })
}

// PrefixMatch is [CommandMatch] for every command that starts with the same words, which it also
// returns: the program with its subcommand. It returns false for a command without a subcommand,
// and for a program that runs other programs.
func PrefixMatch(tool string, input api.JSON) (match api.RuleMatch, words string, found bool) {
	match, found = commandMatch(tool, input, func(command string) string {
		if words = subcommand(command); words == "" {
			return ""
		}
		return words + shellcmd.FurtherWords
	})
	return match, words, found
}

// commandMatch returns a match with the glob for a command; an empty glob is none.
func commandMatch(tool string, input api.JSON, globOf func(command string) string) (match api.RuleMatch, found bool) {
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
		rule.Match.Params[name] = globOf(text)
		found = rule.Match.Params[name] != ""
		break
	}
	if !found {
		return match, false
	}
	return rule.remembered(&call, func(name string) bool {
		return !idleNames[foldedName(name)] && !call.sameCommand(name, &rule)
	})
}

// remembered returns the rule's match, to which it adds the other members of the call that are
// named: they must be equal. It returns false if a glob cannot express one of them, or if the rule
// would not match the call that it was made from.
func (r *Rule) remembered(call *Call, named func(name string) bool) (match api.RuleMatch, found bool) {
	for _, name := range sortedNames(call.members) {
		if _, there := r.Match.Params[name]; there || saysNothing(call.members[name]) || !named(name) {
			continue
		}
		text, there := call.param(name)
		if !there || !literal(name, text) {
			return match, false
		}
		r.Match.Params[name] = text
	}
	if len(r.Match.Params) > api.MaxRuleParams {
		return match, false
	}
	_, fault := r.failingParam(call)
	return r.Match, fault == noFault
}

// literal reports whether a param of a rule matches exactly one text.
func literal(name, text string) bool {
	return text != "" && !hasWildcard(text) && len(text) <= api.MaxGlobLength && len(name) <= api.MaxNameLength
}

var (
	programWord    = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)
	subcommandWord = regexp.MustCompile(`^[a-z][a-z0-9_:-]*$`)
)

// namingSubcommands are subcommands whose next word says what they do.
var namingSubcommands = shellcmd.WordSet("run exec compose remote pr issue repo mod workspace global config")

// runsFurther are subcommands that run what their further words say. Programs of elsewhere do so in the place that their
// first word names, and those of execsIn behind "exec": a common beginning says where, and not what.
var (
	runsFurther = shellcmd.WordSet("shell ssh rsh dlx develop enter runner exec-out")
	elsewhere   = shellcmd.WordSet("ansible salt salt-ssh pdsh clush")
	execsIn     = shellcmd.WordSet("aws-vault chamber multipass incus")
)

func runsAnything(words []string) bool {
	return elsewhere[words[0]] || runsFurther[words[1]] || words[1] == "exec" && (execsIn[words[0]] || slices.Contains(words, "--"))
}

// subcommand returns the words of a command that say what it does, such as "npm run build" of
// "npm run build --watch", and "" if it has no subcommand.
func subcommand(command string) string {
	words := strings.Split(command, " ")
	if len(words) < 2 || !programWord.MatchString(words[0]) || shellcmd.RunsOthers(words[0]) || runsAnything(words) || !subcommandWord.MatchString(words[1]) {
		return ""
	}
	count := 2
	if namingSubcommands[words[1]] {
		if count = 3; len(words) < count || !subcommandWord.MatchString(words[2]) {
			return ""
		}
	}
	return strings.Join(words[:count], " ")
}
