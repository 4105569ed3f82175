package rules

import (
	"strings"
	"unicode/utf8"

	"github.com/holdpoint/holdpoint/api"
)

const (
	// globStepsPerBudget is the work of one budget in steps of the glob matcher. A step
	// compares one character of the text with 64 characters of the glob, and takes some
	// nanoseconds.
	globStepsPerBudget = 8_000_000
	// searchStepsPerBudget is its work in rules that are looked at and bytes of text in which
	// rules are looked for, four to a step.
	searchStepsPerBudget = 4_000_000
)

// Budget bounds the work of matching: callers choose the globs, the texts and their number.
// When the steps for globs are spent, and for a text longer than [api.MaxGlobText], a glob is
// undecided: an allow does not apply, a deny or an ask does (docs/spec/v1.md#glob). When those
// for the search are spent, rules are left out, and a person is asked. It is not safe for
// concurrent use.
type Budget struct {
	globSteps, searchSteps int
	tried                  int
}

// NewBudget returns the budget for judging that many calls.
func NewBudget(calls int) *Budget {
	return &Budget{globSteps: calls * globStepsPerBudget, searchSteps: calls * searchStepsPerBudget}
}

// Tried returns how many rules of sets were compared with a call.
func (b *Budget) Tried() int { return b.tried }

// search charges the budget for a search, and returns false when it is spent.
func (b *Budget) search(steps int) bool {
	b.searchSteps -= steps
	return b.searchSteps >= 0
}

// match reports whether the glob matches the text, and whether that was decided. It charges
// the budget.
func (b *Budget) match(glob, text string) (matches, decided bool) {
	const charactersPerStep = 64
	if len(text) > api.MaxGlobText {
		return false, false
	}
	// A glob with another beginning or end, or with more characters than the text, costs
	// nothing. So any number of long globs is decided for a short text.
	if first := strings.IndexAny(glob, "*?"); first >= 0 {
		last := strings.LastIndexAny(glob, "*?")
		if !strings.HasPrefix(text, glob[:first]) || !strings.HasSuffix(text, glob[last+1:]) {
			return false, true
		}
		if len(glob)-strings.Count(glob, "*") > utf8.UTFMax*len(text) {
			return false, true
		}
	} else if glob != text {
		return false, true
	}
	if b.globSteps -= (len(text) + len(glob)) * (len(glob)/charactersPerStep + 1); b.globSteps < 0 {
		return false, false
	}
	return matchGlob(glob, text), true
}
