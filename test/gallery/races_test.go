package gallery

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/store/storetest"
	"github.com/holdpoint/holdpoint/test/rig"
)

// The bug: two resumes of one wait arrived together, and both ran everything downstream. Here one
// of a hundred callers on two replicas wins, the others get its decision, and only one of the
// workers waiting on both replicas receives the resume.
func TestGallery01TwoResumesOfOneWait(t *testing.T) {
	overReplicas(t, func(t *testing.T, s *service) {
		const callers = 100
		approvers := make([]*client.Client, callers)
		for i := range approvers {
			approvers[i] = s.replicas[i%len(s.replicas)].Connect(client.WithActor(actor(i)))
		}
		for round := range 5 {
			runID := fmt.Sprintf("run-%d", round)
			waitingRun(t, s.at(round), runID, rig.Approvals("deploy"))
			workers := s.workersFor(t, runID)

			errs := make([]error, callers)
			var start, ended sync.WaitGroup
			start.Add(1)
			for i, approver := range approvers {
				ended.Go(func() {
					start.Wait()
					_, errs[i] = approver.ResolveRunApprovals(rig.Soon(t), runID, decide("deploy", behaviorOf(i)))
				})
			}
			start.Done()
			ended.Wait()
			handed := <-workers.handed
			complete(t, s.at(0), handed)
			require.Empty(t, workers.stop(), "a second worker was handed the run")

			recorded := onlyResolution(t, s.at(0), runID, "deploy")
			winner := -1
			for i, err := range errs {
				if err == nil {
					require.Equal(t, -1, winner, "both %d and %d won", winner, i)
					winner = i
					continue
				}
				require.ErrorIs(t, err, client.ErrAlreadyDecided)
				require.Equal(t, &api.RecordedDecision{
					RequestID: "deploy", Outcome: recorded.Outcome, ResolvedBy: recorded.ResolvedBy,
					ResolvedAtMs: recorded.ResolvedAtMs, Via: recorded.Via,
				}, refusal(t, err).Recorded)
			}
			require.NotEqual(t, -1, winner, "nobody won")
			require.Equal(t, actor(winner), recorded.ResolvedBy)
			require.Equal(t, behaviorOf(winner), recorded.Behavior)
			require.Len(t, handed.Resume.Approvals, 1)
			handed.Resume.Approvals[0].Resolution.Grant = nil // not recorded
			require.Equal(t, recorded, handed.Resume.Approvals[0].Resolution)
			require.Equal(t, "1", handed.Lease.Fence, "the run was claimed before")
			s.requireNotClaimable(t, runID)
		}
	})
}

func actor(i int) string { return fmt.Sprintf("approver-%d", i) }

func behaviorOf(i int) api.Behavior {
	if i%2 == 0 {
		return api.BehaviorAllow
	}
	return api.BehaviorDeny
}

// waiters are workers on every replica that wait for one agent's run.
type waiters struct {
	handed chan *api.Claim
	stop   func() []*api.Claim
}

// workersFor starts waiting workers. A worker that receives a run does not claim again. stop ends
// the others and returns the unread claims.
func (s *service) workersFor(t *testing.T, agentID string) waiters {
	t.Helper()
	ctx, cancel := context.WithCancel(rig.Soon(t))
	w := waiters{handed: make(chan *api.Claim, 8)}
	var ended sync.WaitGroup
	for i := range 4 {
		ended.Go(func() {
			taken, err := claim(ctx, s.at(i), agentID)
			if err == nil {
				w.handed <- taken
			} else if !stopped(err) {
				t.Errorf("worker %d: %v", i, err)
			}
		})
	}
	w.stop = func() []*api.Claim {
		cancel()
		ended.Wait()
		close(w.handed)
		var unread []*api.Claim
		for taken := range w.handed {
			unread = append(unread, taken)
		}
		return unread
	}
	return w
}

// highest keeps the maximum of concurrently stored numbers.
type highest struct{ value atomic.Int64 }

func (h *highest) raise(to int64) {
	for {
		now := h.value.Load()
		if to <= now || h.value.CompareAndSwap(now, to) {
			return
		}
	}
}

// The bug: the timer of an answered pause fired later and overwrote the answer. Here answers and
// deadlines meet in the same millisecond on two replicas, over and over: the recorded decision is
// the one in the answerer's reply, recorded once, and later sweeps do not change it.
func TestGallery02AnswerAgainstExpiry(t *testing.T) {
	overReplicas(t, func(t *testing.T, s *service) {
		const racers, least, most = 12, 8, 25
		enough := int64(20) // of each outcome
		if storetest.Thorough {
			enough = racers * most
		}
		races := make(chan race, racers*most)
		var inTime, late atomic.Int64
		var racing errgroup.Group
		var longest highest
		for i := range racers {
			racing.Go(func() error {
				// The deadline is adjusted until answers arrive about when it passes.
				deadlineMs := int64(4)
				for n := range most {
					if n >= least && inTime.Load() >= enough && late.Load() >= enough {
						break
					}
					r := race{runID: fmt.Sprintf("run-%d-%d", i, n), question: n%2 == 0}
					if err := r.run(rig.Soon(t), s.at(i+n), s.at(i+n+1), deadlineMs); err != nil {
						return fmt.Errorf("%s: %w", r.runID, err)
					}
					// By fractions, so that it also converges on a busy machine.
					if r.answered {
						inTime.Add(1)
						deadlineMs = max(1, deadlineMs*3/4)
					} else {
						late.Add(1)
						deadlineMs += deadlineMs/2 + 1
					}
					longest.raise(deadlineMs)
					races <- r
				}
				return nil
			})
		}
		require.NoError(t, racing.Wait())
		close(races)

		// Deadlines are swept in order: after this one, all deadlines of the races have been swept.
		afterMs := longest.value.Load() + 200
		last := rig.Approval("last")
		last.ExpiresAfterMs = &afterMs
		waitingRun(t, s.at(0), "last", asking(last))
		_, err := s.at(1).WaitRun(rig.Soon(t), "last", client.UntilDecided)
		require.NoError(t, err)
		require.Equal(t, api.OutcomeExpired, onlyResolution(t, s.at(0), "last", "last").Outcome)

		answered, expired := 0, 0
		for r := range races {
			recorded := onlyResolution(t, s.at(0), r.runID, "ask")
			run, err := s.at(1).GetRun(rig.Soon(t), r.runID)
			require.NoError(t, err)
			if r.answered {
				answered++
				require.Equal(t, api.StatusRunning, run.Status, r.runID)
				require.Contains(t, []api.Outcome{api.OutcomeAllowed, api.OutcomeAnswered}, recorded.Outcome, r.runID)
				require.Equal(t, api.ViaAPI, recorded.Via)
			} else {
				expired++
				require.Equal(t, api.OutcomeExpired, recorded.Outcome, r.runID)
				require.Equal(t, api.ViaClock, recorded.Via)
			}
			// A later answer changes nothing and gets the same reply.
			err = r.answer(rig.Soon(t), s.at(1))
			require.ErrorIs(t, err, client.ErrAlreadyDecided)
			require.Equal(t, recorded.Outcome, refusal(t, err).Recorded.Outcome)
			require.Equal(t, recorded, onlyResolution(t, s.at(0), r.runID, "ask"))
		}
		require.Positive(t, answered, "no answer was in time: nothing was raced")
		require.Positive(t, expired, "no deadline was missed: nothing was raced")
	})
}

// race is a request whose answer and deadline coincide.
type race struct {
	runID    string
	question bool
	answered bool
}

func (r *race) run(ctx context.Context, asking, answering *client.Client, deadlineMs int64) error {
	suspension := &api.Suspension{}
	if r.question {
		ask := rig.Question("ask")
		ask.ExpiresAfterMs = &deadlineMs
		suspension.Questions = append(suspension.Questions, ask)
	} else {
		ask := rig.Approval("ask")
		ask.ExpiresAfterMs = &deadlineMs
		suspension.Approvals = append(suspension.Approvals, ask)
	}
	_, err := asking.CreateRun(ctx, client.CreateRunParams{RunID: r.runID, Input: "work", Suspend: suspension})
	if err != nil {
		return err
	}
	err = r.answer(ctx, answering)
	r.answered = err == nil
	if err != nil && !isExpired(err) {
		return err
	}
	return nil
}

func (r *race) answer(ctx context.Context, c *client.Client) error {
	if r.question {
		_, err := c.AnswerRunQuestion(ctx, r.runID, rig.Choose("ask", "left"))
		return err
	}
	_, err := c.ResolveRunApprovals(ctx, r.runID, decide("ask", api.BehaviorAllow))
	return err
}

// The bug: an answer sent while the wait was being registered was missed, and the run hung forever.
// Here it is sent as soon as the suspension is acknowledged, or even before, to another replica.
func TestGallery03AnswerAsTheWaitIsRegistered(t *testing.T) {
	onServices(t, func(t *testing.T, s *service) {
		const workers, least = 16, 200
		most := int64(least)
		if storetest.Thorough {
			most = 3000
		}
		enough, cancel := context.WithTimeout(t.Context(), 6*time.Second)
		defer cancel()
		var cycles atomic.Int64
		var working errgroup.Group
		for i := range workers {
			working.Go(func() error {
				for {
					n := cycles.Add(1)
					if n > most || enough.Err() != nil && n > least {
						cycles.Add(-1)
						return nil
					}
					runID := fmt.Sprintf("run-%d", n)
					if err := s.quickAnswer(rig.Soon(t), i, runID, quickWays[n%int64(len(quickWays))]); err != nil {
						return fmt.Errorf("%s: %w", runID, err)
					}
				}
			})
		}
		require.NoError(t, working.Wait())
		t.Logf("%d answers, none missed", cycles.Load())
		require.GreaterOrEqual(t, cycles.Load(), int64(least))
	})
}

// quickWay says when the answer is sent relative to a suspension.
type quickWay int

const (
	// afterSuspend answers once the suspend call is acknowledged.
	afterSuspend quickWay = iota
	// afterHold is afterSuspend with an attached worker.
	afterHold
	// duringSuspend answers during the suspend call, and repeats until it succeeds.
	duringSuspend
)

var quickWays = []quickWay{afterSuspend, afterHold, duringSuspend}

// quickAnswer runs a run from start to end with one answer.
func (s *service) quickAnswer(ctx context.Context, i int, runID string, way quickWay) error {
	working, answering := s.at(i), s.at(i+1)
	created, err := working.CreateRun(ctx, client.CreateRunParams{
		RunID: runID, AgentID: runID, Input: "work", Claim: &api.ClaimOptions{WorkerID: "worker"},
	})
	if err != nil {
		return err
	}
	fence := created.Claim.Lease.Fence
	resolve := func() error {
		_, err := answering.ResolveRunApprovals(ctx, runID, decide("ask", api.BehaviorAllow))
		return err
	}
	suspension := api.Suspension{Approvals: []api.ApprovalRequest{rig.Approval("ask")}, Hold: way == afterHold}
	var answered errgroup.Group
	if way == duringSuspend {
		answered.Go(func() error {
			for {
				if err := resolve(); err == nil || !isNotWaiting(err) {
					return err
				}
			}
		})
	}
	if _, err := working.Suspend(ctx, runID, fence, suspension); err != nil {
		return err
	}
	if way != duringSuspend {
		answered.Go(resolve)
	}
	if way == afterHold {
		settled, err := working.AwaitSettled(ctx, runID, fence, "0", rig.Patience/2)
		if err != nil {
			return err
		}
		if len(settled.Settled) != 1 || settled.Open != 0 {
			return fmt.Errorf("the attached worker was told %d decisions, %d are open", len(settled.Settled), settled.Open)
		}
	} else {
		taken, err := claim(ctx, working, runID)
		if err != nil {
			return err
		}
		if taken.Resume == nil || len(taken.Resume.Approvals) != 1 || taken.Resume.Approvals[0].Resolution.Outcome != api.OutcomeAllowed {
			return fmt.Errorf("the worker was handed %+v", taken.Resume)
		}
		fence = taken.Lease.Fence
	}
	if err := answered.Wait(); err != nil {
		return err
	}
	_, err = working.CompleteRun(ctx, runID, fence, nil)
	return err
}
