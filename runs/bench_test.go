package runs_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
)

// BenchmarkDecide measures one decision for each step of a run's life: the full cost of the
// domain between reading and writing rows.
func BenchmarkDecide(b *testing.B) {
	const nowMs = 1_000_000
	text := api.JSON(`"go"`)
	approval := func(id string) api.ApprovalRequest {
		return api.ApprovalRequest{ID: id, ToolCallID: "call-" + id, ToolName: "bash", Input: api.JSON(`{"command":"rm -rf build"}`)}
	}
	many := make([]api.ApprovalRequest, 100)
	allowMany := make([]runs.ApprovalDecision, len(many))
	for i := range many {
		many[i] = approval(fmt.Sprintf("many-%d", i))
		allowMany[i] = runs.ApprovalDecision{RequestID: many[i].ID, Behavior: api.BehaviorAllow}
	}
	create := &runs.CreateRun{SessionID: "s", SessionGiven: true, RunID: "r", Input: text}
	claim := &runs.ClaimRun{RunID: "r", WorkerID: "w"}
	suspend := func(approvals ...api.ApprovalRequest) runs.Command {
		return &runs.Suspend{RunID: "r", Fence: 1, Suspension: api.Suspension{SuspensionID: "wait", Approvals: approvals}}
	}
	resolve := func(resolutions ...runs.ApprovalDecision) runs.Command {
		return &runs.ResolveApprovals{RunID: "r", Resolutions: resolutions}
	}
	allow := runs.ApprovalDecision{RequestID: "a", Behavior: api.BehaviorAllow}
	for _, bench := range []struct {
		name    string
		before  []runs.Command
		command runs.Command
	}{
		{"create", nil, create},
		{"claim", []runs.Command{create}, claim},
		{"suspend", []runs.Command{create, claim}, suspend(approval("a"))},
		{"suspend-100", []runs.Command{create, claim}, suspend(many...)},
		{"resolve", []runs.Command{create, claim, suspend(approval("a"))}, resolve(allow)},
		{"resolve-100", []runs.Command{create, claim, suspend(many...)}, resolve(allowMany...)},
		{"claim-resumed", []runs.Command{create, claim, suspend(approval("a")), resolve(allow)}, &runs.ClaimRun{RunID: "r", WorkerID: "w2"}},
		{"complete", []runs.Command{create, claim}, &runs.Complete{RunID: "r", Fence: 1, Output: text}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			state := runs.NewState("s")
			made := 0
			newID := func(prefix string) string { made++; return fmt.Sprintf("%s_%d", prefix, made) }
			for _, command := range bench.before {
				require.NoError(b, runs.Prepare(command, newID))
				change, _, err := runs.Decide(state, command, nowMs)
				require.NoError(b, err)
				state.Apply(change)
			}
			require.NoError(b, runs.Prepare(bench.command, newID))
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := runs.Decide(state, bench.command, nowMs); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkPrepareCreate measures preparing a created and suspended run before any lock.
func BenchmarkPrepareCreate(b *testing.B) {
	command := func() *runs.CreateRun {
		return &runs.CreateRun{
			AgentID: "bench", Input: api.JSON(`{"plan":"clean the build folder"}`), Key: "key", Claim: &api.ClaimOptions{WorkerID: "bench"},
			Suspend: &api.Suspension{Checkpoint: api.JSON(`{"step":3}`), Approvals: []api.ApprovalRequest{{
				ID: "approval-1", ToolCallID: "call-1", ToolName: "bash", Input: api.JSON(`{"command":"rm -rf build"}`), Reason: "shell command",
			}}},
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := runs.Prepare(command(), runs.NewID); err != nil {
			b.Fatal(err)
		}
	}
}
