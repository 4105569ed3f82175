package rules

import (
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/rules/shellcmd"
)

// allowFault returns why a param of an allow rule does not match a call. The text must match as
// written, and must not mean another place or a further command than the rule names.
func (r *Rule) allowFault(call *Call, name string) paramFault {
	value, there := call.param(name)
	if !there {
		return paramMissing
	}
	match := globMatch{glob: r.Match.Params[name], text: value, folders: r.folders()}
	kind, means := document.Kind(call.members[name]), meaningOf(r.ToolName, name)
	if means == meansCommand {
		match.folders = false
		if kind == '"' && value != "" && value == r.bareCommand(match.glob) {
			return noFault // as written in the rule: no wildcard covers anything
		}
	}
	switch matches, decided := call.Budget.match(match); {
	case !decided:
		return paramUndecided
	case !matches && kind == '0':
		if number, is := canonicalNumber(match.glob); is && number == value {
			return noFault
		}
		return paramDiffers
	case !matches:
		return paramDiffers
	}
	wild := hasWildcard(match.glob)
	if wild && holdsStatements(name) {
		if fault := call.uncoveredStatement(match); fault != noFault {
			return fault
		}
	}
	switch {
	case kind != '"' && kind != '[' && kind != '{', means == meansProse && kind == '"':
		return noFault
	case !call.Budget.read(value):
		return paramUndecided
	case wild && kind == '"' && call.leavesHost(name, match):
		return paramUncovered
	case means == meansCommand:
		if !wild {
			return noFault
		}
		return call.uncoveredCommand(name, match, kind)
	case climbs(value):
		return paramClimbs
	case !wild:
		return noFault
	case kind != '"':
		return call.uncoveredTexts(name, match, means)
	case means == meansText && commandLike.MatchString(match.glob):
		return call.uncoveredCommand(name, match, kind)
	case means == meansPath || strings.ContainsAny(match.glob, `/\`):
		return call.uncoveredPlace(match)
	}
	return noFault
}

// folders reports whether "**/" of an allow rule also matches no folder. It does unless the rule
// is older and its text promised less: a rule never allows more than its text says.
func (r *Rule) folders() bool {
	return !strings.Contains(r.Text, "** is any text)") && !strings.Contains(r.Text, "** is any text,")
}

// bareMeans is the part of a rule's text that promises it.
const bareMeans = `"` + shellcmd.FurtherWords + `" at the end may be missing`

// bareCommand returns the command that a glob for a command and its further words also matches
// without further words, such as "npm test" for "npm test **". It returns "" for another glob, and
// for a rule that is older and whose text promised less.
func (r *Rule) bareCommand(glob string) string {
	words, is := strings.CutSuffix(glob, shellcmd.FurtherWords)
	if !is || hasWildcard(words) || r.Text != "" && !strings.Contains(r.Text, bareMeans) {
		return ""
	}
	return words
}

// commandLike is a glob for texts that start with a fixed word.
var commandLike = regexp.MustCompile(`^[A-Za-z0-9_./-]+ +.*[*?]`)

// uncoveredCommand returns why a glob's wildcard may not cover a command.
func (c *Call) uncoveredCommand(name string, match globMatch, kind byte) paramFault {
	if kind != '"' {
		// How a tool passes an array to a shell is unknown.
		return paramUncovered
	}
	command := c.command(name, match.text)
	if command == nil {
		return paramUnread
	}
	return c.uncoveredWords(match, command)
}

func (c *Call) uncoveredWords(match globMatch, command *shellcmd.Command) paramFault {
	match.spelled = command.Spelled()
	if glob, err := shellcmd.Read(match.glob); err == nil {
		match.globSpelled = glob.SpelledGlob()
	}
	if windowsShell(c.ToolName) {
		shellcmd.SpellWindows(match.text, match.spelled)
		shellcmd.SpellWindows(match.glob, match.globSpelled)
	}
	match.markHosts()
	if matches, _ := c.Budget.match(match); !matches {
		return paramUncovered
	}
	return noFault
}

// command returns a member parsed as a command, and nil if it is not one.
func (c *Call) command(name, text string) *shellcmd.Command {
	command, known := c.commands[name]
	if !known {
		command, _ = shellcmd.Read(text)
		c.commands[name] = command
	}
	return command
}

// uncoveredPlace returns why a glob's wildcard may not cover a path.
func (c *Call) uncoveredPlace(match globMatch) paramFault {
	match.spelled, match.globSpelled = spelledPlace(match.text), spelledPlace(withoutSingle(match.glob))
	if matches, _ := c.Budget.match(match); !matches {
		return paramUncovered
	}
	short := globMatch{glob: cleaned(match.glob), text: cleaned(match.text), folders: match.folders}
	if matches, _ := c.Budget.match(short); !matches {
		return paramUncovered
	}
	return noFault
}

// uncoveredTexts returns why a glob's wildcard may not cover a list or an object: its structure, and each text in it.
func (c *Call) uncoveredTexts(name string, match globMatch, means meaning) paramFault {
	match.spelled, match.globSpelled = spelledStructure(match.text), spelledStructure(match.glob)
	if matches, _ := c.Budget.match(match); !matches {
		return paramUncovered
	}
	globs, texts := textsIn(match.glob), textsIn(match.text)
	if len(globs) != len(texts) {
		return paramUncovered
	}
	for i, glob := range globs {
		one, fault := globMatch{glob: glob, text: texts[i], folders: match.folders}, noFault
		switch {
		case !hasWildcard(glob) || means == meansProse:
		case c.leavesHost(name, one):
			return paramUncovered
		case means == meansText && commandLike.MatchString(glob):
			command, err := shellcmd.Read(one.text)
			if err != nil {
				return paramUnread
			}
			fault = c.uncoveredWords(one, command)
		case means == meansPath || strings.ContainsAny(glob, `/\`):
			fault = c.uncoveredPlace(one)
		}
		if fault != noFault {
			return fault
		}
	}
	return noFault
}

// textsIn returns the strings of a JSON text in order, the names of members included.
func textsIn(value string) (texts []string) {
	from := -1
	for at := 0; at < len(value); at++ {
		switch {
		case value[at] == '"' && from < 0:
			from = at
		case value[at] == '"':
			var text string
			if json.Unmarshal([]byte(value[from:at+1]), &text) == nil {
				texts = append(texts, text)
			}
			from = -1
		case from >= 0 && value[at] == '\\':
			at++
		}
	}
	return texts
}

// words reports whether a command consists of exactly these words.
func (c *Call) words(name, command string, argv []string) bool {
	read := c.command(name, command)
	if read == nil {
		return false
	}
	words, are := read.Argv()
	return are && slices.Equal(words, argv)
}

// textsOf returns the strings of a JSON array of strings.
func textsOf(value api.JSON) ([]string, bool) {
	var texts []string
	if document.Kind(value) != '[' || json.Unmarshal(value, &texts) != nil {
		return nil, false
	}
	return texts, true
}
