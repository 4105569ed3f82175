//go:build faults

package crash

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/test/rig"
)

// trial is one run of a scenario, with its own session, run and agent, and the caller's memory
// across the restart.
type trial struct {
	ctx    context.Context
	client *client.Client
	// agentID is the agent of this trial alone, so that a worker can ask for its run.
	runID, sessionID, agentID string
	// fence is the fence of the caller's lease, if it has one.
	fence string
	// clarificationID is the run in the parent's session that asks for this one.
	clarificationID string
	// impatient: the service has been killed, and effects that it had begun are retried
	// before their lease has lapsed.
	impatient bool
	// dueAtMs is the deadline of the request that the trial is about, 0 for none.
	dueAtMs int64
	// slow multiplies deadlines; see service.slow.
	slow int
}

// soon returns a deadline that passes once the points are armed, in ms from now.
func (t *trial) soon(quickMs int) int64 { return int64(quickMs * t.slow) }

// step is one thing that the caller does or checks.
type step func(*trial) error

// steps runs several steps until one fails.
func steps(all ...step) step {
	return func(t *trial) error {
		for _, step := range all {
			if err := step(t); err != nil {
				return err
			}
		}
		return nil
	}
}

// fails runs a step that must be refused with an error.
func fails(call step, want error) step {
	return func(t *trial) error {
		if err := call(t); !errors.Is(err, want) {
			return fmt.Errorf("%w, want %w", err, want)
		}
		return nil
	}
}

// does returns a step that makes a client's call and ignores its reply.
func does[Reply any](call func(t *trial) (Reply, error)) step {
	return func(t *trial) error {
		_, err := call(t)
		return err
	}
}

const (
	workerID = "worker"
	// shortLeaseMs is the shortest that the service grants.
	shortLeaseMs = 1_000
	longLeaseMs  = 3_600_000
)

func (t *trial) params(suspension *api.Suspension, lease *api.ClaimOptions) client.CreateRunParams {
	return client.CreateRunParams{
		RunID: t.runID, SessionID: t.sessionID, AgentID: t.agentID, Input: "work", Suspend: suspension, Claim: lease,
	}
}

// waitingFor creates the run, suspended from the start.
func waitingFor(suspension *api.Suspension) step {
	return does(func(t *trial) (*client.CreatedRun, error) {
		return t.client.CreateRun(t.ctx, t.params(suspension, nil))
	})
}

// held creates the run and claims it.
func held(t *trial) error {
	created, err := t.client.CreateRun(t.ctx, t.params(nil, &api.ClaimOptions{WorkerID: workerID}))
	if err != nil {
		return err
	}
	return t.remember(created.Claim)
}

// remember keeps the fence of a lease.
func (t *trial) remember(claim *api.Claim) error {
	if claim == nil {
		return errors.New("no lease was handed out")
	}
	t.fence = claim.Lease.Fence
	return nil
}

func suspend(suspension *api.Suspension) step {
	return does(func(t *trial) (*api.SuspendReply, error) {
		return t.client.Suspend(t.ctx, t.runID, t.fence, *suspension)
	})
}

// attached returns the suspension with an attached worker.
func attached(suspension *api.Suspension) *api.Suspension {
	suspension.Hold = true
	return suspension
}

func resolve(decisions ...api.ApprovalResolution) step {
	return does(func(t *trial) (*client.RunResult, error) {
		params := rig.Decide(decisions...)
		params.IdempotencyKey = "resolve-" + decisions[0].RequestID
		return t.client.ResolveRunApprovals(t.ctx, t.runID, params)
	})
}

// answer answers the question "way" with an option, or declines it.
func answer(optionID string) step {
	return does(func(t *trial) (*client.RunResult, error) {
		params := rig.Choose("way", optionID)
		params.IdempotencyKey = "answer"
		return t.client.AnswerRunQuestion(t.ctx, t.runID, params)
	})
}

// untilDue waits until the deadline, by the services' clock, which is this machine's.
func untilDue(t *trial) error { return t.wait(t.dueAtMs) }

func (t *trial) wait(untilMs int64) error {
	timer := time.NewTimer(time.Until(time.UnixMilli(untilMs)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-t.ctx.Done():
		return t.ctx.Err()
	}
}

// awaitDecided waits until the run waits for nothing any more.
func awaitDecided(t *trial) error {
	run, err := t.client.AwaitRun(t.ctx, t.runID, client.UntilDecided, rig.Patience/2)
	if err == nil && model.Waiting(run.Status) {
		err = errors.New("nothing was decided")
	}
	return err
}

// handed lists what a worker must get. Zero members are not checked.
type handed struct {
	fence      string
	attempt    int64
	checkpoint string
	outcomes   []api.Outcome
}

// claimNext claims the run as a worker does that asks for whatever there is, and remembers the
// lease.
func (t *trial) claimNext(leaseMs int64) (*api.Claim, error) {
	claims, err := t.client.ClaimRuns(t.ctx, client.ClaimRunsParams{
		WorkerID: workerID, AgentIDs: []string{t.agentID}, LeaseMs: leaseMs, WaitMs: rig.Patience.Milliseconds() / 2,
	})
	switch {
	case err != nil:
		return nil, err
	case len(claims) != 1:
		return nil, fmt.Errorf("handed %d runs", len(claims))
	}
	return &claims[0], t.remember(&claims[0])
}

// claimed claims the run, see claimNext, and checks the claim.
func claimed(leaseMs int64, want handed) step {
	return func(t *trial) error {
		claim, err := t.claimNext(leaseMs)
		if err != nil {
			return err
		}
		return want.check(claim)
	}
}

// claimedByID is [claimed] for a worker that names the run.
func claimedByID(leaseMs int64, want handed) step {
	return func(t *trial) error {
		claim, err := t.client.ClaimRun(t.ctx, t.runID, api.ClaimOptions{WorkerID: workerID, LeaseMs: leaseMs})
		if err != nil {
			return err
		}
		return errors.Join(t.remember(claim), want.check(claim))
	}
}

func (h handed) check(claim *api.Claim) error {
	outcomes := rig.Outcomes(claim.Resume)
	switch {
	case h.fence != "" && claim.Lease.Fence != h.fence, h.attempt != 0 && claim.Attempt != h.attempt:
		return fmt.Errorf("handed over as attempt %d with fence %s, want attempt %d with fence %s", claim.Attempt, claim.Lease.Fence, h.attempt, h.fence)
	case h.checkpoint != "" && string(claim.Checkpoint) != h.checkpoint:
		return fmt.Errorf("handed over with checkpoint %s, want %s", claim.Checkpoint, h.checkpoint)
	case h.outcomes != nil && !slices.Equal(outcomes, h.outcomes):
		return fmt.Errorf("resumed with %v, want %v", outcomes, h.outcomes)
	}
	return nil
}

// resumed claims the run for the first time since its suspension, checks that the claim has exactly
// these outcomes, approvals before questions, and completes the run.
func resumed(fence string, outcomes ...api.Outcome) step {
	return steps(claimed(longLeaseMs, handed{fence: fence, attempt: 1, outcomes: outcomes}), complete)
}

func complete(t *trial) error {
	run, err := t.client.CompleteRun(t.ctx, t.runID, t.fence, api.JSON(`"done"`))
	if err == nil && run.Status != api.StatusCompleted {
		err = fmt.Errorf("completed, and %s", run.Status)
	}
	return err
}

func release(checkpoint api.JSON) step {
	return does(func(t *trial) (*api.RunView, error) { return t.client.ReleaseRun(t.ctx, t.runID, t.fence, checkpoint) })
}

// settled checks the decisions that an attached worker gets since its suspension, in order, once
// nothing is open.
func settled(outcomes ...api.Outcome) step {
	return func(t *trial) error {
		got, err := t.client.AwaitSettled(t.ctx, t.runID, t.fence, "0", rig.Patience/2)
		if err != nil {
			return err
		}
		var seen []api.Outcome
		for _, text := range got.Settled {
			var one struct {
				Resolution struct {
					Outcome api.Outcome `json:"outcome"`
				} `json:"resolution"`
			}
			if err := json.Unmarshal(text, &one); err != nil {
				return err
			}
			seen = append(seen, one.Resolution.Outcome)
		}
		if !slices.Equal(seen, outcomes) || got.Open != 0 {
			return fmt.Errorf("attached worker was handed %v with %d open, want %v", seen, got.Open, outcomes)
		}
		return nil
	}
}

// ended checks that the run is finished and cannot be claimed.
func ended(status api.Status) step {
	return func(t *trial) error {
		run, err := t.client.GetRun(t.ctx, t.runID)
		if err != nil {
			return err
		}
		if run.Status != status || len(run.PendingApprovalIDs)+len(run.PendingQuestionIDs) != 0 {
			return fmt.Errorf("the run is %s with %v%v open", run.Status, run.PendingApprovalIDs, run.PendingQuestionIDs)
		}
		return fails(claimedByID(0, handed{}), client.ErrRunNotClaimable)(t)
	}
}

// counter returns how often the effect of a call is on record.
type counter func(*trial) (int, error)

// runsIn counts the runs of a session.
func runsIn(sessionID func(*trial) string) counter {
	return func(t *trial) (int, error) {
		page, err := t.client.ListRuns(t.ctx, client.RunListParams{SessionID: sessionID(t)})
		if err != nil {
			return 0, err
		}
		return len(page.Items), nil
	}
}

// runsMade counts the runs of the trial's session.
var runsMade = runsIn(func(t *trial) string { return t.sessionID })

// logged counts the run's events of a type, and loggedIn the events of another run.
func logged(eventType string) counter {
	return loggedIn(func(t *trial) string { return t.runID }, eventType)
}

func loggedIn(runID func(*trial) string, eventType string) counter {
	return func(t *trial) (int, error) {
		log, err := rig.ReadLog(t.ctx, t.client, runID(t))
		if err != nil {
			return 0, err
		}
		return log.Count(eventType), nil
	}
}

// recorded counts how often these outcomes were recorded, and fails when only some of them were,
// or others.
func recorded(want map[string]api.Outcome) counter {
	return func(t *trial) (int, error) {
		log, err := rig.ReadLog(t.ctx, t.client, t.runID)
		if err != nil {
			return 0, err
		}
		times := -1
		for requestID, outcome := range want {
			resolutions := log.Of(requestID)
			for _, got := range resolutions {
				if got.Outcome != outcome {
					return 0, fmt.Errorf("request %s is %s, want %s", requestID, got.Outcome, outcome)
				}
			}
			if times >= 0 && len(resolutions) != times {
				return 0, fmt.Errorf("half of it is in force: %v", log.Resolutions)
			}
			times = len(resolutions)
		}
		return times, nil
	}
}

// leases counts the leases that the run has now, 0 or 1.
func leases(t *trial) (int, error) {
	run, err := t.client.GetRun(t.ctx, t.runID)
	if err != nil || run.Lease == nil {
		return 0, err
	}
	return 1, nil
}

// hasLog checks the types of the events of a run, all of them.
func hasLog(runID func(*trial) string, want []string) step {
	return func(t *trial) error {
		log, err := rig.ReadLog(t.ctx, t.client, runID(t))
		if err == nil && !slices.Equal(log.Types, want) {
			err = fmt.Errorf("the run's log is\n\t%q, want\n\t%q", log.Types, want)
		}
		return err
	}
}
