package shellcmd

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

const (
	// UnknownText stands for a text of any number of words that the command does not show, such
	// as the value of a variable.
	UnknownText = '\uFDD0'
	// UnknownWord stands for such a text without blanks.
	UnknownWord = '\uFDD1'
)

// Scrub replaces the characters that have a meaning in parts: those for unknown texts, and the mark of options.
func Scrub(text string) string { return scrubbing.Replace(text) }

var scrubbing = strings.NewReplacer(string(UnknownText), "\uFFFD", string(UnknownWord), "\uFFFD", optionMark, "\uFFFD")

// HasUnknown reports whether a part has an unknown text.
func HasUnknown(part string) bool {
	return strings.ContainsAny(part, string(UnknownText)+string(UnknownWord))
}

// wordText returns a word without its quotes. With patterns, unquoted *, ? and [ are unknown
// texts, because the shell expands them to file names, and so is a word whose braces expand.
func wordText(word *syntax.Word, patterns bool) string {
	if patterns && expands(word) {
		return string(UnknownText)
	}
	var text strings.Builder
	set := -1 // where a set of characters may begin
	for _, part := range word.Parts {
		bare, is := part.(*syntax.Lit)
		if !is {
			writePart(&text, part, patterns)
		} else if at := writeLiteral(&text, bare.Value, patterns); set < 0 {
			set = at
		}
	}
	return withoutSets(text.String(), set)
}

// withoutSets returns a word in which everything from the beginning of a set, such as [[:alpha:]"m"], to the last "]" is unknown.
// Where the set ends depends on what is in it. Without an end there is none, but an unknown text may have the end.
func withoutSets(word string, from int) string {
	if from < 0 {
		return word
	}
	if strings.ContainsRune(word[from:], UnknownText) {
		return word[:from] + string(UnknownText)
	}
	end := from + strings.LastIndexByte(word[from:], ']') + 1
	inside, behind := word[from:end], word[end:]
	if open := strings.IndexByte(behind, '['); open >= 0 && strings.ContainsRune(behind[open:], UnknownWord) {
		unknown := UnknownWord
		if isCommandLike(behind[open:]) {
			unknown = UnknownText
		}
		behind = behind[:open] + string(unknown)
	}
	switch {
	case inside == "":
		return word[:from] + behind
	case isCommandLike(inside):
		return word[:from] + string(UnknownText) + behind // without a file that matches, the text itself, which may be a command
	}
	return word[:from] + string(UnknownWord) + behind
}

// isCommandLike reports whether a text has characters by which a shell tells words and commands apart.
func isCommandLike(text string) bool { return strings.ContainsAny(text, " \t\n;|&<>()$`") }

var (
	noWildcards      = strings.NewReplacer("*", "_", "?", "_", "[", "_")
	escapedWildcards = strings.NewReplacer(`\*`, "_", `\?`, "_", `\[`, "_", `\\`, "_", `\`, "")
)

// patternText returns a word without its quotes and without the wildcards in them, which stand for themselves.
func patternText(word *syntax.Word) string {
	var text strings.Builder
	for _, part := range word.Parts {
		if bare, is := part.(*syntax.Lit); is {
			text.WriteString(escapedWildcards.Replace(bare.Value))
			continue
		}
		var quoted strings.Builder
		writePart(&quoted, part, false)
		text.WriteString(noWildcards.Replace(quoted.String()))
	}
	return text.String()
}

func writePart(text *strings.Builder, part syntax.WordPart, patterns bool) {
	switch part := part.(type) {
	case *syntax.Lit:
		_ = writeLiteral(text, part.Value, patterns)
	case *syntax.SglQuoted:
		plain, read := part.Value, true
		if part.Dollar {
			plain, read = unescapedText(part.Value)
		}
		if !read {
			text.WriteRune(UnknownText)
			return
		}
		text.WriteString(plain)
	case *syntax.DblQuoted:
		for _, inner := range part.Parts {
			writeQuoted(text, inner)
		}
	case *syntax.ArithmExp, *syntax.ProcSubst, *syntax.ExtGlob:
		text.WriteRune(UnknownWord)
	default:
		text.WriteRune(UnknownText)
	}
}

// unescapedText returns the text of $'…'. It returns false for escapes that only some shells know, or read differently.
func unescapedText(quoted string) (plain string, read bool) {
	var text strings.Builder
	for quoted != "" {
		if rest, is := strings.CutPrefix(quoted, `\"`); is {
			text.WriteByte('"')
			quoted = rest
			continue
		}
		character, multibyte, rest, err := strconv.UnquoteChar(quoted, '\'')
		switch {
		case err != nil || character == 0:
			return "", false
		case multibyte:
			text.WriteRune(character)
		default:
			text.WriteByte(byte(character))
		}
		quoted = rest
	}
	return Scrub(text.String()), true
}

// writeLiteral writes a text outside of quotes. It returns where a set of characters may begin in what is written, and -1 for
// nowhere.
func writeLiteral(text *strings.Builder, value string, patterns bool) int {
	set := -1
	for at := 0; at < len(value); at++ {
		switch character := value[at]; {
		case character == '\\' && at+1 < len(value):
			at++
			if value[at] != '\n' {
				text.WriteByte(value[at])
			}
		case patterns && (character == '*' || character == '?'):
			text.WriteRune(UnknownWord)
		default:
			if patterns && character == '[' && set < 0 {
				set = text.Len()
			}
			text.WriteByte(character)
		}
	}
	return set
}

func writeQuoted(text *strings.Builder, part syntax.WordPart) {
	switch part := part.(type) {
	case *syntax.Lit:
		for at := 0; at < len(part.Value); at++ {
			if part.Value[at] == '\\' && at+1 < len(part.Value) && strings.IndexByte("$`\"\\\n", part.Value[at+1]) >= 0 {
				at++
				if part.Value[at] == '\n' {
					continue
				}
			}
			text.WriteByte(part.Value[at])
		}
	case *syntax.ParamExp:
		if part.Index != nil || part.Param != nil && part.Param.Value == "@" {
			text.WriteRune(UnknownText)
			return
		}
		text.WriteRune(UnknownWord)
	default:
		text.WriteRune(UnknownWord)
	}
}

// Argv returns the words of the command when it is one program with its arguments and nothing else,
// and shows them all.
func (c *Command) Argv() ([]string, bool) {
	if len(c.file.Stmts) != 1 {
		return nil, false
	}
	call, calls := c.file.Stmts[0].Cmd.(*syntax.CallExpr)
	if !calls || len(call.Assigns) > 0 || len(c.file.Stmts[0].Redirs) > 0 {
		return nil, false
	}
	words := wordTexts(call, true)
	if slices.ContainsFunc(words, HasUnknown) {
		return nil, false
	}
	return words, true
}
