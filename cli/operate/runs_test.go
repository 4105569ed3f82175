package operate

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
)

// A run stays "running" until another worker claims it.
func TestARunSaysThatItsWorkerIsLost(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(600_000)
	for _, test := range []struct {
		status         api.Status
		lease          *api.LeaseView
		standing, held string
		listed         string
	}{
		{api.StatusRunning, &api.LeaseView{WorkerID: "w", ExpiresAtMs: 660_000}, "running", "w, whose lease expires 1970-01-01T00:11:00Z (in 1m)", "running"},
		{
			api.StatusRunning, &api.LeaseView{WorkerID: "w", ExpiresAtMs: 300_000},
			"running (its worker has not been heard from since 1970-01-01T00:04:00Z (6m ago); another worker can claim the run)", "w, whose lease expired 1970-01-01T00:05:00Z (5m ago)",
			"running (without a worker)",
		},
		{
			api.StatusRunning, &api.LeaseView{WorkerID: "w", ExpiresAtMs: 180_000}, // decided after the worker was lost
			"running (its worker has not been heard from since 1970-01-01T00:03:00Z (7m ago); another worker can claim the run)", "w, whose lease expired 1970-01-01T00:03:00Z (7m ago)",
			"running (without a worker)",
		},
		{api.StatusRunning, nil, "running (waiting for a worker)", "", "running (waiting for a worker)"},
		{api.StatusWaitingForApproval, &api.LeaseView{WorkerID: "w", ExpiresAtMs: 300_000}, "waiting_for_approval", "w, whose lease expired 1970-01-01T00:05:00Z (5m ago)", "waiting_for_approval"},
		{api.StatusCompleted, nil, "completed", "", "completed"},
	} {
		run := &api.RunView{Status: test.status, UpdatedAtMs: 240_000, Lease: test.lease}
		fields := runRef{}.fields(run, now)
		require.Contains(t, fields, console.Field{"status", test.standing})
		if test.held != "" {
			require.Contains(t, fields, console.Field{"worker", test.held})
		}
		list := runFilter{}.table()
		require.Contains(t, list.row(run, now), test.listed)
		note := list.note(run, now)
		require.Equal(t, strings.Contains(test.listed, "without"), note != "")
		require.Contains(t, test.standing, note)
		require.Equal(t, test.lease != nil, slices.ContainsFunc(fields, func(field console.Field) bool { return field[0] == "worker" }))
	}
}
