package runs_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// drawCall draws an approval that drawRule's rules may match.
func drawCall(t *rapid.T, id string) api.ApprovalRequest {
	request := running(id, rapid.SampledFrom([]string{"ls", "rm", "a/b"}).Draw(t, "command"))
	request.ToolName = rapid.SampledFrom([]string{"bash", "bash", "other"}).Draw(t, "tool")
	request.ToolCallID = "call-" + rapid.SampledFrom([]string{"a", "b"}).Draw(t, "call")
	request.PatternKeys = rapid.SampledFrom([][]string{nil, {"k1"}, {"k2"}, {"k1", "k2"}, {"k1", "k2", "k3"}}).Draw(t, "keys")
	return request
}

// drawRules adds rules to the house, some of them no longer in force.
func drawRules(t *rapid.T, h *house) {
	for i := range rapid.IntRange(0, 6).Draw(t, "rules") {
		command := drawRule(t, h).(*runs.AddRule)
		command.RuleID = fmt.Sprint("rule-", i)
		_, err := h.do(command)
		if err != nil {
			requireCode(t, api.CodeInvalidRequest, err)
			continue
		}
		if rapid.IntRange(0, 5).Draw(t, "revoke") == 0 {
			h.must(&runs.RevokeRule{RuleID: command.RuleID, SessionID: command.SessionID})
		}
		h.nowMs += rapid.Int64Range(0, 2).Draw(t, "ms")
	}
}

// all returns every rule of the house, in no order.
func (h *house) all() []rules.Rule {
	var rules []rules.Rule
	for _, rule := range h.rules {
		rules = append(rules, *rule)
	}
	return rules
}

func callOf(request api.ApprovalRequest, sessionID string) rules.Call {
	return rules.Call{
		SessionID: sessionID, AgentID: model.DefaultAgentID, ToolName: request.ToolName, ToolCallID: request.ToolCallID,
		PatternKeys: request.PatternKeys, Input: request.Input,
	}
}

// raise raises approvals in a new run of the session and returns the effect on the first, RuleAsk
// when it is open.
func (h *house) raise(requests ...api.ApprovalRequest) api.RuleEffect {
	h.t.Helper()
	h.create("r")
	suspension := api.Suspension{Approvals: requests}
	h.must(&runs.Suspend{RunID: "r", Fence: h.claim("r"), Suspension: suspension})
	return map[api.Outcome]api.RuleEffect{
		"": api.RuleAsk, api.OutcomeAllowed: api.RuleAllow, api.OutcomeDenied: api.RuleDeny,
	}[h.request("r", requests[0].ID).Outcome]
}

// A raised approval is settled as the explanation says, for the same reason.
func TestExplainedIsRaised(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := newHouse(t)
		drawRules(t, h)
		request := drawCall(t, "a")
		explained := rules.Explain(h.all(), callOf(request, "s"), h.nowMs)
		require.Equal(t, explained.Decision, h.raise(request))

		strongest := api.RuleEffect("")
		for _, rule := range explained.Rules {
			require.Equal(t, rule.Applies, rule.WhyNot == "")
			if rule.Applies && rule.Effect != api.RuleHint && (strongest == "" || rule.Effect == api.RuleDeny || strongest == api.RuleAllow) {
				strongest = rule.Effect
			}
		}
		if strongest == "" {
			strongest = api.RuleAsk
		}
		require.Equal(t, strongest, explained.Decision, "of what applies, deny goes before ask and ask before allow")
		if ruleID := h.request("r", "a").RuleID; ruleID != "" {
			for _, rule := range explained.Rules {
				require.False(t, rule.RuleID == ruleID && !rule.Applies, "it was settled by a rule that does not apply")
			}
		}
	})
}

// The order in which rules were written only determines which one is named.
func TestOrderOfRulesDoesNotMatter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := newHouse(t)
		drawRules(t, h)
		call := callOf(drawCall(t, "a"), "s")
		standing := h.all()
		decision := rules.Explain(standing, call, h.nowMs).Decision
		for i := range standing {
			standing[i].CreatedAtMs = rapid.Int64Range(0, 3).Draw(t, "created")
			standing[i].RuleID = fmt.Sprint(rapid.IntRange(0, 9).Draw(t, "id"), "-", i)
		}
		require.Equal(t, decision, rules.Explain(standing, call, h.nowMs).Decision)
	})
}

// A deny rule wins over every allow, and adding a rule never allows a denied call.
func TestDenyBeatsAll(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := newHouse(t)
		drawRules(t, h)
		request := drawCall(t, "a")
		match := api.RuleMatch{AnyInput: true}
		if rapid.Bool().Draw(t, "by call") {
			match = api.RuleMatch{ToolCallID: request.ToolCallID}
		}
		h.rule("no", match, denying("no"), func(c *runs.AddRule) { c.ToolName = request.ToolName })
		require.Equal(t, api.RuleDeny, h.raise(request))
	})
}

// An allow or a deny without remember decides one call: the same call is asked again. With
// remember it also decides later identical calls, but no different one, whatever its pattern keys.
func TestOnceNeverLeaks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := newHouse(t)
		first := drawCall(t, "a")
		h.raise(first)
		command := decisions("r", rapid.SampledFrom([]api.Behavior{"allow", "deny"}).Draw(t, "behavior"), []string{"a"})
		command.Resolutions[0].Remember = rapid.SampledFrom([]api.Remember{"", "session", "always"}).Draw(t, "remember")
		h.must(command)
		require.Len(t, h.rules, rulesOf(command))

		second := drawCall(t, "b")
		h.must(&runs.Suspend{RunID: "r", Fence: h.claim("r"), Suspension: api.Suspension{Approvals: []api.ApprovalRequest{second}}})
		settled := h.request("r", "b").Outcome
		switch {
		case command.Resolutions[0].Remember == "":
			require.Empty(t, settled, "a decision that nobody remembers settled another call")
		case second.ToolName != first.ToolName || string(first.Input) != string(second.Input):
			require.Empty(t, settled, "a remembered decision settled another call")
		default:
			require.Equal(t, h.request("r", "a").Outcome, settled)
		}
	})
}
