package rules

import (
	"slices"

	"github.com/holdpoint/holdpoint/api"
)

// Verdict is the joint decision of several rules about a call.
type Verdict struct {
	Effect api.RuleEffect
	// Rule is the recorded author of the decision: the oldest rule that denies, else the oldest
	// that asks, else the rule that completed the permission, counted from the oldest on. It is
	// nil if no rule applies; then Effect is ask.
	Rule *Rule
	// Needed are the rules that the decision depends on, including Rule. The caller counts a use
	// of each.
	Needed []*Rule
	// WhyNot says for each rule, in the order given to Judge, why it does not apply; empty if it
	// does. [Matches.Judge] leaves it nil.
	WhyNot []string
}

// Judge decides a call at a given time: deny wins over ask and ask over allow, whatever their
// age (docs/spec/v1.md#precedence). The rules must be sorted by [Compare]. Revoked, expired and
// used-up ones are skipped. Rules are not changed. Judge tries each one: to judge many calls by
// the same rules, use a [Set].
func Judge(rules []*Rule, call *Call, nowMs int64) Verdict {
	if call.Budget == nil {
		call.Budget = NewBudget(1)
	}
	matches := newMatches(call)
	whyNot := make([]string, len(rules))
	for i, rule := range rules {
		if whyNot[i] = rule.whyNot(call, nowMs); whyNot[i] == "" {
			matches.add(rule, matches.coveredBy(rule))
		}
	}
	verdict := matches.Judge(func(rule *Rule) *Rule { return rule })
	if uncovered := matches.uncovered(); uncovered >= 0 {
		for i, rule := range rules {
			if whyNot[i] == "" && rule.Effect == api.RuleAllow && len(rule.Match.PatternKeys) > 0 {
				whyNot[i] = "nothing allows the call's pattern key " + quoted(matches.keys[uncovered])
			}
		}
	}
	verdict.WhyNot = whyNot
	return verdict
}

// Matches are the rules that match one call. [Matches.Judge] then decides among them by agent
// and time; the only caller-chosen part of its work is the number of the call's pattern keys.
type Matches struct {
	// keys are the distinct pattern keys of the call; keyAt has their positions.
	keys  []string
	keyAt map[string]int
	// Each list is sorted by [Compare].
	denies, asks, hints []*Rule
	allows              []allowed
	// uncertain says that rules were skipped, because trying them all was too much work.
	uncertain bool
}

// allowed is a rule that allows the call or, if the call has pattern keys, the keys in covers.
type allowed struct {
	rule   *Rule
	covers bits
}

func newMatches(call *Call) *Matches {
	m := &Matches{}
	if len(call.PatternKeys) > 0 {
		m.keyAt = make(map[string]int, len(call.PatternKeys))
	}
	for _, key := range call.PatternKeys {
		if _, seen := m.keyAt[key]; !seen {
			m.keyAt[key] = len(m.keys)
			m.keys = append(m.keys, key)
		}
	}
	return m
}

// coveredBy returns the positions of the call's keys that a rule has.
func (m *Matches) coveredBy(rule *Rule) bits {
	if rule.Effect != api.RuleAllow || len(rule.Match.PatternKeys) == 0 {
		return nil
	}
	covers := newBits(len(m.keys))
	for _, key := range rule.Match.PatternKeys {
		if at, there := m.keyAt[key]; there {
			covers.set(at)
		}
	}
	return covers
}

func (m *Matches) add(rule *Rule, covers bits) {
	switch rule.Effect {
	case api.RuleDeny:
		m.denies = append(m.denies, rule)
	case api.RuleAsk:
		m.asks = append(m.asks, rule)
	case api.RuleAllow:
		m.allows = append(m.allows, allowed{rule, covers})
	case api.RuleHint:
		m.hints = append(m.hints, rule)
	}
}

func (m *Matches) sort() {
	slices.SortFunc(m.denies, Compare)
	slices.SortFunc(m.asks, Compare)
	slices.SortFunc(m.hints, compareHints)
	slices.SortFunc(m.allows, func(a, b allowed) int { return Compare(a.rule, b.rule) })
}

// Leave leaves the call to a person unless a rule denies it.
func (m *Matches) Leave() { m.uncertain = true }

// With returns the matches and those exact rules that match the call, without changing m. The
// rules must belong to the call's session or all sessions. Matching them costs one comparison
// each.
func (m *Matches) With(exact []*Rule, call *Call) *Matches {
	both := &Matches{keys: m.keys, keyAt: m.keyAt, denies: m.denies, asks: m.asks, hints: m.hints, allows: m.allows, uncertain: m.uncertain}
	if len(exact) == 0 {
		return both
	}
	both.denies, both.asks, both.hints, both.allows = slices.Clone(m.denies), slices.Clone(m.asks), slices.Clone(m.hints), slices.Clone(m.allows)
	for _, rule := range exact {
		match := &rule.Match
		if rule.ToolName != call.ToolName || match.InputDigest != call.InputDigest || !rule.holdsIn(call.Directory) || match.ToolCallID != "" && match.ToolCallID != call.ToolCallID {
			continue
		}
		if len(match.PatternKeys) > 0 && !slices.ContainsFunc(match.PatternKeys, func(key string) bool { _, there := m.keyAt[key]; return there }) {
			continue
		}
		both.add(rule, both.coveredBy(rule))
	}
	both.sort()
	return both
}

// Judge decides the call. inForce returns a rule's current state, and nil if it has ended or is
// for another agent.
func (m *Matches) Judge(inForce func(*Rule) *Rule) Verdict {
	for _, rule := range m.denies {
		if rule = inForce(rule); rule != nil {
			return Verdict{Effect: api.RuleDeny, Rule: rule, Needed: []*Rule{rule}}
		}
	}
	for _, rule := range m.asks {
		if rule = inForce(rule); rule != nil {
			return Verdict{Effect: api.RuleAsk, Rule: rule, Needed: []*Rule{rule}}
		}
	}
	if m.uncertain {
		return Verdict{Effect: api.RuleAsk}
	}
	return m.allow(inForce)
}

// Escalating returns the oldest ask in force that has an escalation, or nil. inForce is as in Judge.
func (m *Matches) Escalating(inForce func(*Rule) *Rule) *Rule {
	for _, rule := range m.asks {
		if rule.Escalation == nil {
			continue
		}
		if rule = inForce(rule); rule != nil {
			return rule
		}
	}
	return nil
}

// allow finds the rules that jointly allow the call: one rule without pattern keys, or several
// that cover all keys, whichever is complete first.
func (m *Matches) allow(inForce func(*Rule) *Rule) Verdict {
	missing := newBits(len(m.keys))
	for at := range m.keys {
		missing.set(at)
	}
	var covering []allowed
	for _, candidate := range m.allows {
		rule := inForce(candidate.rule)
		if rule == nil {
			continue
		}
		if candidate.covers == nil {
			return Verdict{Effect: api.RuleAllow, Rule: rule, Needed: []*Rule{rule}}
		}
		if !missing.overlaps(candidate.covers) {
			continue
		}
		missing.remove(candidate.covers)
		covering = append(covering, allowed{rule, candidate.covers})
		if missing.empty() {
			return Verdict{Effect: api.RuleAllow, Rule: rule, Needed: m.needed(covering)}
		}
	}
	return Verdict{Effect: api.RuleAsk}
}

// needed drops rules whose keys are covered by later ones, and returns the others, newest first.
func (m *Matches) needed(covering []allowed) []*Rule {
	covered := newBits(len(m.keys))
	var needed []*Rule
	for _, one := range slices.Backward(covering) {
		left := slices.Clone(one.covers)
		left.remove(covered)
		if !left.empty() {
			needed = append(needed, one.rule)
			covered.add(one.covers)
		}
	}
	return needed
}

// uncovered returns the position of the first uncovered key of the call, -1 if there is none.
func (m *Matches) uncovered() int {
	covered := newBits(len(m.keys))
	for _, one := range m.allows {
		covered.add(one.covers)
	}
	for at := range m.keys {
		if !covered.has(at) {
			return at
		}
	}
	return -1
}
