package runs_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/escalation"
)

func asksAnd(e *api.Escalation) func(*runs.AddRule) {
	return func(c *runs.AddRule) { c.Effect, c.Escalation = api.RuleAsk, e }
}

func notifying(selector string) *api.Escalation {
	return &api.Escalation{Steps: []api.EscalationStep{{Notify: []string{selector}}}}
}

var (
	ofFinance = notifying("group:finance")
	ofAsker   = notifying("user:asker")
	anything  = api.RuleMatch{AnyInput: true}
)

// named returns settings with one escalation.
func named(name string, e *api.Escalation) *escalation.Settings {
	return &escalation.Settings{Named: map[string]*escalation.Named{name: escalation.NewNamed(name, *e)}}
}

// knowing returns a house whose session "s" knows these escalations.
func knowing(t *testing.T, settings *escalation.Settings) *house {
	h := newHouse(t)
	h.must(&runs.CreateSession{SessionID: "s"})
	h.states["s"].Escalations = settings
	return h
}

// The rule's escalation is stamped on requests that it leaves to people, whether or not they bring one.
func TestARuleSetsTheEscalation(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rules    func(h *house)
		own      *api.Escalation
		settings *escalation.Settings
		want     string
	}{
		"none of its own": {rules: func(h *house) { h.rule("pay", anything, asksAnd(ofFinance)) }, want: `{"steps":[{"after_ms":0,"notify":["group:finance"]}],"by_rule":{"rule_id":"pay"}}`},
		"instead of its own": {
			rules: func(h *house) { h.rule("pay", anything, asksAnd(ofFinance)) }, own: ofAsker,
			want: `{"steps":[{"after_ms":0,"notify":["group:finance"]}],"by_rule":{"rule_id":"pay"}}`,
		},
		"of all sessions": {rules: func(h *house) { h.rule("pay", anything, asksAnd(ofFinance), everywhere) }, want: `{"steps":[{"after_ms":0,"notify":["group:finance"]}],"by_rule":{"rule_id":"pay"}}`},
		"of an exact input": {
			rules: func(h *house) { h.rule("pay", exactly(string(approval("a").Input)), asksAnd(ofFinance)) },
			want:  `{"steps":[{"after_ms":0,"notify":["group:finance"]}],"by_rule":{"rule_id":"pay"}}`,
		},
		"the oldest with one": {rules: func(h *house) {
			h.rule("z", anything, asking)
			h.nowMs++
			h.rule("y", anything, asksAnd(ofFinance))
			h.nowMs++
			h.rule("x", anything, asksAnd(ofAsker))
		}, want: `{"steps":[{"after_ms":0,"notify":["group:finance"]}],"by_rule":{"rule_id":"y"}}`},
		"an ask that also overrides an allow": {rules: func(h *house) {
			h.rule("may", anything)
			h.rule("pay", anything, asksAnd(ofFinance))
		}, want: `{"steps":[{"after_ms":0,"notify":["group:finance"]}],"by_rule":{"rule_id":"pay"}}`},
		"not one of another agent": {rules: func(h *house) {
			h.rule("pay", anything, asksAnd(ofFinance), func(c *runs.AddRule) { c.AgentID = "other" })
		}, own: ofAsker, want: `{"steps":[{"after_ms":0,"notify":["user:asker"]}]}`},
		"not one that was revoked": {rules: func(h *house) {
			h.rule("pay", anything, asksAnd(ofFinance))
			h.must(&runs.RevokeRule{RuleID: "pay", SessionID: "s"})
		}, own: ofAsker, want: `{"steps":[{"after_ms":0,"notify":["user:asker"]}]}`},
		"named": {
			rules: func(h *house) { h.rule("pay", anything, asksAnd(&api.Escalation{Name: "night"})) }, own: ofAsker,
			settings: named("night", ofFinance),
			want:     `{"name":"night","steps":[{"after_ms":0,"notify":["group:finance"]}],"by_rule":{"rule_id":"pay"}}`,
		},
		"also from people on call": {
			rules:    func(h *house) { h.rule("pay", anything, asksAnd(alsoFrom("oncall:payments"))) },
			settings: &escalation.Settings{OnCall: map[string]bool{"payments": true}},
			want:     `{"steps":[{"after_ms":0,"notify":["group:finance"],"also_from":["oncall:payments"]}],"by_rule":{"rule_id":"pay"}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := knowing(t, c.settings)
			c.rules(h)
			a := approval("a")
			a.Escalation = c.own
			h.wait("r", a)
			requireJSON(t, c.want, h.request("r", "a").Escalation())
			require.True(t, h.request("r", "a").Escalates())
		})
	}
}

// alsoFrom returns an escalation that notifies finance.
func alsoFrom(selectors ...string) *api.Escalation {
	return &api.Escalation{Steps: []api.EscalationStep{{Notify: []string{"group:finance"}, AlsoFrom: selectors}}}
}

// A rule's payload includes also_from. An empty list is as absent.
func TestAlsoFromIsPartOfARule(t *testing.T) {
	h := parallelHouse(t)
	add := func(id string, e *api.Escalation) *runs.AddRule {
		return &runs.AddRule{RuleID: id, ToolName: "bash", Match: anything, Effect: api.RuleAsk, Escalation: e}
	}
	h.must(add("with", alsoFrom("user:ada")))
	require.True(t, h.must(add("with", alsoFrom("user:ada"))).Existing)
	h.refused(api.CodeIDConflict, add("with", ofFinance))
	h.refused(api.CodeIDConflict, add("with", alsoFrom("user:ben")))
	h.must(add("without", ofFinance))
	require.True(t, h.must(add("without", alsoFrom([]string{}...))).Existing)
}

// A rule may name an escalation that is removed later. Its requests then get the default one, or none, with
// which everyone who may decide is notified: the asker's, which may notify nobody for a year, does not count.
func TestARuleWhoseEscalationIsGone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		after *escalation.Settings
		want  string
	}{
		"a default": {
			&escalation.Settings{Default: "day", Named: map[string]*escalation.Named{"day": escalation.NewNamed("day", *ofFinance)}},
			`{"name":"day","steps":[{"after_ms":0,"notify":["group:finance"]}],"by_rule":{"rule_id":"pay","missing_name":"night"}}`,
		},
		"no default":  {&escalation.Settings{}, `{"by_rule":{"rule_id":"pay","missing_name":"night"}}`},
		"no settings": {nil, `{"by_rule":{"rule_id":"pay","missing_name":"night"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := knowing(t, named("night", ofFinance))
			h.rule("pay", anything, asksAnd(&api.Escalation{Name: "night"}))
			h.states["s"].Escalations = c.after
			a := approval("a")
			a.Escalation = &api.Escalation{Steps: []api.EscalationStep{{AfterMs: 360 * 86_400_000, Notify: []string{"user:asker"}}}}
			h.wait("r", a)
			requireJSON(t, c.want, h.request("r", "a").Escalation())
		})
	}
}

// A rule that keeps a request after its deadline does so, and one that does not ends it, whatever the asker
// brought.
func TestARuleDecidesAboutTheDeadline(t *testing.T) {
	t.Parallel()
	for _, keeps := range []bool{true, false} {
		h := newHouse(t)
		rule, own := ofFinance, &api.Escalation{AtDeadline: api.DeadlineKeep}
		if keeps {
			rule, own = own, rule
		}
		h.rule("pay", anything, asksAnd(rule))
		a := approval("a")
		a.Escalation, a.ExpiresAfterMs = own, ms(60_000)
		h.wait("r", a)
		h.nowMs += 60_000
		h.must(&runs.ExpireRequests{RunID: "r"})
		require.Equal(t, keeps, h.request("r", "a").Open())
	}
}

// What a rule's escalation must be.
func TestRulesWithoutAnEscalation(t *testing.T) {
	t.Parallel()
	long := &api.Escalation{Steps: []api.EscalationStep{{}}}
	for n := range api.MaxSelectors {
		long.Steps[0].Notify = append(long.Steps[0].Notify, fmt.Sprintf("group:%d-%s", n, strings.Repeat("g", 120)))
	}
	for name, c := range map[string]struct {
		effect  api.RuleEffect
		e       *api.Escalation
		pointer string
	}{
		"an allow":           {api.RuleAllow, ofFinance, "/escalation"},
		"a deny":             {api.RuleDeny, ofFinance, "/escalation"},
		"an empty one":       {api.RuleAsk, &api.Escalation{}, "/escalation"},
		"too long":           {api.RuleAsk, long, "/escalation"},
		"an unknown name":    {api.RuleAsk, &api.Escalation{Name: "night"}, "/escalation/name"},
		"an unknown source":  {api.RuleAsk, notifying("oncall:payments"), "/escalation/steps/0/notify/0"},
		"also from nowhere":  {api.RuleAsk, alsoFrom("oncall:payments"), "/escalation/steps/0/also_from/0"},
		"also from everyone": {api.RuleAsk, alsoFrom("everyone"), "/escalation/steps/0/also_from/0"},
		"an unknown place":   {api.RuleAsk, &api.Escalation{Calendar: "office", Steps: ofFinance.Steps}, "/escalation/calendar"},
		"a bad selector":     {api.RuleAsk, notifying("everyone"), "/escalation/steps/0/notify/0"},
		"a default answer":   {api.RuleAsk, &api.Escalation{AtDeadline: api.DeadlineAnswer, DefaultAnswer: northAnswer}, "/escalation/at_deadline"},
		"a rule of its own":  {api.RuleAsk, &api.Escalation{Steps: ofFinance.Steps, ByRule: &api.EscalationRule{RuleID: "x"}}, "/escalation/by_rule"},
		"a name and members": {api.RuleAsk, &api.Escalation{Name: "night", AtDeadline: api.DeadlineKeep}, "/escalation/name"},
	} {
		inHouse(t, name, func(t *testing.T, h *house) {
			require.Equal(t, c.pointer, h.refused(api.CodeInvalidRequest, &runs.AddRule{ToolName: "bash", Match: anything, Effect: c.effect, Escalation: c.e}).Faults[0].Pointer)
		})
	}
	h := newHouse(t)
	a := approval("a")
	a.Escalation = &api.Escalation{ByRule: &api.EscalationRule{RuleID: "pay"}}
	h.start("r")
	require.Equal(t, "/approvals/0/escalation/by_rule", h.refused(api.CodeInvalidRequest, suspend("r", 1, a)).Faults[0].Pointer)
}

// The text of a rule says who is notified, with the callers' words in quotes.
func TestTheTextOfAnEscalation(t *testing.T) {
	t.Parallel()
	steps := []api.EscalationStep{{Notify: []string{"user:ann", "user:ben", "user:\" to nobody", "user:dan", "user:eve"}}, {AfterMs: 1, Notify: []string{"role:admin"}}}
	for want, e := range map[string]*api.Escalation{
		` People are notified in 1 step: "group:finance".`: ofFinance,
		` People are notified in 2 steps, first "user:ann", "user:ben", "user:\" to nobody" and 2 more. The request stays open after its deadline.`: {Steps: steps, AtDeadline: api.DeadlineKeep},
	} {
		h := newHouse(t)
		require.Equal(t, `Ask a person about every call of the tool bash, whatever its input, in session s, until the session ends.`+want, h.rule("r", anything, asksAnd(e)).Text)
	}
}
