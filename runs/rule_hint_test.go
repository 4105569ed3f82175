package runs_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
)

func hinting(level api.HintLevel, text string) func(*runs.AddRule) {
	return func(c *runs.AddRule) { c.Effect, c.Hint = api.RuleHint, &api.Hint{Level: level, Text: text} }
}

// The hints of rules stand before the agent's, and name their rule.
func TestARuleAddsAHint(t *testing.T) {
	t.Parallel()
	own := []api.Hint{{Level: api.HintInfo, Text: "mine"}}
	for name, c := range map[string]struct {
		rules func(h *house)
		own   []api.Hint
		want  []api.Hint
	}{
		"before the agent's": {
			rules: func(h *house) { h.rule("prod", anything, hinting(api.HintWarn, "slow")) }, own: own,
			want: []api.Hint{{Level: api.HintWarn, Text: "slow", RuleID: "prod"}, own[0]},
		},
		"of all sessions": {
			rules: func(h *house) { h.rule("prod", anything, hinting(api.HintWarn, "slow"), everywhere) },
			want:  []api.Hint{{Level: api.HintWarn, Text: "slow", RuleID: "prod"}},
		},
		"of an exact input": {
			rules: func(h *house) {
				h.rule("prod", exactly(string(approval("a").Input)), hinting(api.HintWarn, "slow"))
			},
			want: []api.Hint{{Level: api.HintWarn, Text: "slow", RuleID: "prod"}},
		},
		"the most serious first, each once": {
			rules: func(h *house) {
				h.rule("z", anything, hinting(api.HintInfo, "a"))
				h.nowMs++
				h.rule("y", anything, hinting(api.HintDanger, "b"))
				h.nowMs++
				h.rule("x", anything, hinting(api.HintInfo, "a"))
				h.rule("w", anything, hinting(api.HintWarn, "a"))
			},
			want: []api.Hint{{Level: api.HintDanger, Text: "b", RuleID: "y"}, {Level: api.HintWarn, Text: "a", RuleID: "w"}, {Level: api.HintInfo, Text: "a", RuleID: "z"}},
		},
		"not one of another agent, nor one that was revoked": {
			rules: func(h *house) {
				h.rule("other", anything, hinting(api.HintDanger, "a"), func(c *runs.AddRule) { c.AgentID = "other" })
				h.rule("gone", anything, hinting(api.HintDanger, "b"))
				h.must(&runs.RevokeRule{RuleID: "gone", SessionID: "s"})
			},
			own: own, want: own,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := knowing(t, nil)
			c.rules(h)
			a := approval("a")
			a.Hints = c.own
			h.wait("r", a)
			request := h.request("r", "a")
			require.True(t, request.Open(), "a hint decides nothing")
			require.Equal(t, c.want, request.Approval().Hints)
		})
	}
}

// However many rules have one, a person reads the most serious: a flood of notes hides no danger.
func TestHintsOfRulesAreBounded(t *testing.T) {
	t.Parallel()
	h := knowing(t, nil)
	for i := range 2 * api.MaxHints {
		h.rule("note-"+strconv.Itoa(i), anything, hinting(api.HintInfo, strconv.Itoa(i)))
	}
	h.rule("danger", anything, hinting(api.HintDanger, "production"))
	a := approval("a")
	for range api.MaxHints {
		a.Hints = append(a.Hints, api.Hint{Level: api.HintInfo, Text: "mine"})
	}
	h.wait("r", a)
	hints := h.request("r", "a").Approval().Hints
	require.Len(t, hints, 2*api.MaxHints)
	require.Equal(t, api.Hint{Level: api.HintDanger, Text: "production", RuleID: "danger"}, hints[0])
	require.Equal(t, a.Hints, hints[api.MaxHints:])
}

// Rules that say the same count once, so that they leave room for others.
func TestTheSameHintOfManyRulesIsOne(t *testing.T) {
	t.Parallel()
	h := knowing(t, nil)
	for i := range 2 * api.MaxHints {
		h.rule("same-"+strconv.Itoa(i), anything, hinting(api.HintDanger, "production"))
	}
	h.rule("other", anything, hinting(api.HintInfo, "slow"))
	h.wait("r", approval("a"))
	hints := h.request("r", "a").Approval().Hints
	require.Len(t, hints, 2)
	require.Equal(t, "slow", hints[1].Text)
}

// A hint changes nothing about who is asked: an allow allows, a deny denies, and both calls keep the remark.
func TestAHintDecidesNothing(t *testing.T) {
	t.Parallel()
	for outcome, effect := range map[api.Outcome]func(*runs.AddRule){api.OutcomeAllowed: func(*runs.AddRule) {}, api.OutcomeDenied: denying("no")} {
		h := knowing(t, nil)
		h.rule("prod", anything, hinting(api.HintDanger, "production"))
		h.rule("decides", anything, effect)
		h.wait("r", approval("a"))
		request := h.request("r", "a")
		require.Equal(t, outcome, request.Outcome)
		require.Equal(t, "decides", request.RuleID)
		require.Equal(t, "prod", request.Approval().Hints[0].RuleID)
	}
}

func TestHintsOfRulesAreChecked(t *testing.T) {
	t.Parallel()
	good := &api.Hint{Level: api.HintWarn, Text: "slow"}
	for pointer, c := range map[string]runs.AddRule{
		"/hint":         {Effect: api.RuleHint},
		"/hint/level":   {Effect: api.RuleHint, Hint: &api.Hint{Level: "loud", Text: "x"}},
		"/hint/text":    {Effect: api.RuleHint, Hint: &api.Hint{Level: api.HintWarn, Text: strings.Repeat("x", api.MaxHintLength+1)}},
		"/hint/rule_id": {Effect: api.RuleHint, Hint: &api.Hint{Level: api.HintWarn, Text: "x", RuleID: "other"}},
		"/max_uses":     {Effect: api.RuleHint, Hint: good, MaxUses: 1},
		"/escalation":   {Effect: api.RuleHint, Hint: good, Escalation: ofFinance},
	} {
		c.SessionID, c.ToolName, c.Match = "s", "bash", anything
		require.Equal(t, []string{pointer}, pointersOf(newHouse(t).refused(api.CodeInvalidRequest, &c)))
	}
	for _, effect := range []api.RuleEffect{"", api.RuleAllow, api.RuleAsk, api.RuleDeny} {
		refused := newHouse(t).refused(api.CodeInvalidRequest, &runs.AddRule{SessionID: "s", ToolName: "bash", Match: anything, Effect: effect, Hint: good})
		require.Equal(t, []string{"/hint"}, pointersOf(refused))
	}

	// An agent cannot pass its remark off as a rule's.
	a := approval("a")
	a.Hints = []api.Hint{{Level: api.HintInfo, Text: "approved by security", RuleID: "prod"}}
	h := newHouse(t).start("r")
	require.Equal(t, []string{"/approvals/0/hints/0/rule_id"}, pointersOf(h.refused(api.CodeInvalidRequest, suspend("r", 1, a))))
}
