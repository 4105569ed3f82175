package loop

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/runs"
)

func TestRunThatFailsDelaysNoOther(t *testing.T) {
	t.Parallel()
	for _, stuck := range []int{1, 40} {
		t.Run(fmt.Sprint(stuck), func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				store := newDueStore()
				store.addDue(stuck) // more than a batch, and first in the order
				for runID := range store.dueAtMs {
					store.failing[runID] = errors.New("constraint refused")
				}
				out := &logs{}
				stop := goOn(t, NewExpiry(store, ExpiryOptions{Batch: 8, Logger: out.logger()}).Run)
				defer stop()
				begin := nowMs()
				for second := range int64(120) {
					store.set(func() { store.dueAtMs[fmt.Sprintf("s%03d", second)] = begin + second*1000 + 300 })
				}
				time.Sleep(2 * time.Minute)
				synctest.Wait()
				require.Len(t, store.expireAt, 120)
				for second := range int64(120) {
					due := begin + second*1000 + 300
					require.LessOrEqual(t, store.expireAt[fmt.Sprintf("s%03d", second)]-due, pausedPoll.Milliseconds())
				}
				require.Less(t, out.count("loop items failed"), 15, "the failing runs back off, up to %s", lastPause)
				require.Less(t, store.asked, 800)

				store.set(func() { clear(store.failing) })
				time.Sleep(lastPause + time.Second)
				synctest.Wait()
				require.Len(t, store.expireAt, 120+stuck, "they are tried again")
			})
		})
	}
}

// refusing is a store that rejects all results for the effects of one session.
type refusing struct {
	*memory
	sessionID string
	tries     int
}

func (r *refusing) Do(ctx context.Context, command runs.Command) (runs.Reply, error) {
	if claim, ok := command.(*runs.ClaimEffect); ok && claim.SessionID == r.sessionID {
		r.tries++
		return runs.Reply{}, errors.New("constraint refused")
	}
	return r.memory.Do(ctx, command)
}

func TestEffectThatCannotBeClaimedDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		store := &refusing{memory: m, sessionID: "child"}
		m.ask(t)
		stop := goOn(t, NewEffects(store, EffectsOptions{batch: 1, Logger: slog.New(slog.DiscardHandler)}).Run)
		defer stop()
		time.Sleep(40 * time.Second)
		synctest.Wait()
		require.Less(t, store.tries, 10, "it backs off")

		on := m.askAs(t, "elder", "younger", "asking-too")
		time.Sleep(time.Second)
		synctest.Wait()
		require.NotNil(t, m.run("elder", on.RunID))
	})
}

// lockedStore blocks the commands of some runs, like a locked session.
type lockedStore struct {
	*dueStore
	locked map[string]bool
}

func (s *lockedStore) Do(ctx context.Context, command runs.Command) (runs.Reply, error) {
	if expire, ok := command.(*runs.ExpireRequests); ok && s.locked[expire.RunID] {
		sleep(ctx, 5*time.Second, nil)
		return runs.Reply{}, fmt.Errorf("%w: the session is locked", runs.ErrUnavailable)
	}
	return s.dueStore.Do(ctx, command)
}

func TestALockedSessionDelaysNoOtherDeadline(t *testing.T) {
	t.Parallel()
	for _, locked := range []int{1, 40} {
		t.Run(fmt.Sprint(locked), func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				store := &lockedStore{newDueStore(), map[string]bool{}}
				store.addDue(locked) // more than the concurrency
				for runID := range store.dueAtMs {
					store.locked[runID] = true
				}
				out := &logs{}
				stop := goOn(t, NewExpiry(store, ExpiryOptions{Batch: 8, Concurrency: 8, Logger: out.logger()}).Run)
				defer stop()
				begin := nowMs()
				for second := range int64(20) {
					store.set(func() { store.dueAtMs[fmt.Sprintf("s%03d", second)] = begin + second*1000 + 300 })
				}
				time.Sleep(30 * time.Second)
				synctest.Wait()
				require.Len(t, store.expireAt, 20)
				for second := range int64(20) {
					due := begin + second*1000 + 300
					require.LessOrEqual(t, store.expireAt[fmt.Sprintf("s%03d", second)]-due, 3*pausedPoll.Milliseconds())
				}
				require.Positive(t, out.count("loop items failed"), "a failure that comes late is logged")
				require.Less(t, store.asked, 400, "it does not ask again and again for what is locked")
			})
		})
	}
}
