package deliver

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/webhooks"
)

// TestALaneTriesAFailingReceiverWithOneAttempt: otherwise it starts as many as there is room for.
func TestALaneTriesAFailingReceiverWithOneAttempt(t *testing.T) {
	t.Parallel()
	for failures, begun := range map[int]int{0: 3, failuresBeforePause: 1} {
		l := newLaneLoop()
		_, err := l.fill(3, &breaker{failures: failures}, func(limit int) ([]reads.DueEffect, error) {
			return []reads.DueEffect{{EffectID: "a"}, {EffectID: "b"}, {EffectID: "c"}, {EffectID: "d"}}[:limit], nil
		}, func(one reads.DueEffect) result { return result{due: one} })
		require.NoError(t, err)
		require.Len(t, l.underWay, begun)
		for range begun {
			<-l.done
		}
	}
}

// stuckStore has due messages. No effect of the session "stuck" can be claimed: each claim waits for the lock in vain.
type stuckStore struct {
	Store
	mu      sync.Mutex
	due     []reads.DueEffect
	claims  map[string]int
	most    int
	waiting int
}

// claimed returns how often an effect of a session was to be claimed, and how many claims wait at the most.
func (s *stuckStore) claimed(sessionID string) (count, most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.claims[sessionID], s.most
}

func (s *stuckStore) DueNotices(_ context.Context, _ string, limit int) ([]reads.DueEffect, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.due[:min(limit, len(s.due))]), nil
}

func (s *stuckStore) DueDeliveries(ctx context.Context, webhookID string, limit int) ([]reads.DueEffect, error) {
	return s.DueNotices(ctx, webhookID, limit)
}

func (s *stuckStore) Do(_ context.Context, command runs.Command) (runs.Reply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch c := command.(type) {
	case *runs.FanOutDeliveries:
		return runs.Reply{}, s.waitInVain()
	case *runs.ClaimEffect:
		s.claims[c.SessionID]++
		if c.SessionID == "stuck" {
			return runs.Reply{}, s.waitInVain()
		}
		return runs.Reply{Effect: &model.Effect{SessionID: c.SessionID, EffectID: c.EffectID, Attempts: 1}}, nil
	case *runs.FinishEffect:
		s.due = slices.DeleteFunc(s.due, func(one reads.DueEffect) bool { return one.EffectID == c.EffectID })
	}
	return runs.Reply{}, nil
}

// waitInVain waits for a lock. The caller holds the lock of the store.
func (s *stuckStore) waitInVain() error {
	s.waiting++
	s.most = max(s.most, s.waiting)
	s.mu.Unlock()
	time.Sleep(5 * time.Second)
	s.mu.Lock()
	s.waiting--
	return runs.ErrUnavailable
}

// A session that stays locked must not stop the channel, however many of its messages are due first.
func TestALockedSessionHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	for _, stuck := range []int{5, 3000} {
		t.Run(fmt.Sprint(stuck), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := &stuckStore{claims: map[string]int{}}
				for n := range stuck {
					store.due = append(store.due, reads.DueEffect{SessionID: "stuck", EffectID: model.NoticeEffectID("mail", fmt.Sprint(n), "user:ada", 0)})
				}
				add := func(session string) {
					store.mu.Lock()
					defer store.mu.Unlock()
					store.due = append(store.due, reads.DueEffect{SessionID: session, EffectID: model.NoticeEffectID("mail", session, "user:ada", 0)})
				}
				add("first")
				d := New(store, Options{Notices: &refusing{permanent: true}, Logger: slog.New(slog.DiscardHandler)})
				ctx, cancel := context.WithCancel(t.Context())
				var running sync.WaitGroup
				running.Go(func() { d.notices["mail"].run(ctx) })
				defer running.Wait()
				defer cancel()

				time.Sleep(10 * time.Second)
				synctest.Wait()
				claims, most := store.claimed("first")
				require.Equal(t, 1, claims, "it is claimed after one failure of each slot")
				require.Equal(t, noticesAtOnce, most)
				store.mu.Lock()
				store.most = store.waiting
				store.mu.Unlock()
				add("second")
				time.Sleep(2 * pace)
				synctest.Wait()
				claims, _ = store.claimed("second")
				require.Equal(t, 1, claims, "a session that is stuck has one slot at most")

				before, _ := store.claimed("stuck")
				time.Sleep(2 * time.Minute)
				synctest.Wait()
				claims, most = store.claimed("stuck")
				require.LessOrEqual(t, most, 1)
				require.Greater(t, claims, before+1, "it is tried again")
			})
		})
	}
}

// Fan-outs of locked sessions are due first, and there are more of them than slots.
func TestFanOutsOfLockedSessionsHoldUpNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &stuckStore{claims: map[string]int{}}
		for n := range 5 {
			session := fmt.Sprint("locked", n)
			store.due = append(store.due, reads.DueEffect{SessionID: session, EffectID: model.FanOutEffectID("wh", session, 1)})
		}
		store.due = append(store.due, reads.DueEffect{SessionID: "free", EffectID: model.WebhookEffectID("wh", "free", 1)})
		l := newLane(New(store, Options{Logger: slog.New(slog.DiscardHandler)}), &webhooks.Endpoint{
			WebhookID: "wh", UpdatedAtMs: 1, Settings: webhooks.Settings{MaxConcurrency: 4},
		})
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { l.run(ctx) })
		defer running.Wait()
		defer cancel()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		claims, _ := store.claimed("free")
		require.Equal(t, 1, claims, "it is claimed after one failure of each slot")
	})
}

// An admin may enable a webhook again before the result of the 410 that disabled it is recorded.
func TestAWebhookThatIsEnabledAgainIsDeliveredTo(t *testing.T) {
	t.Parallel()
	endpoint := func(updatedAtMs int64) *webhooks.Endpoint {
		return &webhooks.Endpoint{WebhookID: "wh", UpdatedAtMs: updatedAtMs, Settings: webhooks.Settings{MaxConcurrency: 4}}
	}
	for enabledMs, begun := range map[int64]int{1: 0, 3: 1} {
		store := &stuckStore{claims: map[string]int{}, due: []reads.DueEffect{{SessionID: "free", EffectID: model.WebhookEffectID("wh", "free", 1)}}}
		l := newLane(New(store, Options{Logger: slog.New(slog.DiscardHandler)}), endpoint(1))
		l.endpoint.Store(endpoint(enabledMs))
		l.ended(result{attempted: true, goneMs: 1})
		l.start(t.Context())
		require.Len(t, l.underWay, begun)
		for range begun {
			<-l.done
		}
	}
}

// Nothing is given up in a session that stays locked, which is waited for once.
func TestALockedSessionIsWaitedForOnceByWhatIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &stuckStore{claims: map[string]int{}}
		for n, session := range []string{"stuck", "stuck", "free", "stuck"} {
			store.due = append(store.due, reads.DueEffect{SessionID: session, EffectID: model.NoticeEffectID("gone", fmt.Sprint(n), "user:ada", 0)})
		}
		d := New(store, Options{Notices: &refusing{permanent: true}, Logger: slog.New(slog.DiscardHandler)})
		d.giveUp(t.Context(), func() ([]reads.DueEffect, error) { return store.DueNotices(t.Context(), "gone", 100) })
		require.Equal(t, map[string]int{"stuck": 1, "free": 1}, store.claims)
	})
}

// However many sessions are stuck, half of the slots are for the others.
func TestManyStuckSessionsUseHalfOfTheSlots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stuck := stuckSessions{}
		for n := range 20 {
			stuck.ended(result{due: reads.DueEffect{SessionID: fmt.Sprint(n)}, unclaimed: true})
		}
		time.Sleep(pace + 1)
		for slots, want := range map[int]int{4: 2, 3: 1, 1: 1} {
			begun := 0
			for n := range 20 {
				if id := fmt.Sprint(n); !stuck.skips(id, slots) {
					stuck.begun(id)
					begun++
				}
			}
			require.Equal(t, want, begun)
			for id, one := range stuck {
				one.trying = false
				stuck[id] = one
			}
		}
	})
}

// Sessions whose messages another replica has sent are forgotten, and no number of them grows the memory.
func TestStuckSessionsAreForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stuck := stuckSessions{}
		for n := range 2 * stuckKept {
			stuck.ended(result{due: reads.DueEffect{SessionID: fmt.Sprint(n)}, unclaimed: true})
		}
		require.Len(t, stuck, stuckKept)
		require.True(t, stuck.skips("1", 4))
		stuck.ended(result{due: reads.DueEffect{SessionID: "1"}})
		require.False(t, stuck.skips("1", 4), "it could be claimed")
		time.Sleep(2*longestStuck + pace + 1)
		stuck.forget()
		require.Empty(t, stuck)
	})
}
