package claims

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// A claim that is decided with another caller's decision names who waits for it, and the person whose
// token that is.
func TestATakenClaimNamesItsPerson(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := newFakeStore()
		d, _ := start(t, store, Options{})
		ctx := auth.With(t.Context(), &auth.Identity{Principal: "agent:coder", OnBehalfOf: "user:ada"})
		claimed := make(chan error, 1)
		go func() {
			_, err := d.Claim(ctx, Request{WorkerID: "w", AgentIDs: []string{"agent"}, Wait: maxWait})
			claimed <- err
		}()
		synctest.Wait()
		taken := d.Take([]reads.Claimable{store.add("r", "agent", nowMs())})[0]
		require.Equal(t, "agent:coder", taken.Principal)
		require.Equal(t, "user:ada", taken.OnBehalfOf)
		reply, err := store.Do(t.Context(), taken)
		require.NoError(t, err)
		d.Taken(taken, reply, nil)
		require.NoError(t, <-claimed)
	})
}

// A busy claimer is handed more runs by other transactions, up to its room.
func TestABusyClaimerIsHandedMore(t *testing.T) {
	t.Parallel()
	for name, gone := range map[string]bool{"there": false, "disconnected": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				store := newFakeStore()
				gate := make(chan struct{})
				store.beforeDo = func(command runs.Command) {
					if c, is := command.(*runs.ClaimRun); is && c.RunID == "found" {
						<-gate
					}
				}
				d, _ := start(t, store, Options{})
				store.announce("found", "agent")
				request := worker("agent")
				request.MaxRuns = 3
				p := claim(d, request)
				synctest.Wait()
				require.True(t, d.Waiting())
				taken := d.Take([]reads.Claimable{store.add("handed", "agent", nowMs()), store.add("refused", "agent", nowMs()), store.add("too much", "agent", nowMs())})
				require.Equal(t, "handed", taken[0].RunID)
				require.Equal(t, "refused", taken[1].RunID)
				require.Nil(t, taken[2], "it asked for three")
				require.Nil(t, d.Take([]reads.Claimable{store.add("another's", "other", nowMs())})[0])

				if gone {
					p.cancel()
				}
				reply, err := store.Do(context.Background(), taken[0])
				require.NoError(t, err)
				d.Taken(taken[0], reply, nil)
				close(gate)
				synctest.Wait()
				require.False(t, p.isDone(), "a claim is being decided for it")
				d.Taken(taken[1], runs.Reply{}, errors.New("not committed"))
				<-p.done
				synctest.Wait()
				if gone {
					require.ErrorIs(t, p.err, context.Canceled)
					require.ElementsMatch(t, []string{"found", "handed"}, store.released)
					return
				}
				require.Equal(t, []string{"found", "handed"}, p.runIDs(t))
				require.Equal(t, []string{"refused"}, claim(d, Request{WorkerID: "w", AgentIDs: []string{"agent"}, MaxRuns: 1}).runIDs(t))
			})
		})
	}
}

// One of a worker's claims is handed as many runs as it has room for, and the others wait for
// the next transactions. Other workers get their share.
func TestOneClaimOfAWorkerIsHandedAll(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := newFakeStore()
		d, _ := start(t, store, Options{})
		ask := func(workerID string) *pending {
			request := worker("agent")
			request.WorkerID, request.MaxRuns = workerID, 2
			p := claim(d, request)
			synctest.Wait()
			return p
		}
		first, second, other := ask("one"), ask("one"), ask("two")
		hand := func(runIDs ...string) {
			var claimable []reads.Claimable
			for _, runID := range runIDs {
				claimable = append(claimable, store.add(runID, "agent", nowMs()))
			}
			for _, c := range d.Take(claimable) {
				require.NotNil(t, c)
				reply, err := store.Do(context.Background(), c)
				require.NoError(t, err)
				d.Taken(c, reply, nil)
			}
			synctest.Wait()
		}
		hand("a", "b", "c", "d")
		require.Equal(t, []string{"a", "c"}, first.runIDs(t))
		require.Equal(t, []string{"b", "d"}, other.runIDs(t))
		require.False(t, second.isDone())
		hand("e")
		require.Equal(t, []string{"e"}, second.runIDs(t))
	})
}
