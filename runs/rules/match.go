package rules

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/runs/rules/shellcmd"
)

// Call is a tool call to match with rules.
type Call struct {
	SessionID   string // empty for none: only rules of all sessions apply
	AgentID     string
	ToolName    string
	ToolCallID  string
	PatternKeys []string
	Input       api.JSON // nil if unknown: then no condition on the input matches
	// InputDigest is the [document.Digest] of Input. [Judge] does not compute it.
	InputDigest string
	Directory   string // empty if unknown

	// Budget bounds the work of matching globs. Calls that are judged together share one; nil
	// creates a new one.
	Budget *Budget

	// members are Input's members, decoded when the first glob needs them. texts has the text of
	// each member for globs, by name.
	members map[string]api.JSON
	texts   map[string]string
	// folded has the members' names by their folded names.
	folded map[string][]string
	// commands caches members parsed as commands, nil if one is not. refusing caches a member's
	// texts for deny and ask rules.
	commands map[string]*shellcmd.Command
	refusing map[string]*refusingTexts
	// places caches which members hold a place.
	places map[string]bool
	// prepared has the globs of the set being searched; nil for none.
	prepared preparedGlobs
}

// Exact reports whether the rule is about one exact input, so that it is found by digest without
// a glob. Any number of such rules may be in force.
func (r *Rule) Exact() bool { return r.Match.InputDigest != "" && len(r.Match.Params) == 0 }

// ofLabels reports whether the rule allows calls by the pattern keys of the call whose decision
// wrote it. Such rules are from older versions and no longer apply: the asking side chooses the
// keys, and may put them on any call.
func (r *Rule) ofLabels() bool {
	return r.Effect == api.RuleAllow && r.SourceRequestID != "" && r.Match.InputDigest == "" && len(r.Match.PatternKeys) > 0
}

// whyNotMatch returns in plain words why a rule does not match a call, and "" if it does. For an
// allow with pattern keys, "" means only that it covers one of the call's keys. It ignores
// session, agent and the rule's end.
func (r *Rule) whyNotMatch(call *Call) string {
	switch match := &r.Match; {
	case r.ofLabels():
		return "it was remembered for pattern keys, which the asking side chooses"
	case r.ToolName != "" && r.ToolName != call.ToolName:
		return "it is about another tool"
	case match.ToolCallID != "" && match.ToolCallID != call.ToolCallID:
		return "it is about another call"
	case match.InputDigest != "" && match.InputDigest != call.InputDigest:
		return "the input differs"
	case !r.holdsIn(call.Directory):
		return "it is about the directory " + quoted(match.Directory)
	case len(match.PatternKeys) > 0 && !slices.ContainsFunc(call.PatternKeys, func(key string) bool { return slices.Contains(match.PatternKeys, key) }):
		return "the call has none of its pattern keys"
	}
	return r.whyNotParams(call)
}

// paramFault says why the globs of a rule do not match a call.
type paramFault int

const (
	noFault paramFault = iota
	paramMissing
	paramUndecided
	paramDiffers
	paramClimbs
	paramUnread
	paramUncovered
	memberUnnamed
)

// failingParam returns the first param of the rule that does not match a call, and why.
func (r *Rule) failingParam(call *Call) (name string, fault paramFault) {
	if len(r.Match.Params) == 0 {
		return "", noFault
	}
	names := make([]string, 0, 1) // on the stack: most rules have one param, and many are tried
	for name := range r.Match.Params {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if fault := r.paramFault(call, name); fault != noFault {
			return name, fault
		}
	}
	// A rule for one exact input covers all members.
	if r.Effect == api.RuleAllow && r.Match.InputDigest == "" {
		if member := r.otherMember(call); member != "" {
			return member, memberUnnamed
		}
	}
	return "", noFault
}

// paramFault returns why a param of the rule does not match a call.
func (r *Rule) paramFault(call *Call, name string) paramFault {
	if r.Effect == api.RuleAllow {
		return r.allowFault(call, name)
	}
	return r.refusalFault(call, name)
}

func (r *Rule) whyNotParams(call *Call) string {
	switch name, fault := r.failingParam(call); fault {
	case paramMissing:
		return "the input has no param " + quoted(name)
	case paramUndecided:
		return "the param " + quoted(name) + " is too long to be matched"
	case paramDiffers:
		return "the param " + quoted(name) + " does not match " + quoted(r.Match.Params[name])
	case paramClimbs:
		return "the param " + quoted(name) + " has a \"..\" segment, which no rule allows"
	case paramUnread:
		return "the param " + quoted(name) + " cannot be read as a shell command"
	case paramUncovered:
		return "the param " + quoted(name) + " has characters that a wildcard of " + quoted(r.Match.Params[name]) + " does not cover"
	case memberUnnamed:
		return "the input has " + quoted(name) + ", which changes what the call does and which the rule does not name"
	case noFault:
	}
	return ""
}

// paramNames returns the names of the params, sorted.
func paramNames(m *api.RuleMatch) []string {
	if len(m.Params) == 0 {
		return nil
	}
	return sortedNames(m.Params)
}

func sortedNames[V any](members map[string]V) []string {
	return slices.Sorted(maps.Keys(members))
}

// param returns the text of an input member for globs: the string itself, otherwise the RFC 8785
// form, in which equal numbers have equal texts. It returns false if there is no such member.
func (c *Call) param(name string) (string, bool) {
	if text, known := c.texts[name]; known {
		return text, true
	}
	c.decode()
	value, there := c.members[name]
	if !there {
		return "", false
	}
	var text string
	if document.Kind(value) == '"' {
		if json.Unmarshal(value, &text) != nil {
			return "", false
		}
	} else {
		canonical, err := document.Canonical(value)
		if err != nil {
			return "", false
		}
		text = string(canonical)
	}
	c.texts[name] = text
	return text, true
}

// decode decodes the members of the input, once.
func (c *Call) decode() {
	if c.members != nil {
		return
	}
	c.members, c.texts, c.folded = map[string]api.JSON{}, map[string]string{}, map[string][]string{}
	c.commands, c.refusing, c.places = map[string]*shellcmd.Command{}, map[string]*refusingTexts{}, map[string]bool{}
	if document.Kind(c.Input) == '{' && json.Unmarshal(c.Input, &c.members) != nil {
		c.members = map[string]api.JSON{}
	}
	for member := range c.members {
		name := foldedName(member)
		c.folded[name] = append(c.folded[name], member)
	}
}

// canonicalNumber returns the RFC 8785 form of a glob that is a JSON number, and whether it is
// one.
func canonicalNumber(glob string) (string, bool) {
	if glob == "" || len(glob) > maxNumberLength || document.Kind(api.JSON(glob)) != '0' {
		return "", false
	}
	canonical, err := document.Canonical(api.JSON(glob))
	return string(canonical), err == nil
}

// maxNumberLength is more than a double needs.
const maxNumberLength = 64

// quoted returns a caller's text for use in a sentence: in quotes, invisible characters escaped,
// cut after shownLength characters. So it cannot be mistaken for the sentence's own words.
func quoted(text string) string {
	shown := 0
	for at := range text {
		if shown == shownLength {
			return strconv.Quote(text[:at]) + "… (cut, " + strconv.Itoa(len(text)) + " bytes in all)"
		}
		shown++
	}
	return strconv.Quote(text)
}

// plain returns a name unquoted if it cannot be mistaken for other words, else quoted.
func plain(name string) string {
	if refusal.ValidID(strings.ReplaceAll(name, "/", "")) {
		return name
	}
	return quoted(name)
}
