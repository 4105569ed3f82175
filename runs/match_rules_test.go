package runs_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/internal/cpulimit"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// Many rules on many short inputs are as much work as a long input: the caller takes a processor's
// slot for it, and pays.
func TestMatchingManyRulesTakesASlot(t *testing.T) {
	t.Parallel()
	var standing []*rules.Rule
	for i := range 500 {
		standing = append(standing, &rules.Rule{
			RuleID: fmt.Sprint(i), SessionID: rules.AllSessions, ToolName: "bash", Effect: api.RuleAsk, Text: "t", CreatedAtMs: 1,
			Match: api.RuleMatch{Params: map[string]string{"command": fmt.Sprintf("*x*%d*", i)}},
		})
	}
	sets := runs.RuleSets{OfAll: rules.NewSet(standing, true), Versions: runs.RuleVersions{OfAll: 1}}
	raise := func(approvals int) runs.Command {
		suspend := &api.Suspension{}
		for i := range approvals {
			suspend.Approvals = append(suspend.Approvals, api.ApprovalRequest{
				ID: fmt.Sprint(i), ToolCallID: fmt.Sprint(i), ToolName: "bash", Input: api.JSON(`{"command":"ls ` + strings.Repeat("y", 10) + `"}`),
			})
		}
		command := &runs.CreateRun{SessionID: "s", Input: api.JSON(`1`), Suspend: suspend}
		require.NoError(t, runs.Prepare(command, runs.NewID))
		return command
	}
	slots := 0
	ctx := cpulimit.With(t.Context(), "agent:a", func(time.Duration) { slots++ })
	require.NoError(t, runs.MatchRules(ctx, raise(1), sets))
	require.Zero(t, slots, "little work does not wait")
	require.NoError(t, runs.MatchRules(ctx, raise(100), sets))
	require.Equal(t, 1, slots)
}
