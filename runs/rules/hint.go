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

// Hints returns the hints of the rules in force, each text and level once: at most [api.MaxHints], the most serious
// first, and of those the ones of the oldest rules. inForce is as in Judge.
func (m *Matches) Hints(inForce func(*Rule) *Rule) []api.Hint {
	var hints []api.Hint
	for _, rule := range m.hints {
		if rule = inForce(rule); rule == nil || rule.Hint == nil {
			continue
		}
		hint := *rule.Hint
		if !slices.ContainsFunc(hints, func(other api.Hint) bool { return other.Level == hint.Level && other.Text == hint.Text }) {
			hint.RuleID = rule.RuleID
			hints = append(hints, hint)
		}
	}
	slices.SortStableFunc(hints, func(a, b api.Hint) int {
		return cmp.Compare(slices.Index(seriousness, a.Level), slices.Index(seriousness, b.Level))
	})
	return hints[:min(len(hints), api.MaxHints)]
}
