// Package shellcmd parses shell commands: which of their bytes are plain words, and which
// commands they run. It runs and expands nothing.
package shellcmd

import (
	"errors"
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/syntax"
)

// MaxLength bounds the length of parsed commands, in bytes.
const MaxLength = 64 << 10

// maxNested bounds the nesting in a command: brackets, quotes of substitutions and keywords. The
// parser recurses for each, and its time is quadratic.
const maxNested = 1000

// Errors of [Read].
var (
	errTooLong = errors.New("the command is too long")
	errNested  = errors.New("the command nests too deeply")
)

// Command is a parsed shell command.
type Command struct {
	text string
	file *syntax.File
}

// keywords are the words after which the parser recurses.
var keywords = WordSet("if then else elif while until for select case do function coproc time in [[")

// Read parses a command as bash, a superset of POSIX shells.
func Read(text string) (*Command, error) {
	if len(text) > MaxLength {
		return nil, errTooLong
	}
	nested := strings.Count(text, "(") + strings.Count(text, "{") + strings.Count(text, "[") + strings.Count(text, "`")
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(";&|()", r) }) {
		if keywords[word] {
			nested++
		}
	}
	if nested > maxNested {
		return nil, errNested
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		return nil, err
	}
	return &Command{text, file}, nil
}

// WordSet returns the set of the words in lines.
func WordSet(lines ...string) map[string]bool {
	set := map[string]bool{}
	for _, line := range lines {
		for word := range strings.FieldsSeq(line) {
			set[word] = true
		}
	}
	return set
}
