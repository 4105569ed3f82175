package rules

import (
	"regexp"
	"slices"
	"strings"
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
// A comment with a character that ends lines somewhere is not one.
var lastStatementEnds = regexp.MustCompile(`;[; \t\r\n]*(-- [^\pC\p{Zl}\p{Zp}]*)?$`)

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
	comment = regexp.MustCompile(`(?s)/\*.*?\*/|(--|#)[^\n]*`)
	// executed are the ends of comments that MySQL runs.
	executed = regexp.MustCompile(`/\*M?![0-9]*|\*/`)
)

// statements returns each statement of a text, which deny and ask rules compare: with and without its comments. What is in quotes
// counts as well.
func statements(text string) (all []string) {
	for _, form := range []string{text, comment.ReplaceAllString(text, " "), executed.ReplaceAllString(text, ";")} {
		for one := range strings.SplitSeq(form, ";") {
			if one = strings.Join(strings.Fields(one), " "); one != "" {
				all = append(all, one)
			}
		}
	}
	return all
}
