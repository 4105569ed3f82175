package loop

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
)

// A machine that sleeps stops the agents on it together with the service: they get time to come back.
func TestASleepingMachineAbandonsNothing(t *testing.T) {
	for _, silent := range []string{"the machine", "the worker alone"} {
		t.Run(silent, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMemory()
				effects := NewEffects(m, EffectsOptions{})
				began, asleep := time.Now(), time.Duration(0)
				effects.serving.clock = func() (time.Time, time.Duration) { return time.Now().Round(0), time.Since(began) - asleep }
				m.must(t, &runs.CreateSession{SessionID: "s"})
				created := m.must(t, &runs.CreateRun{
					SessionID: "s", SessionGiven: true, RunID: "r", Input: api.JSON(`1`), Claim: &api.ClaimOptions{WorkerID: "worker"},
					Suspend: &api.Suspension{Hold: true, CancelWhenAbandoned: true, Approvals: []api.ApprovalRequest{{
						ID: "a", ToolCallID: "a", ToolName: "bash", Input: api.JSON(`1`),
					}}},
				})
				look := func() api.Status {
					pass(t, effects.RunOnce)
					return m.run("s", "r").Status
				}
				const lease = api.DefaultLeaseMs * time.Millisecond
				for range 10 {
					time.Sleep(lease / 2)
					m.must(t, &runs.Heartbeat{RunID: "r", Fence: created.Run.Run.Fence})
					require.Equal(t, api.StatusWaitingForApproval, look())
				}
				time.Sleep(time.Hour)
				if silent == "the worker alone" {
					require.Equal(t, api.StatusCancelled, look())
					return
				}
				asleep = time.Hour
				require.Equal(t, api.StatusWaitingForApproval, look())
				time.Sleep(lease / 2)
				require.Equal(t, api.StatusWaitingForApproval, look())
				time.Sleep(lease)
				require.Equal(t, api.StatusCancelled, look(), "it has not come back")
			})
		})
	}
}
