package rules

import (
	"maps"
	"slices"

	"github.com/holdpoint/holdpoint/api"
)

// Set indexes the rules of one session, or of all sessions, so that the candidates for a call
// are found without trying the others: by pattern key, by the id of the call, or by the tool and
// a few bytes that a param must contain. It is immutable and safe for concurrent use.
type Set struct {
	count  int
	size   int
	bytes  int
	byKey  map[string][]entry
	byCall map[string][]entry
	byTool map[string]*toolRules
	globs  preparedGlobs
	// uncertain says that the set is incomplete.
	uncertain bool
	// base, if set, has further rules, except the hidden ones.
	base   *Set
	hidden map[string]struct{}
	own    []*Rule
}

// entry is a rule with its position in the set.
type entry struct {
	rule *Rule
	at   int
}

// toolRules are the rules of one tool that are not indexed by key or call.
type toolRules struct {
	anyInput []entry
	byParam  map[string]*paramRules // allow rules
	// refusing are the deny and ask rules, by the folded name of their param.
	refusing map[string]*paramRules
}

// paramRules are the rules of one tool with a glob for the same param.
type paramRules struct {
	all []entry
	// byGram indexes the rules by the rarest of their grams. loose are the rules that have none.
	byGram map[gram][]entry
	loose  []entry
}

// fewRules is how many rules are tried without searching the text for grams.
const fewRules = 8

// NewSet returns a set of rules. The caller must not change them. Exact rules need not be in a
// set, which does not speed them up. complete says that there are no others: otherwise the set's
// rules allow no call.
func NewSet(rules []*Rule, complete bool) *Set {
	s := &Set{
		count: len(rules), uncertain: !complete, own: rules,
		byKey: map[string][]entry{}, byCall: map[string][]entry{}, byTool: map[string]*toolRules{},
		globs: preparedGlobs{},
	}
	frequency, grams := map[gram]int{}, make([][]gram, len(rules))
	for at, rule := range rules {
		s.size += ruleSize(rule)
		s.bytes += rule.Bytes()
		s.globs.add(rule)
		grams[at] = rule.grams()
		for _, g := range grams[at] {
			frequency[g]++
		}
	}
	for at, rule := range rules {
		s.add(entry{rule, at}, grams[at], frequency)
	}
	return s
}

// With returns a set without the rules in changed, by id, and with standing. Its cost depends on
// the number of rules changed since [NewSet], not on the others.
func (s *Set) With(changed []string, standing []*Rule) *Set {
	base, own, hidden := s, []*Rule(nil), make(map[string]struct{}, len(s.hidden)+len(changed))
	if s.base != nil {
		base, own = s.base, s.own
		maps.Copy(hidden, s.hidden)
	}
	gone := make(map[string]struct{}, len(changed))
	for _, ruleID := range changed {
		gone[ruleID], hidden[ruleID] = struct{}{}, struct{}{}
	}
	own = slices.DeleteFunc(slices.Clone(own), func(rule *Rule) bool {
		_, is := gone[rule.RuleID]
		return is
	})
	with := NewSet(append(own, standing...), !s.uncertain)
	with.base, with.hidden = base, hidden
	return with
}

// Changed returns the number of rules changed since [NewSet].
func (s *Set) Changed() int { return len(s.hidden) }

// Within reports whether a set certainly has at most this many rules and bytes of matches, texts
// and reasons. Both forms of a changed rule may count.
func (s *Set) Within(most, mostBytes int) bool {
	count, bytes := s.count, s.bytes
	if s.base != nil {
		count, bytes = count+s.base.count, bytes+s.base.bytes
	}
	return !s.uncertain && count <= most && bytes <= mostBytes
}

// Size returns the approximate memory of the set's rules, in bytes.
func (s *Set) Size() int {
	if s.base != nil {
		return s.size + s.base.size
	}
	return s.size
}

// ruleSize estimates a rule's memory, including the indexes of a set.
func ruleSize(rule *Rule) int {
	return 1024 + 64*(len(rule.Match.PatternKeys)+len(rule.Match.Params)) + rule.Bytes()
}

// Bytes returns the total length of the rule's text, reason, escalation, hint and match, the last without
// JSON syntax.
func (r *Rule) Bytes() int {
	bytes := len(r.Text) + len(r.Reason) + len(r.EscalationText()) + len(r.HintText()) + len(r.Match.Directory)
	for _, key := range r.Match.PatternKeys {
		bytes += len(key)
	}
	for name, glob := range r.Match.Params {
		bytes += len(name) + len(glob)
	}
	return bytes
}

func (s *Set) add(e entry, grams []gram, frequency map[gram]int) {
	match := &e.rule.Match
	switch {
	case len(match.PatternKeys) > 0:
		for i, key := range match.PatternKeys {
			if !slices.Contains(match.PatternKeys[:i], key) {
				s.byKey[key] = append(s.byKey[key], e)
			}
		}
		return
	case match.ToolCallID != "":
		s.byCall[match.ToolCallID] = append(s.byCall[match.ToolCallID], e)
		return
	}
	tool := s.byTool[e.rule.ToolName]
	if tool == nil {
		tool = &toolRules{byParam: map[string]*paramRules{}, refusing: map[string]*paramRules{}}
		s.byTool[e.rule.ToolName] = tool
	}
	name, _ := indexedParam(e.rule)
	if name == "" {
		tool.anyInput = append(tool.anyInput, e)
		return
	}
	params, key := tool.byParam, name
	if e.rule.Effect != api.RuleAllow {
		params, key = tool.refusing, foldedName(name)
	}
	param := params[key]
	if param == nil {
		param = &paramRules{byGram: map[gram][]entry{}}
		params[key] = param
	}
	param.all = append(param.all, e)
	rarest, fewest := gram(0), 0
	for _, g := range grams {
		if fewest == 0 || frequency[g] < fewest {
			rarest, fewest = g, frequency[g]
		}
	}
	if fewest == 0 {
		param.loose = append(param.loose, e)
	} else {
		param.byGram[rarest] = append(param.byGram[rarest], e)
	}
}

// MatchSets returns the rules of sets that match a call: the input of [Judge], except exact
// rules. The call has its budget. If a glob cannot be decided within it, an allow is left out,
// and a deny or ask is included. It ignores the rules' session and agent.
func MatchSets(call *Call, sets ...*Set) *Matches {
	matches := newMatches(call)
	for _, set := range sets {
		set.match(call, matches)
	}
	matches.sort()
	return matches
}

// search is the search of a set for one call.
type search struct {
	call    *Call
	matches *Matches
	hidden  map[string]struct{}
	// seen has the positions of rules already found by another key.
	seen map[int]struct{}
}

func (s *Set) match(call *Call, matches *Matches) {
	s.matchOwn(call, matches, nil)
	if s.base != nil {
		s.base.matchOwn(call, matches, s.hidden)
	}
}

func (s *Set) matchOwn(call *Call, matches *Matches, hidden map[string]struct{}) {
	matches.uncertain = matches.uncertain || s.uncertain
	if s.count == 0 {
		return
	}
	search := search{call: call, matches: matches, hidden: hidden}
	call.prepared = s.globs
	for _, key := range matches.keys {
		search.try(s.byKey[key])
	}
	search.try(s.byCall[call.ToolCallID])
	// A rule that matches by tool alone names its tool.
	tool := s.byTool[call.ToolName]
	if tool == nil {
		return
	}
	search.try(tool.anyInput)
	call.decode()
	for name, param := range tool.refusing {
		search.tryRefusing(name, param)
	}
	for name, param := range tool.byParam {
		search.tryParam(name, param)
	}
}

func (s *search) tryParam(name string, rules *paramRules) {
	text, there := s.call.param(name)
	if !there {
		return
	}
	if len(text) > api.MaxGlobText || len(rules.all) <= fewRules {
		s.try(rules.all)
		return
	}
	s.try(rules.loose)
	s.tryGrams(rules, text, map[gram]struct{}{})
}

// tryRefusing tries the deny and ask rules for a member name.
func (s *search) tryRefusing(name string, rules *paramRules) {
	members := s.call.folded[name]
	if len(members) == 0 {
		return
	}
	looked := make([]*refusingTexts, len(members))
	all := len(rules.all) <= fewRules
	for i, member := range members {
		looked[i] = s.call.refusingTexts(member)
		all = all || looked[i].unread || looked[i].vague
	}
	if all {
		s.try(rules.all)
		return
	}
	s.try(rules.loose)
	tried := map[gram]struct{}{}
	for _, one := range looked {
		for _, text := range one.texts {
			s.tryGrams(rules, text, tried)
		}
		s.tryGrams(rules, one.written, tried)
	}
}

// tryGrams tries the rules indexed by the grams of a text, once each.
func (s *search) tryGrams(rules *paramRules, text string, tried map[gram]struct{}) {
	if !s.call.Budget.search(len(text) / 4) {
		s.matches.Leave()
		return
	}
	for at := 0; at+gramLength <= len(text); at++ {
		g := gramAt(text, at)
		found := rules.byGram[g]
		if found == nil {
			continue
		}
		if _, again := tried[g]; again {
			continue
		}
		tried[g] = struct{}{}
		s.try(found)
	}
}

// try adds the matching rules. Each rule is tried once.
func (s *search) try(entries []entry) {
	for _, e := range entries {
		if !s.call.Budget.search(1) {
			s.matches.Leave()
			return
		}
		if _, is := s.hidden[e.rule.RuleID]; is {
			continue
		}
		if len(e.rule.Match.PatternKeys) > 1 {
			if _, again := s.seen[e.at]; again {
				continue
			}
			if s.seen == nil {
				s.seen = map[int]struct{}{}
			}
			s.seen[e.at] = struct{}{}
		}
		s.call.Budget.tried++
		if s.holds(e.rule) {
			s.matches.add(e.rule, s.matches.coveredBy(e.rule))
		}
	}
}

// holds reports whether a rule matches. A rule with pattern keys was found by one of them.
func (s *search) holds(rule *Rule) bool {
	match := &rule.Match
	if rule.ofLabels() || rule.ToolName != "" && rule.ToolName != s.call.ToolName ||
		match.ToolCallID != "" && match.ToolCallID != s.call.ToolCallID ||
		match.InputDigest != "" && match.InputDigest != s.call.InputDigest || !rule.holdsIn(s.call.Directory) {
		return false
	}
	_, fault := rule.failingParam(s.call)
	return fault == noFault
}
