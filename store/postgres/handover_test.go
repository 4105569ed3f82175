package postgres

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/claims"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/store/door"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
)

// registering closes registered once a dispatcher takes runs over.
type registering struct {
	*Store
	registered chan struct{}
}

func (r registering) HandOver(to runs.Taker) (stop func()) {
	defer close(r.registered)
	return r.Store.HandOver(to)
}

// dispatch runs a dispatcher on a store, and returns it when runs are handed over to it. Its scans never help: a run
// that is not handed over or hinted stays unseen.
func dispatch(t *testing.T, s *Store) *claims.Dispatcher {
	t.Helper()
	registered := make(chan struct{})
	d := claims.New(registering{s, registered}, claims.Options{ScanInterval: time.Hour})
	defer func() { <-registered }()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = d.Run(ctx) }()
	t.Cleanup(func() { stop(); <-ended })
	return d
}

// waiting starts a claim and returns when it waits.
func waiting(ctx context.Context, t *testing.T, d *claims.Dispatcher, maxRuns int) <-chan []api.Claim {
	t.Helper()
	done := make(chan []api.Claim, 1)
	go func() {
		claimed, err := d.Claim(ctx, claims.Request{WorkerID: "waiter", MaxRuns: maxRuns, Wait: time.Minute})
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		done <- claimed
	}()
	require.Eventually(t, d.Waiting, time.Minute, time.Millisecond)
	return done
}

// commits counts the transactions of a store that wrote, by their notices.
type commits struct {
	mu      sync.Mutex
	notices []reads.Notice
}

func (c *commits) add(n reads.Notice) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.notices = append(c.notices, n)
}

func (c *commits) all() []reads.Notice {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.notices)
}

// claimant claims the runs of one session.
type claimant string

func (claimant) Waiting() bool                           { return false }
func (claimant) Take([]reads.Claimable) []*runs.ClaimRun { return nil }
func (claimant) Taken(*runs.ClaimRun, runs.Reply, error) {}
func (c claimant) Claiming(run reads.Claimable) bool     { return run.SessionID == string(c) }

// Replicas do not race for a run that a worker here is about to claim. They hear of its session,
// and of every other run.
func TestOthersHearOfRunsThatNobodyHereClaims(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	other := open(t, url, Options{})
	alone(t, other) // it listens before the other one checks
	here := open(t, url, Options{})
	heard := &commits{}
	defer other.Subscribe(heard.add)()
	defer here.HandOver(claimant("mine"))()
	claimable := map[string]int{}
	for _, sessionID := range []string{"mine", "yours"} {
		do(t, here, &runs.CreateRun{SessionID: sessionID, SessionGiven: true, Input: api.JSON(`1`)})
	}
	require.Eventually(t, func() bool {
		clear(claimable)
		for _, notice := range heard.all() {
			claimable[notice.SessionID] += len(notice.Claimable)
		}
		_, followed := claimable["mine"]
		return followed && claimable["yours"] == 1
	}, time.Minute, time.Millisecond, "streams follow both there, and somebody claims yours")
	require.Zero(t, claimable["mine"])
}

func suspended(t *testing.T, s *Store) string {
	t.Helper()
	suspension := approval("q")
	return do(t, s, &runs.CreateRun{Input: api.JSON(`{"n":1}`), Claim: &api.ClaimOptions{WorkerID: "first"}, Suspend: &suspension}).Run.Run.RunID
}

func allow(runID string) *runs.ResolveApprovals {
	return &runs.ResolveApprovals{RunID: runID, Resolutions: []runs.ApprovalDecision{{RequestID: "q", Behavior: api.BehaviorAllow}}}
}

// claimsSeen counts the claims that an observer is told of.
type claimsSeen struct{ count atomic.Int64 }

func (s *claimsSeen) Answered(command runs.Command, _ runs.Reply, _ error, _ time.Duration) {
	if _, claim := command.(*runs.ClaimRun); claim {
		s.count.Add(1)
	}
}

func (*claimsSeen) Began(time.Duration)     {}
func (*claimsSeen) Ended(door.Transaction)  {}
func (*claimsSeen) Committed([]runs.Change) {}
func (*claimsSeen) Lost(int)                {}

// The decision and the claim of the worker that waits are one transaction, whether the rows are
// remembered or read. Observers see the claim too.
func TestADecisionHandsItsRunOver(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]door.Options{"remembered": {}, "read": {RememberedBytes: -1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := &claimsSeen{}
			options.Observer = seen
			s := open(t, postgrestest.URL(t), Options{NoListen: true, Door: options})
			told := &commits{}
			defer s.Subscribe(told.add)()
			runID := suspended(t, s)
			d := dispatch(t, s)
			claimed := waiting(t.Context(), t, d, 5)
			reply := do(t, s, allow(runID))
			require.Equal(t, api.StatusRunning, reply.Run.Run.Status)
			got := <-claimed
			require.Len(t, got, 1)
			require.Equal(t, runID, got[0].Run.RunID)
			require.Equal(t, "2", got[0].Lease.Fence)
			require.Equal(t, `{"n":1}`, string(got[0].Input))
			require.Len(t, got[0].Resume.Approvals, 1)
			do(t, s, &runs.Complete{RunID: runID, Fence: 2})
			require.Eventually(t, func() bool { return len(told.all()) >= 3 }, time.Minute, time.Millisecond)
			require.Len(t, told.all(), 3, "one commit for the run, one for the decision and the claim, one for the end")
			require.Empty(t, told.all()[1].Claimable, "nobody else is called for it")
			require.EqualValues(t, 1, seen.count.Load(), "its lease may have lapsed before, which is counted")
		})
	}
}

// A run handed to a departed worker is released at once, and the next worker gets it.
func TestARunHandedToNobodyIsReleased(t *testing.T) {
	t.Parallel()
	s := open(t, postgrestest.URL(t), Options{NoListen: true})
	d := dispatch(t, s)
	for range 20 {
		runID := suspended(t, s)
		ctx, leave := context.WithCancel(t.Context())
		left := waiting(ctx, t, d, 1)
		decided := make(chan error, 1)
		go func() {
			_, err := s.Do(t.Context(), allow(runID))
			decided <- err
		}()
		leave() // before, while or after the claim is decided
		require.NoError(t, <-decided)
		got := <-left
		if len(got) == 0 {
			ctx, giveUp := context.WithTimeout(t.Context(), 2*time.Minute)
			got = <-waitingOrNot(ctx, d)
			giveUp()
		}
		require.Len(t, got, 1, "the run is stranded")
		require.Equal(t, runID, got[0].Run.RunID)
		fence := must(s.Run(t.Context(), runID)).Run.Fence
		do(t, s, &runs.Complete{RunID: runID, Fence: fence})
	}
}

func waitingOrNot(ctx context.Context, d *claims.Dispatcher) <-chan []api.Claim {
	done := make(chan []api.Claim, 1)
	go func() {
		claimed, _ := d.Claim(ctx, claims.Request{WorkerID: "next", Wait: time.Minute})
		done <- claimed
	}()
	return done
}

func must[V any](value V, err error) V {
	if err != nil {
		panic(err)
	}
	return value
}

// Many decisions and many workers: each run is handed to one of them, once.
func TestHandingOverIsFairAndOnce(t *testing.T) {
	t.Parallel()
	s := open(t, postgrestest.URL(t), Options{NoListen: true})
	d := claims.New(s, claims.Options{ScanInterval: 20 * time.Millisecond})
	ctx, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() { _ = d.Run(ctx) })
	const runsMade = 120
	var mu sync.Mutex
	got := map[string]int{}
	all := make(chan struct{})
	for range 4 {
		group.Go(func() {
			for ctx.Err() == nil {
				claimed, _ := d.Claim(ctx, claims.Request{WorkerID: "w", MaxRuns: 8, Wait: time.Second})
				for _, claim := range claimed {
					if claim.Resume == nil || len(claim.Resume.Approvals) == 0 {
						t.Error("a run was claimed without its decision")
					}
					mu.Lock()
					got[claim.Run.RunID]++
					if len(got) == runsMade {
						close(all)
					}
					mu.Unlock()
				}
			}
		})
	}
	var deciders sync.WaitGroup
	for range 12 {
		deciders.Go(func() {
			for range runsMade / 12 {
				do(t, s, allow(suspended(t, s)))
			}
		})
	}
	deciders.Wait()
	select {
	case <-all:
	case <-time.After(time.Minute):
		t.Error("some runs are stranded")
	}
	stop()
	group.Wait()
	for runID, times := range got {
		require.Equal(t, 1, times, runID)
	}
}
