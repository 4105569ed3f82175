package claims

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// inBubble runs a test on a fake clock.
func inBubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, test)
}

func TestClaimThatDoesNotWaitSeesTheTruth(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := newFakeStore()
		d, _ := start(t, store, Options{})
		require.Empty(t, claim(d, Request{WorkerID: "w"}).runIDs(t))

		store.add("r1", "a", nowMs()) // like another replica, without a hint here
		p := claim(d, Request{WorkerID: "w"})
		require.Equal(t, []string{"r1"}, p.runIDs(t))
		require.Zero(t, p.after)
		require.Equal(t, "1", p.claims[0].Lease.Fence)

		// A hint for a deleted run must not hide the existing one.
		store.announce("r2", "a")
		store.set(func(s *fakeStore) { delete(s.runs, "r2") })
		store.add("r3", "a", nowMs())
		require.Equal(t, []string{"r3"}, claim(d, Request{WorkerID: "w"}).runIDs(t))
	})
}

func TestRunsGoInTheOrderInWhichTheyBecameClaimable(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := newFakeStore()
		d, _ := start(t, store, Options{})
		require.Empty(t, claim(d, Request{WorkerID: "w"}).runIDs(t))
		now := nowMs()
		for i, at := range []int64{-3, -9, -5, -9, -1, -7} {
			c := store.add("r"+strconv.Itoa(i), "a", now+at)
			if i%2 == 0 { // the others are found by the scan
				store.publish(reads.Notice{SessionID: c.SessionID, Claimable: []reads.Claimable{c}})
			}
		}
		synctest.Wait()
		<-time.After(DefaultScanInterval)
		synctest.Wait()
		var got []string
		for range 6 {
			got = append(got, claim(d, Request{WorkerID: "w"}).runIDs(t)...)
		}
		require.Equal(t, []string{"r1", "r3", "r5", "r2", "r0", "r4"}, got)
	})
}

func TestOneHintWakesTheOldestWaiterItFits(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := newFakeStore()
		d, _ := start(t, store, Options{})
		var waiters []*pending
		for _, agents := range [][]string{{"b"}, {"a"}, nil, {"b", "a"}, {"a"}} {
			waiters = append(waiters, claim(d, worker(agents...)))
			synctest.Wait()
		}
		order := []int{1, 2, 3, 4}
		for n, which := range order {
			store.announce("r"+strconv.Itoa(n), "a")
			synctest.Wait()
			require.True(t, waiters[which].isDone())
			require.Equal(t, []string{"r" + strconv.Itoa(n)}, waiters[which].runIDs(t))
			for _, later := range order[n+1:] {
				require.False(t, waiters[later].isDone())
			}
		}
		require.False(t, waiters[0].isDone(), "it asks for another agent")
		require.Zero(t, store.refused, "nobody else went to the door")
		waiters[0].cancel()
		<-waiters[0].done
		require.ErrorIs(t, waiters[0].err, context.Canceled)
	})
}

func TestRefusedHintLeavesTheWaiterItsPlace(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := newFakeStore()
		d, _ := start(t, store, Options{})
		first := claim(d, worker("a"))
		synctest.Wait()
		second := claim(d, worker("a"))
		synctest.Wait()

		c := store.add("used-up", "a", nowMs())
		store.set(func(s *fakeStore) { s.runs["used-up"].usedUp = true })
		store.publish(reads.Notice{SessionID: c.SessionID, Claimable: []reads.Claimable{c}})
		synctest.Wait()
		require.Equal(t, 1, store.refused)
		require.False(t, first.isDone())

		store.announce("r1", "a")
		require.Equal(t, []string{"r1"}, first.runIDs(t))
		store.announce("r2", "a")
		require.Equal(t, []string{"r2"}, second.runIDs(t))
	})
}

func TestLostHintIsFoundByOneScanForAll(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := newFakeStore()
		d, _ := start(t, store, Options{})
		var waiters []*pending
		for i := range 1000 {
			request := worker("a", "b")
			if i%2 == 0 {
				request = worker("a")
			}
			waiters = append(waiters, claim(d, request))
		}
		synctest.Wait()
		<-time.After(100 * time.Millisecond)
		before := store.scanCount()
		require.LessOrEqual(t, before, 3)

		store.add("r1", "a", nowMs())
		<-time.After(DefaultScanInterval)
		synctest.Wait()
		served := slices.IndexFunc(waiters, (*pending).isDone)
		require.GreaterOrEqual(t, served, 0)
		require.Equal(t, []string{"r1"}, waiters[served].runIDs(t))
		require.LessOrEqual(t, waiters[served].after, 600*time.Millisecond)
		require.Equal(t, 1, store.scanCount()-before, "one query for all waiters of all agents")
		require.Zero(t, store.refused)
		for _, p := range waiters {
			p.cancel()
			<-p.done
		}
	})
}

func TestLapsedLeaseIsFound(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := newFakeStore()
		d, _ := start(t, store, Options{})
		store.announce("r1", "a")
		dies := worker("a")
		dies.LeaseMs = 2000
		require.Equal(t, []string{"r1"}, claim(d, dies).runIDs(t))

		next := claim(d, worker("a"))
		require.Equal(t, []string{"r1"}, next.runIDs(t))
		require.EqualValues(t, 2, next.claims[0].Attempt)
		require.GreaterOrEqual(t, next.after, 2*time.Second)
		require.LessOrEqual(t, next.after, 2*time.Second+DefaultScanInterval)
	})
}

func TestEverybodyLooksAfterLostNotices(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := newFakeStore()
		d, _ := start(t, store, Options{ScanInterval: time.Minute})
		p := claim(d, worker("a"))
		synctest.Wait()
		store.add("r1", "a", nowMs())
		synctest.Wait()
		require.False(t, p.isDone())
		store.publish(reads.Notice{})
		require.Equal(t, []string{"r1"}, p.runIDs(t))
		require.Zero(t, p.after)
	})
}

func TestWaitRunsOut(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := newFakeStore()
		d, _ := start(t, store, Options{})
		for _, wait := range []time.Duration{0, time.Millisecond, 3 * time.Second, maxWait} {
			p := claim(d, Request{WorkerID: "w", Wait: wait})
			require.Empty(t, p.runIDs(t))
			require.NotNil(t, p.claims)
			require.Equal(t, wait, p.after)
		}
	})
}

func TestSeveralRunsAreClaimedAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := newFakeStore()
		at, together := make(chan struct{}), make(chan struct{})
		store.beforeDo = func(runs.Command) {
			at <- struct{}{}
			<-together
		}
		d, _ := start(t, store, Options{})
		for i, name := range names("r", 0, 6) {
			store.add(name, "a", nowMs()-10+int64(i))
		}
		store.set(func(s *fakeStore) { s.runs["r2"].usedUp = true })
		request := worker("a")
		request.MaxRuns = 5
		p := claim(d, request)
		for range 5 {
			<-at // all reach the store before the first reply
		}
		close(together)
		require.Equal(t, []string{"r0", "r1", "r3", "r4"}, p.runIDs(t))

		p = claim(d, request)
		<-at
		<-at
		require.Equal(t, []string{"r5", "r6"}, p.runIDs(t))
	})
}

func TestRunOfAClientThatIsGoneIsGivenBack(t *testing.T) {
	t.Parallel()
	tests := map[string]func(store *fakeStore, cancel context.CancelFunc){
		"while the lease is taken": func(store *fakeStore, cancel context.CancelFunc) {
			store.beforeDo = func(command runs.Command) {
				if c, ok := command.(*runs.ClaimRun); ok && c.WorkerID == "gone" {
					cancel()
				}
			}
		},
		"after the lease was taken": func(store *fakeStore, cancel context.CancelFunc) {
			store.afterDo = func(command runs.Command) {
				if c, ok := command.(*runs.ClaimRun); ok && c.WorkerID == "gone" {
					cancel()
				}
			}
		},
	}
	for name, setUp := range tests {
		for _, byID := range []bool{false, true} {
			t.Run(name+", by id "+strconv.FormatBool(byID), func(t *testing.T) {
				inBubble(t, func(t *testing.T) {
					store := newFakeStore()
					ctx, cancel := context.WithCancel(t.Context())
					setUp(store, cancel)
					d, _ := start(t, store, Options{ScanInterval: time.Hour})
					store.add("r1", "a", nowMs())
					var err error
					if byID {
						_, err = d.ClaimRun(ctx, "r1", "gone", 0, reads.Scope{})
					} else {
						_, err = d.Claim(ctx, Request{WorkerID: "gone", Wait: time.Second})
					}
					require.ErrorIs(t, err, context.Canceled)
					require.Equal(t, []string{"r1"}, store.released)

					p := claim(d, worker("a"))
					require.Equal(t, []string{"r1"}, p.runIDs(t))
					require.Zero(t, p.after)
				})
			})
		}
	}
}

func TestHintOfAClientThatIsGoneGoesToTheNext(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := newFakeStore()
		d, _ := start(t, store, Options{ScanInterval: time.Hour})
		ctx, cancel := context.WithCancel(t.Context())
		w := d.join([]string{"a"}, reads.Scope{}, 1)
		defer d.unjoin(w)
		_, goOn := d.enter(w, maxWait)
		require.True(t, goOn)
		synctest.Wait()
		next := claim(d, worker("a"))
		synctest.Wait()

		store.announce("r1", "a") // the older waiter has the hint, and leaves
		cancel()
		d.abandon(w)
		require.Equal(t, []string{"r1"}, next.runIDs(t))
		require.Zero(t, next.after)

		// The same if the waiter notices just before it calls the store.
		h := d.newHint(store.add("r2", "a", nowMs()))
		claims, err := d.claimAll(ctx, []*hint{h}, worker("a"))
		require.ErrorIs(t, err, context.Canceled)
		require.Empty(t, claims)
		require.Equal(t, []string{"r2"}, claim(d, worker("a")).runIDs(t))
		require.Empty(t, store.released)
	})
}

func TestShutdownAnswersWaitersPromptly(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := newFakeStore()
		d, stop := start(t, store, Options{})
		var waiters []*pending
		for range 100 {
			waiters = append(waiters, claim(d, worker("a")))
		}
		synctest.Wait()
		stop()
		for _, p := range waiters {
			require.Empty(t, p.runIDs(t))
			require.Zero(t, p.after)
		}
		store.announce("r1", "a")
		require.Empty(t, claim(d, worker("a")).runIDs(t))
		require.Empty(t, store.subscribers)
	})
}

func TestClaimRun(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := newFakeStore()
		d, _ := start(t, store, Options{})
		store.add("r1", "a", nowMs())
		got, err := d.ClaimRun(t.Context(), "r1", "w", 5000, reads.Scope{})
		require.NoError(t, err)
		require.Equal(t, "r1", got.Run.RunID)
		require.Equal(t, nowMs()+5000, got.Lease.ExpiresAtMs)

		_, err = d.ClaimRun(t.Context(), "r1", "w", 0, reads.Scope{})
		require.Equal(t, api.CodeRunNotClaimable, refusal.CodeOf(err))
		_, err = d.ClaimRun(t.Context(), "nobody", "w", 0, reads.Scope{})
		require.Equal(t, api.CodeRunNotFound, refusal.CodeOf(err))
	})
}

func TestFailuresOfTheStore(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := newFakeStore()
		d, _ := start(t, store, Options{})
		broken := errors.New("database is gone")
		store.set(func(s *fakeStore) { s.scanErr = broken })

		p := claim(d, Request{WorkerID: "w"})
		<-p.done
		require.ErrorIs(t, p.err, broken, "nobody can say that there is no run")
		p = claim(d, Request{WorkerID: "w", Wait: 3 * time.Second})
		<-p.done
		require.ErrorIs(t, p.err, broken)
		require.Equal(t, 3*time.Second, p.after)

		// A claim that waits survives the failure.
		p = claim(d, worker("a"))
		<-time.After(5 * time.Second)
		store.set(func(s *fakeStore) { s.scanErr = nil })
		store.add("r1", "a", nowMs())
		require.Equal(t, []string{"r1"}, p.runIDs(t))
		require.LessOrEqual(t, p.after, 5*time.Second+DefaultScanInterval)

		// A failed command is reported to its caller, and the run is not lost.
		store.set(func(s *fakeStore) { s.doErr = runs.ErrUnavailable })
		store.announce("r2", "a")
		p = claim(d, worker("a"))
		<-p.done
		require.ErrorIs(t, p.err, runs.ErrUnavailable)
		store.set(func(s *fakeStore) { s.doErr = nil })
		p = claim(d, worker("a"))
		require.Equal(t, []string{"r2"}, p.runIDs(t))
		require.LessOrEqual(t, p.after, DefaultScanInterval)
	})
}

func TestBadRequestsNameTheMember(t *testing.T) {
	t.Parallel()
	d := New(newFakeStore(), Options{})
	tests := map[string]Request{
		"/worker_id":   {},
		"/agent_ids/1": {WorkerID: "w", AgentIDs: []string{"a", "no spaces"}},
		"/agent_ids":   {WorkerID: "w", AgentIDs: names("a", 0, api.MaxAgentsPerClaim)},
		"/max_runs":    {WorkerID: "w", MaxRuns: 101},
		"/lease_ms":    {WorkerID: "w", LeaseMs: 999},
		"/wait_ms":     {WorkerID: "w", Wait: maxWait + time.Millisecond},
	}
	for pointer, request := range tests {
		t.Run(pointer, func(t *testing.T) {
			t.Parallel()
			_, err := d.Claim(t.Context(), request)
			var refusal *refusal.Error
			require.ErrorAs(t, err, &refusal)
			require.Equal(t, api.CodeInvalidRequest, refusal.Code)
			require.Len(t, refusal.Faults, 1)
			require.Equal(t, pointer, refusal.Faults[0].Pointer)
		})
	}
}
