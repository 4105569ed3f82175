//go:build faults

package handover

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/test/rig"
)

const (
	sessions       = 12
	runsPerSession = 5
	workers        = 9
	leaseMs        = 1000
)

// floor records which worker had which run, and when.
type floor struct {
	mu    sync.Mutex
	holds []hold
	left  int // runs that are not over
	over  chan struct{}
}

// hold is one claim of a run, from before which moment it cannot have been to after
// which it cannot be.
type hold struct {
	runID, sessionID string
	fence            int64
	attempt          int64
	claimed          time.Time // when the reply arrived
	// atMs is when the claim was decided and lapsesAtMs when its lease ends, both by the database's clock.
	atMs, lapsesAtMs int64
	// ended is when the call that ended it was sent; zero for a worker that disappeared, whose
	// lease had to expire.
	ended     time.Time
	completed bool
	firstOf   bool // the run had never been claimed before
}

// TestManyWorkersOverReplicas has workers claim, complete, release and abandon runs of sessions
// with queues, concurrently at every replica, and checks all claims.
func TestManyWorkersOverReplicas(t *testing.T) {
	for _, engine := range rig.Engines {
		t.Run(engine.Name, func(t *testing.T) {
			database := engine.Database(t)
			processes, _ := rig.StartReplicas(t, map[string]int{"Postgres": 3, "SQLite": 1}[engine.Name],
				rig.Options{Database: database, Args: []string{"--max-attempts", "100"}})
			var replicas []*client.Client
			for _, process := range processes {
				replicas = append(replicas, process.Connect())
			}
			seed := uint64(time.Now().UnixNano())
			t.Logf("seed %d", seed)
			f := &floor{left: sessions * runsPerSession, over: make(chan struct{})}
			f.enqueue(t, replicas)
			var working sync.WaitGroup
			for worker := range workers {
				c := replicas[worker%len(replicas)]
				choose := rand.New(rand.NewPCG(seed, uint64(worker)))
				working.Go(func() { f.work(t, c, "worker-"+strconv.Itoa(worker), choose) })
			}
			working.Wait()
			f.requireOneHolderAtATime(t)
			f.requireSessionsInOrder(t)
			f.requireFirstComeFirstServed(t)
			rig.RequireHealthy(t, database)
		})
	}
}

// enqueue creates runs whose ids tell their order: the first runs of all sessions before the second
// ones.
func (f *floor) enqueue(t *testing.T, replicas []*client.Client) {
	t.Helper()
	for place := range runsPerSession {
		for session := range sessions {
			_, err := replicas[(place+session)%len(replicas)].CreateSessionRun(t.Context(), sessionID(session), client.CreateRunParams{
				RunID: fmt.Sprintf("%s-run-%d", sessionID(session), place), Input: "work",
			})
			require.NoError(t, err)
		}
	}
}

func sessionID(session int) string { return fmt.Sprintf("session-%02d", session) }

// work claims until every run is over.
func (f *floor) work(t *testing.T, c *client.Client, workerID string, choose *rand.Rand) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*rig.Patience)
	defer cancel()
	for {
		select {
		case <-f.over:
			return
		default:
		}
		claims, err := c.ClaimRuns(ctx, client.ClaimRunsParams{WorkerID: workerID, LeaseMs: leaseMs, WaitMs: 200})
		if err != nil {
			t.Errorf("%s: claim: %v", workerID, err)
			return
		}
		for _, claim := range claims {
			f.hold(ctx, t, c, claim, choose)
		}
	}
}

// hold treats a run as workers do: most complete it, some release it, some disappear.
func (f *floor) hold(ctx context.Context, t *testing.T, c *client.Client, claim api.Claim, choose *rand.Rand) {
	fence, err := strconv.ParseInt(claim.Lease.Fence, 10, 64)
	if err != nil {
		t.Errorf("fence %q: %v", claim.Lease.Fence, err)
	}
	held := hold{
		runID: claim.Run.RunID, sessionID: claim.Run.SessionID, fence: fence,
		attempt: claim.Attempt, claimed: time.Now(), firstOf: fence == 1,
		atMs: claim.Lease.ExpiresAtMs - leaseMs, lapsesAtMs: claim.Lease.ExpiresAtMs,
	}
	switch chance := choose.IntN(10); {
	case chance < 6:
		held.ended, held.completed = time.Now(), true
		_, err = c.CompleteRun(ctx, held.runID, claim.Lease.Fence, nil)
	case chance < 8:
		held.ended = time.Now()
		_, err = c.ReleaseRun(ctx, held.runID, claim.Lease.Fence, nil)
	}
	switch {
	case errors.Is(err, client.ErrLeaseLost):
		// On a slow machine the lease expires before the call arrives. The checks below require
		// that.
		held.ended, held.completed = time.Time{}, false
	case err != nil:
		t.Errorf("run %s under fence %d: %v", held.runID, fence, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.holds = append(f.holds, held)
	if held.completed {
		if f.left--; f.left == 0 {
			close(f.over)
		}
	}
}

// requireOneHolderAtATime checks that fences grow by one, and that no run was claimed before its
// last holder had released it or its lease could have expired.
func (f *floor) requireOneHolderAtATime(t *testing.T) {
	t.Helper()
	byRun := map[string][]hold{}
	for _, held := range f.holds {
		byRun[held.runID] = append(byRun[held.runID], held)
	}
	require.Len(t, byRun, sessions*runsPerSession)
	for runID, holds := range byRun {
		slices.SortFunc(holds, func(a, b hold) int { return int(a.fence - b.fence) })
		for i, held := range holds {
			require.EqualValues(t, i+1, held.fence, "fences of %s", runID)
			require.Equal(t, i == len(holds)-1, held.completed, "%s is completed by its last holder alone", runID)
			if i == 0 {
				continue
			}
			before := holds[i-1]
			if before.ended.IsZero() {
				require.GreaterOrEqual(t, held.atMs, before.lapsesAtMs, "%s was handed over while it was held", runID)
			} else {
				require.False(t, held.claimed.Before(before.ended), "%s was handed over before it was given back", runID)
			}
		}
	}
}

// requireSessionsInOrder checks that no run of a session was claimed before the one ahead of it
// ended.
func (f *floor) requireSessionsInOrder(t *testing.T) {
	t.Helper()
	completed, first := map[string]time.Time{}, map[string]time.Time{}
	for _, held := range f.holds {
		if held.completed {
			completed[held.runID] = held.ended
		}
		if held.firstOf {
			first[held.runID] = held.claimed
		}
	}
	for session := range sessions {
		for place := range runsPerSession - 1 {
			ahead := fmt.Sprintf("%s-run-%d", sessionID(session), place)
			behind := fmt.Sprintf("%s-run-%d", sessionID(session), place+1)
			require.False(t, first[behind].Before(completed[ahead]), "%s was handed out while %s was not over", behind, ahead)
		}
	}
}

// requireFirstComeFirstServed checks the beginning, when the head of every session's queue is
// claimable: no session's second run is claimed before every session's first.
func (f *floor) requireFirstComeFirstServed(t *testing.T) {
	t.Helper()
	lastFirstAtMs := int64(0)
	for _, held := range f.holds {
		if held.firstOf && held.runID == held.sessionID+"-run-0" {
			lastFirstAtMs = max(lastFirstAtMs, held.atMs)
		}
	}
	before := 0
	for _, held := range f.holds {
		if held.firstOf && held.runID == held.sessionID+"-run-1" && held.atMs < lastFirstAtMs {
			before++
		}
	}
	// Concurrent claims may overtake each other, and there are no more of them than workers.
	require.Less(t, before, workers, "second runs of sessions were served before another session's first")
}
