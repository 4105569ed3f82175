package runs_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/rules"
)

func TestAddRule(t *testing.T) {
	h := parallelHouse(t)
	command := &runs.AddRule{ToolName: "bash", Match: param("command", "ls"), Actor: runs.Actor{Name: "ann"}}
	reply := h.must(command)
	require.False(t, reply.Existing)
	require.False(t, command.Needs().ChangesRules)
	require.Empty(t, command.Needs().RuleID, "nobody has the id that was just made")
	rule := reply.Rule.Rule
	require.Equal(t, rules.AllSessions, rule.SessionID)
	require.Equal(t, api.RuleAllow, rule.Effect)
	require.Equal(t, int64(startMs+api.DefaultRuleAgeMs), rule.ExpiresAtMs)
	require.Equal(t, "ann", rule.CreatedBy)
	require.Empty(t, reply.Rule.View().SessionID, "on the wire a rule without a session holds everywhere")

	for effect, changes := range map[api.RuleEffect]bool{api.RuleAllow: false, api.RuleAsk: true, api.RuleDeny: true, api.RuleHint: true} {
		other := &runs.AddRule{RuleID: string(effect), Effect: effect, Match: keys("k")}
		if effect == api.RuleHint {
			other.Hint = &api.Hint{Level: api.HintInfo, Text: "x"}
		}
		h.must(other)
		require.Equal(t, changes, other.Needs().ChangesRules, effect)
		require.Equal(t, string(effect), other.Needs().RuleID)
	}
	require.Nil(t, h.states["s"], "a rule makes no session")
	h.rule("early", keys("k"))
	require.Nil(t, h.states["s"])
}

// A chosen id is unique, and repeating the same call is accepted.
func TestAddRuleAgain(t *testing.T) {
	h := parallelHouse(t)
	body := func() *runs.AddRule {
		return &runs.AddRule{RuleID: "mine", SessionID: "s", ToolName: "bash", Match: keys("k"), Reason: "why", MaxUses: 2, ExpiresAtMs: ms(startMs + 100)}
	}
	first := h.must(body()).Rule
	h.nowMs += 200
	same := body()
	same.Effect, same.Actor = api.RuleAllow, runs.Actor{Name: "somebody else"}
	reply := h.must(same)
	require.True(t, reply.Existing, "even if it has expired")
	require.Equal(t, first, reply.Rule)
	for name, change := range map[string]func(*runs.AddRule){
		"session": func(c *runs.AddRule) { c.SessionID = "t" }, "agent": func(c *runs.AddRule) { c.AgentID = "x" },
		"tool": func(c *runs.AddRule) { c.ToolName = "x" }, "effect": func(c *runs.AddRule) { c.Effect = api.RuleDeny },
		"match": func(c *runs.AddRule) { c.Match = keys("j") }, "reason": func(c *runs.AddRule) { c.Reason = "" },
		"uses": func(c *runs.AddRule) { c.MaxUses = 1 }, "expiry": func(c *runs.AddRule) { c.ExpiresAtMs = nil },
	} {
		other := body()
		change(other)
		h.refused(api.CodeIDConflict, other)
		require.Len(t, h.rules, 1, name)
	}
	h.must(&runs.RevokeRule{RuleID: "mine", SessionID: "s"})
	require.NotZero(t, h.must(body()).Rule.Rule.RevokedAtMs, "it is not brought back")

	// No AddRule payload equals a rule that was written with a decision.
	h.wait("r", approval("a"))
	h.must(remembering(allow("r", "a"), api.RememberAlways))
	h.refused(api.CodeIDConflict, &runs.AddRule{RuleID: h.request("r", "a").Recorded().Rule.RuleID, ToolName: "bash", Match: exactly(`{"command":"ls"}`)})
}

func TestAddRuleToAnEndedSession(t *testing.T) {
	h := parallelHouse(t).create("r")
	h.rule("before", keys("k"))
	h.must(&runs.EndSession{SessionID: "s"})
	h.refused(api.CodeSessionEnded, &runs.AddRule{SessionID: "s", Match: keys("k")})
	again := &runs.AddRule{RuleID: "before", SessionID: "s", ToolName: "bash", Match: keys("k")}
	require.True(t, h.must(again).Existing)
}

func TestRevokeRule(t *testing.T) {
	h := parallelHouse(t)
	h.rule("mine", param("command", "ls"))
	h.rule("all", param("command", "ps"), everywhere)
	h.start("r")
	h.nowMs++
	command := &runs.RevokeRule{RuleID: "mine", SessionID: "s", Actor: runs.Actor{Name: "ben"}}
	require.True(t, command.Needs().ChangesRules)
	revoked := h.must(command).Rule.Rule
	require.Equal(t, h.nowMs, revoked.RevokedAtMs)
	require.Equal(t, "ben", revoked.RevokedBy)
	h.nowMs++
	again := h.must(&runs.RevokeRule{RuleID: "mine", SessionID: "s", Actor: runs.Actor{Name: "eve"}})
	require.True(t, again.Existing)
	require.Equal(t, revoked, again.Rule.Rule)
	require.Equal(t, api.StatusWaitingForApproval, h.must(suspend("r", 1, approval("a"))).Run.Run.Status)

	h.refused(api.CodeRuleNotFound, &runs.RevokeRule{RuleID: "nothing"})
	h.refused(api.CodeRuleNotFound, &runs.RevokeRule{RuleID: ".."})
	h.refused(api.CodeRuleNotFound, &runs.RevokeRule{RuleID: "all", SessionID: "s"})
	h.refused(api.CodeInvalidRequest, &runs.RevokeRule{RuleID: "all", SessionID: "a/b"})
	h.must(&runs.RevokeRule{RuleID: "all"})
	require.Equal(t, api.DefaultActorID, h.rules["all"].RevokedBy)
}

// Settled requests stay settled when their rule is revoked.
func TestRevokedAfterTheFact(t *testing.T) {
	h := parallelHouse(t)
	h.rule("mine", param("command", "ls"))
	h.start("r")
	h.must(suspend("r", 1, approval("a")))
	h.must(&runs.RevokeRule{RuleID: "mine", SessionID: "s"})
	require.Equal(t, api.OutcomeAllowed, h.request("r", "a").Outcome)
	h.must(&runs.Complete{RunID: "r", Fence: 1})
}

func TestEndSessionRevokesItsRules(t *testing.T) {
	h := parallelHouse(t).create("r")
	h.rule("b", param("command", "ls"))
	h.rule("a", exactly(`1`), denying(""))
	h.rule("all", param("command", "ls"), everywhere)
	h.rule("other", param("command", "ls"), func(c *runs.AddRule) { c.SessionID = "t" })
	h.rule("gone", param("command", "ls"))
	h.must(&runs.RevokeRule{RuleID: "gone", SessionID: "s", Actor: runs.Actor{Name: "ben"}})
	h.nowMs++
	_, change := h.decided(&runs.EndSession{SessionID: "s", Actor: runs.Actor{Name: "ann"}})
	var revoked []string
	for _, rule := range change.UpdatedRules {
		revoked = append(revoked, rule.RuleID+" by "+rule.RevokedBy)
	}
	require.Equal(t, []string{"a by ann", "b by ann"}, revoked)
	require.Zero(t, h.rules["all"].RevokedAtMs)
}

func TestRuleFaults(t *testing.T) {
	t.Parallel()
	long := func(n int) string { return strings.Repeat("x", n) }
	many := map[string]string{}
	for i := range api.MaxRuleParams + 1 {
		many[fmt.Sprint("p", i)] = "x"
	}
	whatever := api.RuleMatch{AnyInput: true}
	digest := digestOf(`1`)
	for _, test := range []struct {
		name     string
		rule     runs.AddRule
		pointers []string
	}{
		{"nothing to match", runs.AddRule{ToolName: "bash"}, []string{"/match"}},
		{"empty lists", runs.AddRule{ToolName: "bash", Match: api.RuleMatch{PatternKeys: []string{}, Params: map[string]string{}}}, []string{"/match"}},
		{"without a tool", runs.AddRule{Match: api.RuleMatch{InputDigest: digest, Params: map[string]string{"a": "b"}}}, []string{"/match/input_digest", "/match/params"}},
		{"anything of anything", runs.AddRule{Match: whatever}, []string{"/match/any_input"}},
		{"any input that is not", runs.AddRule{ToolName: "bash", Match: api.RuleMatch{AnyInput: true, PatternKeys: []string{"k"}}}, []string{"/match/any_input"}},
		{"a call everywhere", runs.AddRule{Match: api.RuleMatch{ToolCallID: "c"}}, []string{"/match/tool_call_id"}},
		{"a long call", runs.AddRule{SessionID: "s", Match: api.RuleMatch{ToolCallID: long(257)}}, []string{"/match/tool_call_id"}},
		{"a digest of capitals", runs.AddRule{ToolName: "bash", Match: api.RuleMatch{InputDigest: "sha256:" + strings.Repeat("A", 64)}}, []string{"/match/input_digest"}},
		{"a short digest", runs.AddRule{ToolName: "bash", Match: api.RuleMatch{InputDigest: digest[:70]}}, []string{"/match/input_digest"}},
		{"a digest of other digits", runs.AddRule{ToolName: "bash", Match: api.RuleMatch{InputDigest: digest[:70] + "g"}}, []string{"/match/input_digest"}},
		{"too many keys", runs.AddRule{Match: keys(make([]string, 65)...)}, []string{"/match/pattern_keys"}},
		{"bad keys", runs.AddRule{Match: keys("", long(1025), "ok", "\x00")}, []string{"/match/pattern_keys/0", "/match/pattern_keys/1", "/match/pattern_keys/3"}},
		{"too many params", runs.AddRule{ToolName: "bash", Match: api.RuleMatch{Params: many}}, []string{"/match/params"}},
		{
			"bad params",
			runs.AddRule{ToolName: "bash", Match: api.RuleMatch{Params: map[string]string{"": "x", "a/b~": long(4097), "c": "\x1b", "d": "["}}},
			[]string{"/match/params", "/match/params/a~1b~0", "/match/params/c"},
		},
		{
			"bad names",
			runs.AddRule{RuleID: "..", SessionID: "a b", AgentID: "a/b", ToolName: long(201), Reason: long(api.MaxTextLength + 1), Match: whatever},
			[]string{"/rule_id", "/session_id", "/agent_id", "/tool_name", "/reason"},
		},
		{"another effect", runs.AddRule{ToolName: "bash", Effect: "maybe", Match: whatever}, []string{"/effect"}},
		{"uses everywhere", runs.AddRule{ToolName: "bash", Match: whatever, MaxUses: 1}, []string{"/max_uses"}},
		{"uses below nought", runs.AddRule{SessionID: "s", ToolName: "bash", Match: whatever, MaxUses: -1}, []string{"/max_uses"}},
		{"uses past the bound", runs.AddRule{SessionID: "s", ToolName: "bash", Match: whatever, MaxUses: api.MaxRuleUses + 1}, []string{"/max_uses"}},
		{"uses of what decides nothing", runs.AddRule{SessionID: "s", ToolName: "bash", Effect: api.RuleAsk, Match: whatever, MaxUses: 1}, []string{"/max_uses"}},
		{"both ends", runs.AddRule{ToolName: "bash", Match: whatever, ExpiresAtMs: ms(startMs + 1), ExpiresAfterMs: ms(1)}, []string{"/expires_after_ms"}},
		{"an end below nought", runs.AddRule{ToolName: "bash", Match: whatever, ExpiresAtMs: ms(0)}, []string{"/expires_at_ms"}},
		{"an end that is past", runs.AddRule{ToolName: "bash", Match: whatever, ExpiresAtMs: ms(startMs)}, []string{"/expires_at_ms"}},
		{"less than no time", runs.AddRule{ToolName: "bash", Match: whatever, ExpiresAfterMs: ms(-1)}, []string{"/expires_after_ms"}},
		{"past all bounds", runs.AddRule{ToolName: "bash", Match: whatever, ExpiresAfterMs: ms(api.MaxExpiresAfterMs + 1)}, []string{"/expires_after_ms"}},
		{"an end past all bounds", runs.AddRule{ToolName: "bash", Match: whatever, ExpiresAtMs: ms(startMs + api.MaxExpiresAfterMs + 1)}, []string{"/expires_at_ms"}},
		{"past the cap", runs.AddRule{ToolName: "bash", Match: whatever, ExpiresAfterMs: ms(1_001), MaxAgeMs: 1_000}, []string{"/expires_after_ms"}},
		{"forever past the cap", runs.AddRule{ToolName: "bash", Match: whatever, ExpiresAfterMs: ms(0), MaxAgeMs: 1_000}, []string{"/expires_after_ms"}},
		{"an end past the cap", runs.AddRule{ToolName: "bash", Match: whatever, ExpiresAtMs: ms(startMs + 1_001), MaxAgeMs: 1_000}, []string{"/expires_at_ms"}},
	} {
		inHouse(t, test.name, func(t *testing.T, h *house) {
			require.Equal(t, test.pointers, pointersOf(h.refused(api.CodeInvalidRequest, &test.rule)))
			require.Empty(t, h.rules)
		})
	}
	for name, rule := range map[string]*runs.AddRule{
		"to the cap":      {ToolName: "bash", Match: whatever, ExpiresAfterMs: ms(1_000), MaxAgeMs: 1_000},
		"an end there":    {ToolName: "bash", Match: whatever, ExpiresAtMs: ms(startMs + 1_000), MaxAgeMs: 1_000},
		"nothing said":    {ToolName: "bash", Match: whatever, MaxAgeMs: 1_000},
		"all there is":    {SessionID: "s", Match: api.RuleMatch{ToolCallID: long(256)}, MaxUses: api.MaxRuleUses, ExpiresAfterMs: ms(1_000)},
		"the star itself": {SessionID: rules.AllSessions, ToolName: "bash", Match: param("a", strings.Repeat("**?", 1365)), ExpiresAfterMs: ms(1_000)},
	} {
		h := newHouse(t)
		require.Equal(t, int64(startMs+1_000), h.must(rule).Rule.Rule.ExpiresAtMs, name)
	}
}
