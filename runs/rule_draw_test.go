package runs_test

import (
	"maps"
	"slices"

	"pgregory.net/rapid"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/document"
)

// drawRule draws a rule about the calls that drawSuspension raises.
func drawRule(t *rapid.T, _ *house) runs.Command {
	command := &runs.AddRule{
		RuleID:    rapid.SampledFrom([]string{"", "", "r1", "r2"}).Draw(t, "rule"),
		SessionID: rapid.SampledFrom([]string{"", "*", "s", "s", "t"}).Draw(t, "session"),
		ToolName:  rapid.SampledFrom([]string{"bash", "bash", "other"}).Draw(t, "tool"),
		Effect:    rapid.SampledFrom([]api.RuleEffect{"", "allow", "allow", "allow", "ask", "deny", "hint"}).Draw(t, "effect"),
		Match:     drawMatch(t),
		MaxUses:   rapid.SampledFrom([]int64{0, 0, 1, 2}).Draw(t, "uses"),
	}
	if command.Effect == api.RuleHint {
		command.Hint, command.MaxUses = &api.Hint{Level: api.HintDanger, Text: "x"}, 0
	}
	if rapid.IntRange(0, 3).Draw(t, "expires") == 0 {
		command.ExpiresAfterMs = ms(rapid.SampledFrom([]int64{0, 1, 600, 40_000}).Draw(t, "after"))
	}
	return command
}

func drawMatch(t *rapid.T) api.RuleMatch {
	switch rapid.IntRange(0, 5).Draw(t, "match") {
	case 0:
		return api.RuleMatch{AnyInput: true}
	case 1:
		return api.RuleMatch{InputDigest: digestOf(`{"command":"ls"}`)}
	case 2:
		return api.RuleMatch{Params: map[string]string{"command": rapid.SampledFrom([]string{"l*", "rm"}).Draw(t, "glob")}}
	case 3:
		return api.RuleMatch{ToolCallID: "call-" + rapid.SampledFrom(propertyRequests).Draw(t, "call")}
	default:
		return api.RuleMatch{PatternKeys: rapid.SampledFrom([][]string{{"k1"}, {"k2"}, {"k1", "k2"}}).Draw(t, "keys")}
	}
}

func drawRevoke(t *rapid.T, h *house) runs.Command {
	ruleID := rapid.SampledFrom(append(slices.Sorted(maps.Keys(h.rules)), "nothing")).Draw(t, "rule")
	command := &runs.RevokeRule{RuleID: ruleID, SessionID: rapid.SampledFrom([]string{"", "s"}).Draw(t, "session")}
	if rule := h.rules[ruleID]; rule != nil {
		command.SessionID = rule.SessionID
	}
	return command
}

// digestOf returns the digest of an input.
func digestOf(input string) string {
	digest, err := document.Digest(api.JSON(input))
	if err != nil {
		panic(err)
	}
	return digest
}
