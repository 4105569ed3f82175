package shellcmd

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// Spelled marks the bytes of the command that a wildcard must not cover. The others are plain:
// words, quoted or not, and the blanks between them. Not plain are operators, redirections,
// substitutions, expansions, assignments, line breaks, comments, words that contain a command
// for another program, and words with a ".." segment or invisible characters.
func (c *Command) Spelled() []bool { return c.spelled(false) }

// SpelledGlob is [Command.Spelled] for a glob, whose wildcards are no patterns of a shell.
func (c *Command) SpelledGlob() []bool { return c.spelled(true) }

func (c *Command) spelled(glob bool) []bool {
	m := &marking{text: c.text, spelled: make([]bool, len(c.text)), glob: glob}
	for i := range m.spelled {
		m.spelled[i] = true
	}
	m.statements(c.file.Stmts)
	return m.spelled
}

type marking struct {
	text    string
	spelled []bool
	glob    bool
}

func (m *marking) statements(all []*syntax.Stmt) {
	for _, one := range all {
		m.statement(one)
	}
}

func (m *marking) statement(s *syntax.Stmt) {
	switch command := s.Cmd.(type) {
	case *syntax.CallExpr:
		m.call(command)
	case *syntax.BinaryCmd:
		m.statement(command.X)
		m.statement(command.Y)
	case *syntax.Subshell:
		m.statements(command.Stmts)
	case *syntax.Block:
		m.statements(command.Stmts)
	}
	for _, redirection := range s.Redirs {
		if redirection.Word != nil && redirection.Hdoc == nil {
			m.word(redirection.Word)
		}
	}
}

func (m *marking) call(call *syntax.CallExpr) {
	words, name := wordTexts(call, false), ""
	if len(words) > 0 {
		name = OneName(words[0])
	}
	runs := len(words) > 0 && runsAnother(name, words)
	var passed []bool
	if (wrappers[name] || runs) && !m.glob {
		passed = passedOn(name, wordTexts(call, true))
	}
	for i, word := range call.Args {
		if i > 0 {
			m.blanks(offset(call.Args[i-1].End()), offset(word.Pos()))
		}
		switch {
		case wrappers[name] && (i == 0 || carries(words[i])):
		case (i == 0 || passed != nil && !passed[i]) && !m.glob && strings.ContainsAny(patternText(word), "*?[") && mayBeWrapper(wordText(word, true)):
		case i > 0 && (runs && wrappers[OneName(words[i])] || optionRuns(name, words, i)):
		default:
			m.word(word)
		}
	}
	for _, assign := range call.Assigns {
		if assign.Value != nil && assign.Array == nil {
			m.word(assign.Value)
		}
	}
}

// carries reports whether a word of a program that runs others may contain a command, or name
// another such program.
func carries(word string) bool {
	return strings.ContainsAny(word, " \t\n;|&<>()$`\"'\\") || wrappers[OneName(word)] ||
		strings.HasPrefix(word, "-exec") || strings.HasPrefix(word, "-ok") || strings.HasPrefix(word, "-delete") || strings.HasPrefix(word, "-fprint") || strings.HasPrefix(word, "-fls")
}

var (
	// direct are the wrappers that run their first word behind options, variables and times, with all words behind it.
	direct = WordSet("env nohup nice ionice time timeout xargs setsid stdbuf unbuffer command exec sudo doas npx bunx uvx strace ltrace")
	// directRun are the programs that run the first word behind "run" or "exec" and its options in the same way.
	directRun = WordSet("uv poetry pipenv pdm rye bundle pipx")
	// number is a time in any spelling of C: 0x5, 1e3s.
	number = regexp.MustCompile(`(?i)^([+.0-9]|(inf|infinity|nan)[smhd]?$)`)
)

// passedOn returns which words of a program that runs others are certainly arguments of the program that it runs, or
// are not run: the words of find in front of its first -exec.
func passedOn(name string, words []string) []bool {
	passed := make([]bool, len(words))
	ready := direct[name] // whether the next word may be the program
	for i := 1; i < len(words); i++ {
		word := words[i]
		switch {
		case name == "find" || name == "fd":
			if isOption(word) && (HasUnknown(word) || carries(word) || optionRuns(name, words, i)) {
				return passed
			}
			passed[i] = true
		case directRun[name] && (word == "run" || word == "exec"):
			ready = true
		case !ready || besides.MatchString(word) || number.MatchString(word) || isOption(words[i-1]):
		case HasUnknown(word) || wrappers[OneName(word)] || runsAnother(OneName(word), words[i:]):
			return passed
		default:
			for behind := i + 1; behind < len(words); behind++ {
				passed[behind] = true
			}
			return passed
		}
	}
	return passed
}

// mayBeWrapper reports whether the shell may expand a pattern to the name of a program that runs others: /bin/b?sh.
func mayBeWrapper(pattern string) bool {
	pattern = strings.ToLower(pattern[strings.LastIndexByte(pattern, '/')+1:])
	const unknown = string(UnknownText) + string(UnknownWord)
	first, last := strings.IndexAny(pattern, unknown), strings.LastIndexAny(pattern, unknown)
	if first < 0 {
		return false
	}
	before, behind := pattern[:first], pattern[last+utf8.RuneLen(UnknownWord):]
	matches := func(name string) bool {
		return strings.HasPrefix(name, before) && strings.HasSuffix(name, behind)
	}
	return slices.ContainsFunc(wrapperNames(), matches)
}

// wrapperNames returns the names of programs that run others, in every spelling.
var wrapperNames = sync.OnceValue(func() (names []string) {
	for name := range wrappers {
		names = append(names, name, name+".exe")
		if gnu[name] {
			names = append(names, "g"+name, "g"+name+".exe")
		}
	}
	for name, one := range otherNames {
		if wrappers[one] {
			names = append(names, name)
		}
	}
	return names
})

func (m *marking) blanks(from, to int) {
	if from > to || strings.Trim(m.text[from:to], " \t") != "" {
		return
	}
	m.plain(from, to)
}

func (m *marking) plain(from, to int) {
	for at := from; at < to; at++ {
		m.spelled[at] = false
	}
}

// dotPattern is a segment of dots and wildcards, which some shells expand to "..". A set of letters and digits alone has no dot.
var dotPattern = regexp.MustCompile(`(^|/)\.[.*]*([?*]|\[[^/]*([^/\w:,\]-]|[^/\w]-|-[^/\w\]])[^/]*\])[.*]*(/|$)`)

func (m *marking) word(word *syntax.Word) {
	if expands(word) || climbsDecoded(wordText(word, false)) || !m.glob && dotPattern.MatchString(patternText(word)) {
		return
	}
	for _, part := range word.Parts {
		from, to := offset(part.Pos()), offset(part.End())
		switch part := part.(type) {
		case *syntax.Lit:
			m.literal(part)
		case *syntax.SglQuoted:
			if !part.Dollar {
				m.runes(from, to, quotedRune)
			}
		case *syntax.DblQuoted:
			if part.Dollar {
				continue
			}
			m.plain(from, from+1)
			m.plain(to-1, to)
			for _, inner := range part.Parts {
				if inner, is := inner.(*syntax.Lit); is {
					m.runes(offset(inner.Pos()), offset(inner.End()), quotedRune)
				}
			}
		}
	}
}

func (m *marking) literal(part *syntax.Lit) {
	from, to := offset(part.Pos()), offset(part.End())
	// A place that is not the part's own is left as it is.
	if from > to || to > len(m.text) || m.text[from:to] != part.Value {
		return
	}
	m.runes(from, to, bareRune)
}

// runes marks those characters as plain for which it is true.
func (m *marking) runes(from, to int, plain func(rune) bool) {
	for at := from; at < to; {
		r, size := utf8.DecodeRuneInString(m.text[at:to])
		if plain(r) {
			m.plain(at, at+size)
		}
		at += size
	}
}

// bareRune reports whether a character outside of quotes shows what it is.
func bareRune(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= ' ' && r != 0x7f || r == '\t'
	}
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r)
}

func quotedRune(r rune) bool {
	return r != utf8.RuneError && (unicode.IsPrint(r) || r == '\n' || r == '\t')
}

// expands reports whether the braces of a word may make several words of it. Their commas may stand behind a
// quoted text: {"a",b}.
func expands(word *syntax.Word) bool {
	var bare strings.Builder
	for _, part := range word.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			bare.WriteString(part.Value)
		case *syntax.ExtGlob:
			bare.WriteString(part.Pattern.Value)
		}
	}
	_, rest, open := strings.Cut(bare.String(), "{")
	return open && (strings.Contains(rest, ",") || strings.Contains(rest, ".."))
}

func offset(pos syntax.Pos) int { return int(pos.Offset()) } //nolint:gosec // at most MaxLength

// dotBraces is a segment of dots and braces that curl expands to "..", in quotes as well: {.}. or .{.,x}.
var dotBraces = regexp.MustCompile(`(?:^|/)\.*(?:\{(?:[^{}/]*,)?\.*(?:,[^{}/]*)?\}\.*)+(?:[/?#]|$)`)

// climbsDecoded is [Climbs] for a word that may have a URL: a server decodes its path, and curl expands its braces.
func climbsDecoded(word string) bool {
	last := word
	for plain := range Unescaped(word) {
		if last = plain; Climbs(plain) || strings.Contains(dotBraces.FindString(plain), ".") {
			return true
		}
	}
	return IsEscaped(last)
}

// Climbs reports whether a word has a ".." segment: by itself, behind a flag, or behind what
// separates paths.
func Climbs(word string) bool {
	for segment := range strings.FieldsFuncSeq(word, parts) {
		if segment == ".." || len(segment) == 4 && segment[0] == '-' && segment[2:] == ".." {
			return true
		}
	}
	return false
}

// parts reports whether a character stands between paths or their segments.
func parts(r rune) bool { return strings.ContainsRune("/\\=:,;\n\t ", r) }
