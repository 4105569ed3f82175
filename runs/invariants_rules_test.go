package runs_test

import (
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// checkRules: only a command that asks for a rule writes one. Only a rule's uses and revocation
// change. A request that a rule settles names the rule and has its outcome.
func (h *house) checkRules(command runs.Command, before, after *runs.State, change runs.Change, err error) {
	h.t.Helper()
	written := 0
	if err == nil {
		written = rulesOf(command)
	}
	require.LessOrEqual(h.t, len(change.NewRules), written, "%T wrote a rule that nobody asked for", command)
	for _, rule := range change.NewRules {
		require.NotContains(h.t, before.Rules, rule.RuleID)
		require.NotEmpty(h.t, rule.Text)
		require.Equal(h.t, h.nowMs, rule.CreatedAtMs)
		require.True(h.t, rule.ExpiresAtMs == 0 || rule.ExpiresAtMs > h.nowMs)
	}
	for _, is := range change.UpdatedRules {
		was := before.Rules[is.RuleID]
		require.NotNil(h.t, was)
		require.Zero(h.t, was.RevokedAtMs, "a revoked rule has changed")
		changed := *is
		changed.Uses, changed.RevokedAtMs, changed.RevokedBy = was.Uses, was.RevokedAtMs, was.RevokedBy
		requireSame(h.t, *was, changed, "a rule has changed")
		require.True(h.t, is.Uses >= was.Uses && is.Uses <= is.MaxUses || is.Uses == 0, "uses of %s", is.RuleID)
	}
	for key, request := range after.Requests {
		was := before.Requests[key]
		if request.RuleID == "" || was != nil && !was.Open() {
			continue
		}
		require.Nil(h.t, was, "a rule settled what was open before")
		rule, recorded := before.Rules[request.RuleID], request.Recorded()
		require.NotNil(h.t, rule)
		require.Zero(h.t, rule.RevokedAtMs)
		require.True(h.t, rule.ExpiresAtMs == 0 || rule.ExpiresAtMs > h.nowMs)
		require.Contains(h.t, []string{after.SessionID, rules.AllSessions}, rule.SessionID)
		require.Equal(h.t, api.ViaRule+rule.RuleID, recorded.Via)
		require.Equal(h.t, rule.CreatedBy, recorded.ResolvedBy)
		require.Equal(h.t, &api.AppliedRule{RuleID: rule.RuleID, Text: rule.Text}, recorded.Rule)
		require.Equal(h.t, map[api.RuleEffect]api.Outcome{
			api.RuleAllow: api.OutcomeAllowed, api.RuleDeny: api.OutcomeDenied,
		}[rule.Effect], request.Outcome)
	}
}

// rulesOf returns how many rules a command asks for.
func rulesOf(command runs.Command) int {
	var resolutions []runs.ApprovalDecision
	switch command := runs.Unwrap(command).(type) {
	case *runs.AddRule:
		return 1
	case *runs.ResolveApprovals:
		resolutions = command.Resolutions
	case *runs.DecideRequests:
		resolutions = command.Approvals
	}
	count := 0
	for _, resolution := range resolutions {
		if resolution.Remember != "" {
			count++
		}
	}
	return count
}
