package rules

import (
	"strings"
	"unicode/utf8"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/rules/shellcmd"
)

const (
	// globStepsPerBudget is the budget's number of glob matcher steps. A step compares a
	// character of the text with 64 characters of the glob, in some nanoseconds.
	globStepsPerBudget = 8_000_000
	// searchStepsPerBudget is its number of search steps: a rule, or four bytes of searched
	// text.
	searchStepsPerBudget = 4_000_000
)

// Budget bounds the work of matching: callers choose the globs, the texts and their number. Once
// the glob steps are spent, and for a text longer than [api.MaxGlobText], a glob is undecided:
// an allow does not apply, a deny or an ask does (docs/spec/v1.md#glob). Once the search steps
// are spent, rules are skipped and a person is asked. It is not safe for concurrent use.
type Budget struct {
	calls                  int
	globSteps, searchSteps int
	tried                  int
}

// NewBudget returns the budget for judging a number of calls.
func NewBudget(calls int) *Budget {
	return &Budget{calls: calls, globSteps: calls * globStepsPerBudget, searchSteps: calls * searchStepsPerBudget}
}

// Tried returns the number of rules in sets that were compared with a call.
func (b *Budget) Tried() int { return b.tried }

// Spent returns how many bytes take about as long to parse as the work so far.
func (b *Budget) Spent() int {
	const triedRule = 16
	return b.calls*(globStepsPerBudget+searchStepsPerBudget) - b.globSteps - b.searchSteps + triedRule*b.tried
}

// search charges the budget for a search, and returns false once it is spent.
func (b *Budget) search(steps int) bool {
	b.searchSteps -= steps
	return b.searchSteps >= 0
}

// match reports whether the glob matches the text, and whether that was decided. It charges the
// budget.
func (b *Budget) match(m globMatch) (matches, decided bool) {
	const charactersPerStep, shortText = 64, 1024
	glob, text := m.glob, m.text
	if len(text) > api.MaxGlobText {
		return false, false
	}
	// A glob with a different start or end, with more characters than the text, or with others
	// than a short text, costs nothing. So any number of long globs is decided for a short text.
	unknown := 0
	if m.unknown {
		unknown = strings.Count(text, string(shellcmd.UnknownText)) + strings.Count(text, string(shellcmd.UnknownWord))
	}
	if first := strings.IndexAny(glob, "*?"); unknown > 0 {
		if b.globSteps -= unknown * len(glob); b.globSteps < 0 {
			return false, false
		}
	} else if first >= 0 {
		last := strings.LastIndexAny(glob, "*?")
		end, free := glob[last+1:], strings.Count(glob, "*")
		if m.folders {
			end, free = strings.TrimPrefix(end, "/"), free+strings.Count(glob, "**/")
		}
		if !strings.HasPrefix(text, glob[:first]) || !strings.HasSuffix(text, end) {
			return false, true
		}
		if len(glob)-free > utf8.UTFMax*len(text) || m.spelled == nil && len(text) <= shortText && !strings.Contains(text, longestLiteral(glob)) {
			return false, true
		}
	} else if glob != text {
		return false, true
	}
	if b.globSteps -= (len(text) + len(glob)) * (len(glob)/charactersPerStep + 1); b.globSteps < 0 {
		return false, false
	}
	return m.holds(), true
}

// longestLiteral returns the longest part of a glob that matches itself alone.
func longestLiteral(glob string) (longest string) {
	for literal := range strings.FieldsFuncSeq(glob, func(c rune) bool { return c == '*' || c == '?' || c == '/' }) {
		if len(literal) > len(longest) {
			longest = literal
		}
	}
	return longest
}

// read charges the budget for parsing a text as a command or a path, and returns false once it
// is spent.
func (b *Budget) read(text string) bool { return b.spend(len(text)) && len(text) <= api.MaxGlobText }

// spend charges the budget for that many bytes, and returns false once it is spent.
func (b *Budget) spend(bytes int) bool {
	const stepsPerByte = 16
	b.globSteps -= bytes * stepsPerByte
	return b.globSteps >= 0
}
