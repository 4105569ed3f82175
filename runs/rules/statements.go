package rules

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// saysStatement are parts of the names of members that hold statements for a database.
var saysStatement = strings.Fields("sql query queries statement stmt cypher")

// holdsStatements reports whether a member holds statements for a database, by its name. Some of these members are
// searches.
func holdsStatements(member string) bool {
	name := foldedName(member)
	return slices.ContainsFunc(saysStatement, func(part string) bool { return strings.Contains(name, part) })
}

// lastStatementEnds is the end of the last statement: nothing but blanks, further ends and one comment to the end of the line.
// A comment with a character that ends lines somewhere is not one, and neither is one with a backslash, which may be a line's end in JSON.
// The first end may be in quotes or in a comment: behind a further end, nothing may end these in any database.
var lastStatementEnds = regexp.MustCompile(`;[; \t\r\n]*(-- ([^;\\\pC\p{Zl}\p{Zp}]*|[\pL\pM\pN ,.;:!?()/_=+-]*))?$`)

// spelledStatements marks the ends of statements that a wildcard must not cover: all but those of the last one. Which of them are in
// quotes depends on the database.
func spelledStatements(text string) []bool {
	spelled := make([]bool, len(text))
	last := len(text)
	if at := lastStatementEnds.FindStringIndex(text); at != nil {
		last = at[0]
	}
	for at := range last {
		spelled[at] = text[at] == ';'
	}
	return spelled
}

// uncoveredStatement returns why a glob's wildcard may not cover statements.
func (c *Call) uncoveredStatement(match globMatch) paramFault {
	if !strings.Contains(match.text, ";") {
		return noFault
	}
	if !c.Budget.read(match.text) {
		return paramUndecided
	}
	match.spelled, match.globSpelled = spelledStatements(match.text), spelledStatements(match.glob)
	if matches, _ := c.Budget.match(match); !matches {
		return paramUncovered
	}
	return noFault
}

var (
	// executed are the ends of comments that MySQL runs, and executedBegins is such a beginning.
	executed       = regexp.MustCompile(`/\*M?![0-9]*|\*/`)
	executedBegins = regexp.MustCompile(`^/\*M?![0-9]*`)
)

// dollarTag begins a quoted text of PostgreSQL.
var dollarTag = regexp.MustCompile(`^\$([A-Za-z_\x{80}-\x{10FFFF}][A-Za-z0-9_\x{80}-\x{10FFFF}]*)?\$`)

func isNameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c >= utf8.RuneSelf
}

// reading is a way in which databases tell comments from statements.
type reading struct {
	hash     bool   // "#" begins a comment
	nested   bool   // comments stand in comments
	executes bool   // MySQL's comments: it runs some, and "--" needs a blank behind it
	quotes   bool   // a quoted text has no comments and no end of a statement
	escapes  bool   // a backslash escapes a quote
	dollars  bool   // $tag$ quotes a text to the next $tag$
	lineEnds string // the ends of a comment to the end of the line
}

// readings are with and without quotes: which texts are in quotes differs as well.
var readings = []reading{
	{hash: true, lineEnds: "\n"},
	{hash: true, executes: true, lineEnds: "\n"},
	{hash: true, executes: true, quotes: true, escapes: true, lineEnds: "\n"},
	{nested: true, lineEnds: "\r\n"},
	{nested: true, quotes: true, lineEnds: "\r\n"},
	{nested: true, quotes: true, dollars: true, lineEnds: "\r\n"},
}

// statements returns each statement of a text, which deny and ask rules compare: as written, and without its comments in each
// reading. What is in quotes counts as well. It returns false for a text that takes too much work.
func statements(text string) (all []string, read bool) {
	const mostRead = 32 // times the text
	left := mostRead * len(text)
	add := func(one string) {
		if one = strings.Join(strings.Fields(one), " "); one != "" {
			all = append(all, one)
		}
	}
	for _, form := range []string{text, executed.ReplaceAllString(text, ";")} {
		for one := range strings.SplitSeq(form, ";") {
			add(one)
		}
	}
	for from := 0; ; {
		for _, reading := range readings {
			one, length := reading.first(text[from:])
			if left -= length; left < 0 {
				return nil, false
			}
			add(one)
		}
		next := strings.IndexByte(text[from:], ';')
		if next < 0 {
			return all, true
		}
		from += next + 1
	}
}

// first returns the first statement of a text, without its comments, and the length of what it read.
func (r reading) first(text string) (statement string, length int) {
	var plain strings.Builder
	depth, quote, at := 0, byte(0), 0
	inName := false // whether the last byte is one of a name, which may have dollars
	for at < len(text) {
		rest, size, named := text[at:], 1, inName
		inName = false
		switch {
		case depth > 0 && strings.HasPrefix(rest, "*/"):
			depth, size = depth-1, len("*/")
		case depth > 0:
			if r.nested && strings.HasPrefix(rest, "/*") {
				depth, size = depth+1, len("/*")
			}
		case quote != 0:
			if r.escapes && rest[0] == '\\' && len(rest) > 1 {
				size = 2
			} else if rest[0] == quote {
				quote = 0
			}
			plain.WriteString(rest[:size])
		case rest[0] == ';':
			return plain.String(), at
		case strings.HasPrefix(rest, "/*"):
			depth, size = 1, len("/*")
			if begins := executedBegins.FindString(rest); r.executes && begins != "" {
				depth, size = 0, len(begins)
			}
			plain.WriteByte(' ')
		case r.executes && strings.HasPrefix(rest, "*/"):
			size = len("*/")
			plain.WriteByte(' ')
		case strings.HasPrefix(rest, "--") && (!r.executes || len(rest) == len("--") || rest[len("--")] <= ' '), r.hash && rest[0] == '#':
			if size = strings.IndexAny(rest, r.lineEnds); size < 0 {
				size = len(rest)
			}
		case r.dollars && rest[0] == '$' && !named && dollarTag.MatchString(rest):
			tag := dollarTag.FindString(rest)
			if end := strings.Index(rest[len(tag):], tag); end >= 0 {
				size = len(tag) + end + len(tag)
			} else {
				size = len(rest)
			}
			plain.WriteString(rest[:size])
		default:
			inName = named && rest[0] == '$' || isNameByte(rest[0])
			if r.quotes && strings.IndexByte("'\"`", rest[0]) >= 0 {
				quote = rest[0]
			}
			plain.WriteByte(rest[0])
		}
		at += size
	}
	return plain.String(), at
}
