package prompt

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/internal/canonical"
)

// membersOf returns the members of an object in their order. It returns none of anything else, also for an object
// with a name twice or with invalid Unicode: a face that shows one of its texts would hide another.
func membersOf(input api.JSON) []canonical.Member {
	list, err := canonical.Members(input)
	if err != nil {
		return nil
	}
	return list
}

// commandIn returns the command of an input as a shell reads it, and the other members. The names are the ones that
// kinds.js of the page knows.
func commandIn(list []canonical.Member) (command string, rest []canonical.Member, found bool) {
	without := func(name string) []canonical.Member {
		return slices.DeleteFunc(slices.Clone(list), func(one canonical.Member) bool { return one.Is(name) })
	}
	if editsFile(list) {
		return "", list, false
	}
	for _, name := range []string{"command", "cmd"} {
		if command, found = textOf(list, name); found && !blank(command) {
			rest = without(name)
			if argv, is := argumentsOf(rest, "argv"); is && runs(argv, command) {
				rest = slices.DeleteFunc(rest, func(one canonical.Member) bool { return one.Is("argv") }) // the same command as a list
			}
			return command, rest, true
		}
	}
	for _, name := range []string{"command", "cmd", "argv"} {
		if argv, is := argumentsOf(list, name); is {
			return QuoteLine(argv), without(name), true
		}
	}
	return "", list, false // a blank command is shown as JSON
}

// editsFile reports whether an input has the command of a text editor, which no shell runs.
func editsFile(list []canonical.Member) bool {
	m := members{}
	for _, one := range list {
		m[one.Text()] = one.Value
	}
	command, found := m.first("command", "cmd")
	return found && m.edits(command)
}

// blank reports whether there is nothing to see in a text. Such a text is shown as JSON, which has it in quotation marks.
func blank(text string) bool { return strings.TrimSpace(text) == "" }

// textOf returns a member that is a string.
func textOf(list []canonical.Member, name string) (text string, found bool) {
	for _, one := range list {
		if one.Is(name) && jsontext.Value(one.Value).Kind() == '"' {
			return text, json.Unmarshal(one.Value, &text) == nil
		}
	}
	return "", false
}

// argumentsOf returns a member that is a list of strings, and not empty.
func argumentsOf(list []canonical.Member, name string) (argv []string, found bool) {
	for _, one := range list {
		var texts []*string
		if !one.Is(name) || json.Unmarshal(one.Value, &texts) != nil || len(texts) == 0 || slices.Contains(texts, nil) {
			continue
		}
		for _, text := range texts {
			argv = append(argv, *text)
		}
		return argv, true
	}
	return nil, false
}

var (
	shell    = regexp.MustCompile(`^(?:/(?:usr/(?:local/)?)?bin/)?(?:ba|z|da|k)?sh$`)
	runsText = regexp.MustCompile(`^-[a-z]*c$`)
)

// runs reports whether arguments run what a command line says, by themselves or in a shell.
func runs(argv []string, command string) bool {
	return QuoteLine(argv) == command || len(argv) == 3 && shell.MatchString(argv[0]) && runsText.MatchString(argv[1]) && argv[2] == command
}

// plainName matches the names that a face may show as a label.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,40}$`)

// ofInput returns the rows of an input: the agent's words about its call, its command and other texts of several lines as
// they are, and the rest as JSON.
func ofInput(input api.JSON) (said, rows []Row) {
	list := membersOf(input)
	command, list, found := commandIn(list)
	if found {
		rows = append(rows, Row{Label: "command", Kind: Verbatim, Value: command, Deciding: true})
	}
	var rest []canonical.Member
	for i, one := range list {
		name := one.Text()
		text, isText := textOf(list[i:i+1], name)
		long := strings.Contains(text, "\n") && !blank(text)
		switch {
		case isText && !long && !blank(text) && (name == "description" || name == "reason"):
			said = append(said, Row{Label: name, Kind: Said, Value: text, Deciding: true})
		case long && plainName.MatchString(name):
			rows = append(rows, Row{Label: "input." + name, Kind: Verbatim, Value: text, Deciding: true})
		default:
			one.Name, _ = jsontext.AppendQuote(nil, name) // without escapes that are not needed
			rest = append(rest, one)
		}
	}
	switch {
	case len(said)+len(rows) == 0:
		rows = []Row{{Label: "input", Kind: Body, Value: Indented(input), Deciding: true}}
	case len(rest) > 0:
		rows = append(rows, Row{Label: "other input", Kind: Body, Value: Indented(canonical.Join(rest)), Deciding: true})
	}
	return said, rows
}
