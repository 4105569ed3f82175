package rules

import (
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/rules/shellcmd"
)

var (
	// argvNames are the members whose list is the words of one program. In other members the entries of a list may be
	// commands, too.
	argvNames = shellcmd.WordSet("command cmd commandline cmdline argv args arguments program exec")
	// argumentNames are the members with further words of a command.
	argumentNames = []string{"args", "arguments", "argv"}
)

// lookAtLists adds the commands of a member that is not a text. It reports whether the member is the words of one
// program, so that none of them is a command by itself.
func (c *Call) lookAtLists(looked *refusingTexts, member string, arguments []argument) bool {
	var value any
	if json.Unmarshal(c.members[member], &value) != nil {
		looked.unread = true
		return false
	}
	c.lookAtListsIn(looked, value, arguments)
	words, is := value.([]any)
	if is && len(words) > 1 {
		if first, is := words[0].(string); is && strings.ContainsAny(first, " \t\n;|&") {
			return false // the first word is a command line, and so may be others
		}
	}
	return is && len(words) > 1 && argvNames[foldedName(member)] && !slices.ContainsFunc(words, func(word any) bool {
		switch word.(type) {
		case []any, map[string]any:
			return true
		}
		return false
	})
}

// lookAtListsIn adds each list in a value, with the lists in it, as the words of one program, alone and with arguments.
func (c *Call) lookAtListsIn(looked *refusingTexts, value any, arguments []argument) {
	if looked.unread {
		return
	}
	switch value := value.(type) {
	case []any:
		argv := wordsOf(value)
		c.lookAtArgv(looked, argv)
		for _, more := range arguments {
			if looked.unread {
				return
			}
			c.lookAtArgv(looked, slices.Concat(argv, more.words))
		}
		for _, item := range value {
			c.lookAtListsIn(looked, item, arguments)
		}
	case map[string]any:
		names := sortedNames(value)
		var further []string
		for _, name := range names {
			if slices.Contains(argumentNames, foldedName(name)) {
				further = append(further, name)
			}
		}
		for _, name := range names {
			for _, more := range further {
				if looked.unread {
					return
				}
				if program := programOf(value[name]); program != nil && name != more {
					c.lookAtArgv(looked, append(program, wordsOf(value[more])...))
				}
			}
			c.lookAtListsIn(looked, value[name], arguments)
		}
	}
}

// programOf returns a text or a list as the first words of a program.
func programOf(value any) []string {
	switch value := value.(type) {
	case string:
		return strings.Fields(value)
	case []any:
		return wordsOf(value)
	}
	return nil
}

// argument is a member with further words of a command: a list, or a text.
type argument struct {
	words []string
	text  string
}

// arguments returns the other members with further words of a command. It returns false if they are too much to read.
func (c *Call) arguments(member string) (all []argument, read bool) {
	for _, name := range argumentNames {
		for _, other := range c.folded[name] {
			kind := document.Kind(c.members[other])
			if other == member || kind != '"' && kind != '[' {
				continue
			}
			if !c.Budget.spend(len(c.members[other])) {
				return nil, false
			}
			var value any
			if json.Unmarshal(c.members[other], &value) != nil {
				continue
			}
			switch value := value.(type) {
			case string:
				all = append(all, argument{words: strings.Fields(value), text: shellcmd.Scrub(value)})
			case []any:
				all = append(all, argument{words: wordsOf(value)})
			}
		}
	}
	return all, true
}

func (c *Call) lookAtArgv(looked *refusingTexts, argv []string) {
	size := 1
	for _, word := range argv {
		size += 1 + len(word)
	}
	if looked.unread || !c.Budget.spend(size) {
		looked.unread = true
		return
	}
	looked.parts(shellcmd.ArgvParts(argv))
}

// wordsOf returns the texts and numbers in a value, as the words of one program.
func wordsOf(value any) (words []string) {
	switch value := value.(type) {
	case string:
		return []string{value}
	case float64:
		return []string{strconv.FormatFloat(value, 'f', -1, 64)}
	case bool:
		return []string{strconv.FormatBool(value)}
	case []any:
		for _, item := range value {
			words = append(words, wordsOf(item)...)
		}
	case map[string]any:
		for _, name := range sortedNames(value) {
			words = append(words, wordsOf(value[name])...)
		}
	}
	return words
}
