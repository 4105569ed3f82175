package rules

import (
	"strings"
	"unicode/utf8"

	"github.com/holdpoint/holdpoint/api"
)

// globStepsPerBudget is the work of one budget, in steps of the matcher: one step takes
// one character of the text and 64 characters of the glob, and some nanoseconds.
const globStepsPerBudget = 8_000_000

// Budget bounds how much work globs may cause under the lock of a session, where the
// globs, the text and their number are the choice of others. Past it, and for a text
// longer than [api.MaxGlobText], a glob is undecided: an allow does not apply, a deny or
// an ask does.
type Budget struct{ steps int }

// NewBudget returns the budget of that many calls that are judged together.
func NewBudget(calls int) *Budget { return &Budget{steps: calls * globStepsPerBudget} }

// match reports whether the glob matches the text, and whether that was decided.
func (b *Budget) match(glob, text string) (matches, decided bool) {
	const charactersPerStep = 64
	if len(text) > api.MaxGlobText {
		return false, false
	}
	// A glob that begins otherwise, or asks for more characters than there are, costs
	// nothing: so a short text is decided by any number of long globs.
	literal, _, _ := strings.Cut(strings.ReplaceAll(glob, "?", "*"), "*")
	if !strings.HasPrefix(text, literal) || len(glob)-strings.Count(glob, "*") > utf8.UTFMax*len(text) {
		return false, true
	}
	if b.steps -= (len(text) + len(glob)) * (len(glob)/charactersPerStep + 1); b.steps < 0 {
		return false, false
	}
	return matchGlob(glob, text), true
}
