package gallery

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/test/rig"
)

// crashes are scenarios around a kill -9 of the service. Each receives the service to be killed and
// returns the check for the one started afterwards on the same database.
var crashes = []struct {
	name  string
	crash func(*testing.T, *process) (afterwards func(*testing.T, *process))
}{
	{"before the decision", crashBeforeDecision},
	{"between decision and claim", crashBeforeClaim},
	{"while a worker holds the lease", crashUnderLease},
	{"while a worker stays attached", crashWhileAttached},
	{"while decisions are on their way", crashDuringDecisions},
}

// The bug: the decision was consumed, the process died before the run continued, and the decision
// was lost. This test kills the service at each of these steps, and the run resumes with its
// decision.
func TestGallery04KilledBetweenDecisionAndRun(t *testing.T) {
	t.Parallel()
	for _, engine := range rig.Engines {
		t.Run(engine.Name, func(t *testing.T) {
			t.Parallel()
			for _, step := range crashes {
				t.Run(step.name, func(t *testing.T) {
					t.Parallel()
					url := engine.Database(t)
					dying := serve(t, url)
					afterwards := step.crash(t, dying)
					dying.Kill()
					rig.RequireHealthy(t, url)
					restarted := serve(t, url)
					afterwards(t, restarted)
					restarted.Kill()
					rig.RequireHealthy(t, url)
				})
			}
		})
	}
}

func crashBeforeDecision(t *testing.T, p *process) func(*testing.T, *process) {
	waitingRun(t, p.client, "run", rig.Approvals("deploy"))
	return func(t *testing.T, p *process) {
		page, err := p.client.ListApprovals(rig.Soon(t), client.PendingListParams{})
		require.NoError(t, err)
		require.Len(t, page.Items, 1, "the open prompt is gone")
		_, err = p.client.ResolveRunApprovals(rig.Soon(t), "run", decide("deploy", api.BehaviorAllow))
		require.NoError(t, err)
		requireHandedOver(t, p, "1")
	}
}

func crashBeforeClaim(t *testing.T, p *process) func(*testing.T, *process) {
	waitingRun(t, p.client, "run", rig.Approvals("deploy"))
	_, err := p.client.ResolveRunApprovals(rig.Soon(t), "run", decide("deploy", api.BehaviorAllow))
	require.NoError(t, err)
	return func(t *testing.T, p *process) { requireHandedOver(t, p, "1") }
}

// requireHandedOver claims the run and checks that it was allowed, and handed over for the first
// time with this fence.
func requireHandedOver(t *testing.T, p *process, fence string) {
	t.Helper()
	taken := mustClaim(t, p.client, "run")
	require.NotNil(t, taken.Resume)
	require.Len(t, taken.Resume.Approvals, 1)
	require.Equal(t, api.OutcomeAllowed, taken.Resume.Approvals[0].Resolution.Outcome)
	require.Equal(t, fence, taken.Lease.Fence)
	complete(t, p.client, taken)
	require.Equal(t, api.OutcomeAllowed, onlyResolution(t, p.client, "run", "deploy").Outcome)
}

func crashUnderLease(t *testing.T, p *process) func(*testing.T, *process) {
	waitingRun(t, p.client, "run", rig.Approvals("deploy"))
	_, err := p.client.ResolveRunApprovals(rig.Soon(t), "run", decide("deploy", api.BehaviorAllow))
	require.NoError(t, err)
	first, err := p.client.ClaimRun(rig.Soon(t), "run", api.ClaimOptions{WorkerID: "first", LeaseMs: 1_000})
	require.NoError(t, err)
	return func(t *testing.T, p *process) {
		// The worker died with the service: another one receives the same decision.
		second := mustClaim(t, p.client, "run")
		for _, claim := range []*api.Claim{first, second} {
			claim.Resume.Approvals[0].Resolution.Grant = nil // each lease has its own
		}
		require.Equal(t, first.Resume, second.Resume)
		require.Equal(t, int64(2), second.Attempt)
		require.NotEqual(t, first.Lease.Fence, second.Lease.Fence)
		_, err := p.client.CompleteRun(rig.Soon(t), "run", first.Lease.Fence, nil)
		require.ErrorIs(t, err, client.ErrLeaseLost)
		complete(t, p.client, second)
		require.Equal(t, api.OutcomeAllowed, onlyResolution(t, p.client, "run", "deploy").Outcome)
	}
}

func crashWhileAttached(t *testing.T, p *process) func(*testing.T, *process) {
	held := startedRun(t, p.client, "run")
	_, err := p.client.Suspend(rig.Soon(t), "run", held.Lease.Fence, api.Suspension{
		Approvals: []api.ApprovalRequest{rig.Approval("first"), rig.Approval("second")}, Hold: true,
	})
	require.NoError(t, err)
	_, err = p.client.ResolveRunApprovals(rig.Soon(t), "run", decide("second", api.BehaviorDeny))
	require.NoError(t, err)
	return func(t *testing.T, p *process) {
		// The worker survives and continues where it was.
		settled, err := p.client.AwaitSettled(rig.Soon(t), "run", held.Lease.Fence, "0", rig.Patience/2)
		require.NoError(t, err)
		require.Len(t, settled.Settled, 1)
		require.Contains(t, string(settled.Settled[0]), `"outcome":"denied"`)
		require.Equal(t, 1, settled.Open)
		_, err = p.client.ResolveRunApprovals(rig.Soon(t), "run", decide("first", api.BehaviorAllow))
		require.NoError(t, err)
		settled, err = p.client.AwaitSettled(rig.Soon(t), "run", held.Lease.Fence, settled.After, rig.Patience/2)
		require.NoError(t, err)
		require.Len(t, settled.Settled, 1)
		require.Contains(t, string(settled.Settled[0]), `"outcome":"allowed"`)
		require.Zero(t, settled.Open)
		complete(t, p.client, held)
	}
}

// crashDuringDecisions kills the service during many decisions. Acknowledged decisions are in
// force. Others were recorded once or not at all, and repeating them succeeds.
func crashDuringDecisions(t *testing.T, p *process) func(*testing.T, *process) {
	const decisions = 60
	runID := func(i int) string { return fmt.Sprintf("run-%02d", i) }
	params := func(i int) client.ResolveApprovalsParams {
		params := decide("deploy", behaviorOf(i))
		params.IdempotencyKey = "decision-" + runID(i)
		return params
	}
	for i := range decisions {
		waitingRun(t, p.client, runID(i), rig.Approvals("deploy"))
	}
	errs := make([]error, decisions)
	oneAcknowledged := make(chan struct{})
	var first sync.Once
	var deciding sync.WaitGroup
	for i := range decisions {
		deciding.Go(func() {
			_, errs[i] = p.client.ResolveRunApprovals(rig.Soon(t), runID(i), params(i))
			first.Do(func() { close(oneAcknowledged) })
		})
	}
	<-oneAcknowledged
	p.Kill()
	deciding.Wait()
	return func(t *testing.T, p *process) {
		for i, err := range errs {
			if err == nil {
				recorded := onlyResolution(t, p.client, runID(i), "deploy")
				require.Equal(t, behaviorOf(i), recorded.Behavior, "acknowledged, and lost")
			} else {
				require.ErrorIs(t, err, client.ErrUnavailable)
			}
			_, err := p.client.ResolveRunApprovals(rig.Soon(t), runID(i), params(i))
			require.NoError(t, err, "the same decision again")
			taken := mustClaim(t, p.client, runID(i))
			require.Equal(t, behaviorOf(i), taken.Resume.Approvals[0].Resolution.Behavior)
			require.Equal(t, "1", taken.Lease.Fence)
			complete(t, p.client, taken)
			onlyResolution(t, p.client, runID(i), "deploy")
		}
	}
}

// The bug: one key on two runs collided, so allow-all stopped half-way. Here one key works for many
// runs, including one that an earlier attempt had reached, and the call can be repeated.
func TestGallery16AllowAllWithOneKey(t *testing.T) {
	onServices(t, func(t *testing.T, s *service) {
		const waiting = 12
		allow := []string{"approvals", "allow-all", "--yes", "--idempotency-key", "friday", "--server", s.replicas[0].URL}
		var runIDs []string
		for i := range waiting {
			runIDs = append(runIDs, fmt.Sprintf("run-%02d", i))
			waitingRun(t, s.at(i), runIDs[i], rig.Approvals("first", "second"))
		}
		// An earlier attempt was interrupted after this run.
		reached := decide("first", api.BehaviorAllow)
		reached.Resolutions = append(reached.Resolutions, api.ApprovalResolution{RequestID: "second", Behavior: api.BehaviorAllow})
		reached.IdempotencyKey = "friday:" + runIDs[3]
		_, err := s.at(1).ResolveRunApprovals(rig.Soon(t), runIDs[3], reached)
		require.NoError(t, err)

		code, stdout, stderr := rig.Run(t, allow...)
		require.Zero(t, code, "%s%s", stdout, stderr)
		require.Contains(t, stdout, "allowed 22 approvals in 11 sessions", stderr)
		code, stdout, stderr = rig.Run(t, allow...)
		require.Zero(t, code, "%s%s", stdout, stderr)
		require.Contains(t, stdout, "allowed 0 approvals in 0 sessions", stderr)

		page, err := s.at(1).ListApprovals(rig.Soon(t), client.PendingListParams{})
		require.NoError(t, err)
		require.Empty(t, page.Items)
		for i, runID := range runIDs {
			again := reached
			again.IdempotencyKey = "friday:" + runID
			if i != 3 {
				// The command names the requests that it has shown.
				run, err := s.at(i).GetRun(rig.Soon(t), runID)
				require.NoError(t, err)
				again.Resolutions = slices.Clone(reached.Resolutions)
				for k := range again.Resolutions {
					shown := &run.Resume.Approvals[k].Request
					again.Resolutions[k].InputDigest, again.Resolutions[k].Handle = shown.InputDigest, shown.Handle
				}
			}
			replayed, err := s.at(i).ResolveRunApprovals(rig.Soon(t), runID, again)
			require.NoError(t, err)
			require.True(t, replayed.Replayed)
			require.Equal(t, api.OutcomeAllowed, onlyResolution(t, s.at(i), runID, "second").Outcome)
			taken := mustClaim(t, s.at(i), runID)
			require.Len(t, taken.Resume.Approvals, 2)
			complete(t, s.at(i), taken)
		}

		// The service scopes keys by session: the same key works on a run of each.
		for i := range 3 {
			runID := fmt.Sprintf("bare-%d", i)
			waitingRun(t, s.at(i), runID, rig.Approvals("deploy"))
			params := decide("deploy", api.BehaviorAllow)
			params.IdempotencyKey = strings.Repeat("k", 256)
			_, err := s.at(i).ResolveRunApprovals(rig.Soon(t), runID, params)
			require.NoError(t, err)
		}
	})
}
