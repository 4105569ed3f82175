package storetest

import (
	"strconv"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
)

var ruleBoundTests = map[string]func(*harness){
	"rule bounds/of one session": func(h *harness) {
		add := func(n int) error {
			_, err := h.store.Do(h.ctx, &runs.AddRule{
				SessionID: "s", RuleID: numbered("l", n), Match: api.RuleMatch{PatternKeys: []string{strconv.Itoa(n)}}, ExpiresAfterMs: new(int64(api.DefaultRuleAgeMs)),
			})
			return err
		}
		each(h, api.MaxRulesOfSession, add)
		requireCode(h, api.CodeTooManyRules, add(api.MaxRulesOfSession))
		require.NoError(h, add(7), "one that is there is no new one")

		// A decision that would remember one more decides nothing.
		h.wait("s", "r", api.Suspension{Approvals: []api.ApprovalRequest{approval("a")}})
		remember := &runs.ResolveApprovals{RunID: "r", Resolutions: []runs.ApprovalDecision{{
			RequestID: "a", Behavior: api.BehaviorAllow, Remember: api.RememberSession, RememberMatch: &api.RuleMatch{PatternKeys: []string{"new"}},
		}}}
		h.refuse(api.CodeTooManyRules, remember)
		require.Equal(h, api.StatusWaitingForApproval, h.run("r").Run.Status)

		h.addRule("s", "exact", digestOf(h, `1`))
		h.addRule("", "of-all", anyInput)
		h.addRule("s-2", "of-another", anyInput)
		h.do(&runs.RevokeRule{SessionID: "s", RuleID: numbered("l", 3)})
		h.do(remember)
		require.Error(h, add(api.MaxRulesOfSession))
		h.clock.Advance(2 * api.DefaultRuleAgeMs)
		require.NoError(h, add(api.MaxRulesOfSession), "the others have expired")
	},
	"rule bounds/of bytes": func(h *harness) {
		params := map[string]string{}
		for n := range api.MaxRuleParams {
			params[numbered("p", n)] = strings.Repeat("x", api.MaxGlobLength)
		}
		var err error
		added := 0
		for ; err == nil && added < 100; added++ {
			_, err = h.store.Do(h.ctx, &runs.AddRule{SessionID: "s", ToolName: "bash", Match: api.RuleMatch{Params: params}})
		}
		requireCode(h, api.CodeTooManyRules, err)
		require.Equal(h, api.MaxRuleBytesOfSession/(api.MaxRuleParams*api.MaxGlobLength), added)
	},
	"rule bounds/of bytes of escalations": func(h *harness) {
		notify := make([]string, 15)
		for n := range notify {
			notify[n] = "group:" + strings.Repeat("g", 240)
		}
		e := &api.Escalation{Steps: []api.EscalationStep{{Notify: notify}}}
		var err error
		added := 0
		for ; err == nil && added < 1100; added++ {
			_, err = h.store.Do(h.ctx, &runs.AddRule{SessionID: "s", ToolName: "bash", Match: anyInput, Effect: api.RuleAsk, Escalation: e, Reason: strings.Repeat("r", 12_000)})
		}
		requireCode(h, api.CodeTooManyRules, err)
		require.InDelta(h, api.MaxRuleBytesOfSession/16_600, added, 12, "each has 12,000 bytes of a reason, about 3,700 of an escalation, and its text")
	},
}
