package cli

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
)

// refuseBytes refuses arguments that are not valid UTF-8, which would be changed silently
// on their way to the service.
func refuseBytes(args []string) error {
	for i, argument := range args {
		if !utf8.ValidString(argument) {
			return fmt.Errorf("argument %d is not valid UTF-8: %q", i+1, argument)
		}
	}
	return nil
}

// refuseEmpty refuses an empty value for a flag that limits what a command applies to, such
// as --session-id "$UNSET": the command would apply to everything. Texts for people may be
// empty, and so may the settings of serve. An empty list of a webhook clears its filter.
func refuseEmpty(command *kong.Context) error {
	if command.Command() == "serve" {
		return nil
	}
	for _, step := range command.Path {
		if step.Positional != nil && strings.HasSuffix(step.Positional.Name, "-id") && step.Positional.Target.Kind() == reflect.String && step.Positional.Target.Len() == 0 {
			return console.Usage("<%s> is empty", step.Positional.Name)
		}
		if step.Flag == nil || step.Resolved || step.Flag.PlaceHolder == "TEXT" {
			continue
		}
		empty := false
		switch value := step.Flag.Target; {
		case value.Kind() == reflect.String:
			empty = value.Len() == 0
		case value.Kind() == reflect.Slice && value.Type().Elem().Kind() == reflect.String:
			empty = value.Len() == 0 || slices.Contains(value.Convert(reflect.TypeFor[[]string]()).Interface().([]string), "") //nolint:forcetypeassert // converted
		}
		if empty {
			return console.Usage("--%s is empty: give it a value, or omit it", step.Flag.Name)
		}
	}
	return nil
}

// helpFirst turns "help COMMAND" into "COMMAND --help".
func helpFirst(args []string) []string {
	if len(args) > 0 && args[0] == "help" {
		return append(slices.Clone(args[1:]), "--help")
	}
	return args
}

// ownWords returns the words of a command line in front of the command that exec and hook resume run, also without --.
// The flags of that command belong to another program.
func ownWords(node *kong.Node, args []string) []string {
	positional := 0
	for i := 0; i < len(args); i++ {
		word := args[i]
		if word == "--" {
			return args[:i]
		}
		if strings.HasPrefix(word, "-") {
			if takesNext(node, word) {
				i++
			}
			continue
		}
		if at := slices.IndexFunc(node.Children, func(child *kong.Node) bool {
			return child.Name == word || slices.Contains(child.Aliases, word)
		}); at >= 0 {
			node = node.Children[at]
			continue
		}
		if positional < len(node.Positional) && node.Positional[positional].Passthrough {
			return args[:i]
		}
		positional++
	}
	return args
}

// takesNext reports whether the value of a flag is the next word.
func takesNext(node *kong.Node, word string) bool {
	for _, group := range node.AllFlags(false) {
		for _, flag := range group {
			if word == "--"+flag.Name || slices.ContainsFunc(flag.Aliases, func(alias string) bool { return word == "--"+alias }) {
				return !flag.IsBool() && !flag.IsCounter()
			}
		}
	}
	return false
}

// asksJSON reports whether a command line has --json, even an invalid one. Words after --
// belong to another program.
func asksJSON(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.Contains(args, "--json")
}

// errorReport is an error as printed on stderr with --json.
type errorReport struct {
	Error    string `json:"error"`
	ExitCode int    `json:"exit_code"`
	// Status, Code and Decision are set if the service returned the error.
	Status   int    `json:"status,omitzero"`
	Code     string `json:"code,omitempty"`
	Recorded any    `json:"recorded_decision,omitempty"`
}

// fail prints an error and returns the exit code.
func fail(terminal *console.Console, args []string, code int, cause error) int {
	if !asksJSON(args) {
		terminal.Say("error: %s", console.Explain(cause, terminal.Now()))
		return code
	}
	report := errorReport{Error: cause.Error(), ExitCode: code}
	if refused, ok := errors.AsType[*client.Error](cause); ok {
		report.Status, report.Code = refused.Status, string(refused.Code)
		if refused.Recorded != nil {
			report.Recorded = refused.Recorded
		}
	}
	_ = console.PrintJSON(terminal.Stderr, struct {
		Error errorReport `json:"error"`
	}{report}) // the exit code still tells
	return code
}

// withSuggestion adds the flag that was probably meant.
func withSuggestion(unknown console.UnknownFlagError, flags []*kong.Flag) error {
	given, _, _ := strings.Cut(strings.TrimLeft(unknown.Flag, "-"), "=")
	best, least := "", len(given)/2+1
	for _, flag := range flags {
		if distance := editDistance(given, flag.Name); distance < least {
			best, least = flag.Name, distance
		}
	}
	if best == "" {
		return fmt.Errorf("%w; put -- before a command that starts with a dash", unknown)
	}
	return fmt.Errorf("%w, did you mean --%s? (put -- before a command that starts with a dash)", unknown, best)
}

// editDistance returns the number of insertions, deletions and substitutions between two
// words.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
