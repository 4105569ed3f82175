//go:build faults

package crash

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/test/rig"
)

// death defines when an attached worker is killed and what people do meanwhile.
type death struct {
	// taken is how many of its steps the worker has taken for sure.
	taken int
	// midway: it is killed on the way to the next step.
	midway bool
	// late: the open prompts are decided when its lease has lapsed, and not before.
	late bool
}

func (d death) String() string {
	text := "killed after it has taken " + fmt.Sprint(d.taken) + " steps"
	if d.midway {
		text += " and is on the next"
	}
	if d.late {
		text += ", decided late"
	}
	return text
}

func deaths() []death {
	var all []death
	for taken := 1; taken < len(workerSteps); taken++ {
		for _, midway := range []bool{false, true} {
			for _, late := range []bool{false, true} {
				all = append(all, death{taken, midway, late})
			}
		}
	}
	return all
}

// An attached worker is killed at each of its steps and between any two of them. Its open requests
// stay open. The next worker gets all decisions, and only one worker claims the run, after the dead
// worker's lease has expired.
func TestAttachedWorkerKilled(t *testing.T) {
	rig.Databases(t, func(t *testing.T, database string) {
		service := rig.Start(t, rig.Options{Database: database})
		var dying errgroup.Group
		for i, d := range deaths() {
			// The connections of clients are closed with the test.
			c := service.Connect()
			dying.Go(func() error {
				id := fmt.Sprintf("run-%d", i)
				ctx, cancel := context.WithTimeout(t.Context(), rig.Patience)
				defer cancel()
				a := &trial{ctx: ctx, client: c, runID: id, sessionID: "session-" + id, agentID: "agent-" + id}
				if err := d.happen(a, service.URL()); err != nil {
					return fmt.Errorf("%s: %w", d, err)
				}
				return nil
			})
		}
		require.NoError(t, dying.Wait())
		service.Kill()
		rig.RequireHealthy(t, database)
	})
}

// happen lets one worker live until its death and checks the result for its run.
func (d death) happen(a *trial, url string) error {
	if _, err := a.client.CreateRun(a.ctx, a.params(nil, nil)); err != nil {
		return err
	}
	if err := d.live(a, url); err != nil {
		return err
	}
	left, err := a.client.GetRun(a.ctx, a.runID)
	if err != nil {
		return err
	}
	lapsesAtMs := left.UpdatedAtMs // the last call may have completed the run
	if left.Lease != nil {
		lapsesAtMs = left.Lease.ExpiresAtMs
	}
	successors := a.ask()
	if !d.late {
		if err := a.decideOpen(); err != nil {
			return err
		}
	}
	if err := a.wait(lapsesAtMs); err != nil {
		return err
	}
	// A call that was on its way when the worker was killed has arrived by now.
	if err := a.decideOpen(); err != nil {
		return err
	}
	if left, err = a.client.GetRun(a.ctx, a.runID); err != nil {
		return err
	}
	completed := left.Status == api.StatusCompleted && d.midway && d.taken == len(workerSteps)-1
	if completed {
		successors.stop()
	}
	handedOut, err := successors.wait()
	if err != nil {
		return err
	}
	if completed {
		if len(handedOut) > 0 {
			return errors.New("a run that is over was handed over")
		}
		return ended(api.StatusCompleted)(a)
	}
	return a.succeed(handedOut, lapsesAtMs)
}

// decideOpen decides about whatever is open.
func (a *trial) decideOpen() error {
	run, err := a.client.GetRun(a.ctx, a.runID)
	if err != nil {
		return err
	}
	for _, requestID := range run.PendingApprovalIDs {
		if err := resolve(behaviors[requestID])(a); err != nil {
			return err
		}
	}
	return nil
}

// behaviors are the decisions about the two prompts.
var behaviors = map[string]api.ApprovalResolution{"ask-1": allow("ask-1"), "ask-2": deny("ask-2")}

// live starts a worker, lets it take its steps, and kills it. It makes the decision that the worker
// waits for.
func (d death) live(a *trial, url string) error {
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), workerVariable+"="+url)
	stdin, err := command.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	defer func() {
		_ = command.Process.Kill() // it may have ended
		_ = command.Wait()         // by the kill
	}()
	lines := bufio.NewScanner(stdout)
	if _, err := io.WriteString(stdin, a.runID+"\n"); err != nil {
		return err
	}
	for _, next := range workerSteps[:d.taken] {
		if requestID := decidedBefore[next.name]; requestID != "" {
			if err := resolve(behaviors[requestID])(a); err != nil {
				return err
			}
		}
		if _, err := io.WriteString(stdin, "\n"); err != nil {
			return err
		}
		if !lines.Scan() {
			return errGone
		}
		if lines.Text() != next.name {
			return errors.New(lines.Text())
		}
	}
	if d.midway {
		_, err = io.WriteString(stdin, "\n")
	}
	return err
}

// decidedBefore says which prompt must be decided before a step can be taken.
var decidedBefore = map[string]string{"receive the first decision": "ask-1", "receive the second decision": "ask-2"}

// successors are two workers that concurrently wait for the run.
type successors struct {
	stop  context.CancelFunc
	asked errgroup.Group
	taken [2][]api.Claim
}

// ask starts two workers that wait for the run until one of them gets it.
func (a *trial) ask() *successors {
	s := &successors{}
	asking, stop := context.WithCancel(a.ctx)
	s.stop = stop
	for i := range s.taken {
		s.asked.Go(func() (err error) {
			s.taken[i], err = a.client.ClaimRuns(asking, client.ClaimRunsParams{
				WorkerID: fmt.Sprintf("successor-%d", i), AgentIDs: []string{a.agentID}, LeaseMs: longLeaseMs,
				WaitMs: rig.Patience.Milliseconds() / 2,
			})
			if errors.Is(err, context.Canceled) {
				return nil
			}
			// If another worker also gets the run, the check sees its fence.
			stop()
			return err
		})
	}
	return s
}

// wait returns the claims of the two.
func (s *successors) wait() ([]api.Claim, error) {
	defer s.stop()
	err := s.asked.Wait()
	return slices.Concat(s.taken[:]...), err
}

// succeed checks the hand-over: to one worker, with all decisions, and not before the dead worker's
// lease has expired.
func (a *trial) succeed(handedOut []api.Claim, lapsesAtMs int64) error {
	if len(handedOut) != 1 {
		return fmt.Errorf("%d workers were handed the run", len(handedOut))
	}
	claim := handedOut[0]
	if claimedAtMs := claim.Lease.ExpiresAtMs - longLeaseMs; claimedAtMs < lapsesAtMs {
		return fmt.Errorf("handed over %d ms before the lease had lapsed", lapsesAtMs-claimedAtMs)
	}
	if claim.Lease.Fence != "2" {
		return fmt.Errorf("handed over with fence %s", claim.Lease.Fence)
	}
	log, err := rig.ReadLog(a.ctx, a.client, a.runID)
	if err != nil {
		return err
	}
	var outcomes []api.Outcome
	for _, requestID := range []string{"ask-1", "ask-2"} {
		resolutions := log.Of(requestID)
		if len(resolutions) > 1 {
			return fmt.Errorf("request %s was settled as %v", requestID, resolutions)
		}
		for _, resolution := range resolutions {
			outcomes = append(outcomes, resolution.Outcome)
		}
	}
	if got := rig.Outcomes(claim.Resume); !slices.Equal(got, outcomes) {
		return fmt.Errorf("resumed with %v, want %v", got, outcomes)
	}
	if _, err := a.client.CompleteRun(a.ctx, a.runID, "1", nil); !errors.Is(err, client.ErrLeaseLost) {
		return fmt.Errorf("completed with the fence of the dead worker: %w", err)
	}
	a.fence = claim.Lease.Fence
	return complete(a)
}
