package rules

import (
	"strings"
	"unicode/utf8"

	"github.com/holdpoint/holdpoint/api"
)

// globStepsPerBudget is the work of one budget, in steps of the matcher. A step compares one
// character of the text with 64 characters of the glob, and takes some nanoseconds.
const globStepsPerBudget = 8_000_000

// Budget bounds the work of matching globs under the lock of a session: callers choose the
// globs, the texts and their number. When it is spent, and for a text longer than
// [api.MaxGlobText], a glob is undecided: an allow does not apply, a deny or an ask does
// (docs/spec/v1.md#glob). It is not safe for concurrent use.
type Budget struct{ steps int }

// NewBudget returns the budget for judging that many calls.
func NewBudget(calls int) *Budget { return &Budget{steps: calls * globStepsPerBudget} }

// match reports whether the glob matches the text, and whether that was decided. It charges
// the budget.
func (b *Budget) match(glob, text string) (matches, decided bool) {
	const charactersPerStep = 64
	if len(text) > api.MaxGlobText {
		return false, false
	}
	// A glob with another beginning, or with more characters than the text, costs nothing.
	// So any number of long globs is decided for a short text.
	literal, _, _ := strings.Cut(strings.ReplaceAll(glob, "?", "*"), "*")
	if !strings.HasPrefix(text, literal) || len(glob)-strings.Count(glob, "*") > utf8.UTFMax*len(text) {
		return false, true
	}
	if b.steps -= (len(text) + len(glob)) * (len(glob)/charactersPerStep + 1); b.steps < 0 {
		return false, false
	}
	return matchGlob(glob, text), true
}
