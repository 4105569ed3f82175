package shellcmd

import (
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// variable is the beginning of a word that sets a variable.
var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)

// assigned adds the values of variables: many are commands for a program that starts later.
func (p *collected) assigned(assigns []*syntax.Assign, declared bool, depth int) {
	for _, assign := range assigns {
		if assign.Value == nil {
			continue
		}
		value := wordText(assign.Value, false) // the shell expands no pattern and no braces in it
		if assign.Naked {
			_, value, _ = strings.Cut(value, "=") // in quotes: export "A=b c"
		}
		switch {
		case !strings.ContainsAny(value, " \t\n;|&"):
		case declared:
			p.declared(value, depth)
		default:
			p.carried(value, depth)
		}
	}
}

// declared adds the commands in the value of a variable that a declaration or a wrapper sets. Most of these values are texts:
// a program that is unknown is not any program here, or each deny would apply to export A="$A b".
func (p *collected) declared(value string, depth int) {
	within := p.inDeclared
	p.inDeclared = true
	p.carried(value, depth)
	p.inDeclared = within
}

// says reports whether a command says what it runs.
func (p *collected) says(command string) bool {
	first := strings.Fields(command)
	return !p.inDeclared || len(first) == 0 || !HasUnknown(first[0])
}
