package rules

import (
	"cmp"
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
)

// HintText returns the hint as compact JSON, or "" for none.
func (r *Rule) HintText() string {
	if r.Hint == nil {
		return ""
	}
	return string(document.Encode(r.Hint))
}

// shownHint begins the text of a rule that shows a hint.
func (r *Rule) shownHint() string {
	level := map[api.HintLevel]string{api.HintInfo: "note", api.HintWarn: "warning", api.HintDanger: "danger"}[r.Hint.Level]
	return "Show the " + level + " " + quoted(r.Hint.Text) + " to people who decide about "
}

// seriousness orders the levels of hints, the most serious first.
var seriousness = []api.HintLevel{api.HintDanger, api.HintWarn, api.HintInfo}

// compareHints orders rules with hints by seriousness, and then like [Compare].
func compareHints(a, b *Rule) int {
	return cmp.Or(cmp.Compare(slices.Index(seriousness, a.Hint.Level), slices.Index(seriousness, b.Hint.Level)), Compare(a, b))
}

// Hints returns the hints of the rules in force, each text and level once: at most [api.MaxHints], the most serious
// first, and of those the ones of the oldest rules. inForce is as in Judge.
func (m *Matches) Hints(inForce func(*Rule) *Rule) (hints []api.Hint) {
	for _, rule := range m.hints {
		if len(hints) == api.MaxHints {
			break
		}
		same := func(other api.Hint) bool { return other.Level == rule.Hint.Level && other.Text == rule.Hint.Text }
		if inForce(rule) == nil || slices.ContainsFunc(hints, same) {
			continue
		}
		hint := *rule.Hint
		hint.RuleID = rule.RuleID
		hints = append(hints, hint)
	}
	return hints
}
