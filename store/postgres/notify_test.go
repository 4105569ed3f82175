package postgres

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
)

func notices(count, claimable int) []reads.Notice {
	list := make([]reads.Notice, count)
	for i := range list {
		list[i] = reads.Notice{
			SessionID: fmt.Sprintf("s%d", i), FirstEventID: int64(i), LastEventID: int64(i) + 1, Prompts: i%2 == 0,
		}
		for j := range claimable {
			list[i].Claimable = append(list[i].Claimable, reads.Claimable{
				RunID: fmt.Sprintf("r%d-%d", i, j), SessionID: list[i].SessionID, AgentID: "agent", ClaimableAtMs: 1_750_000_000_000,
			})
		}
	}
	return list
}

// heard returns what a listener would publish.
func heard(payloads []string, replica string) (published []reads.Notice) {
	l := &listener{replica: replica, publish: func(n reads.Notice) { published = append(published, n) }}
	for _, payload := range payloads {
		l.publishPayload(payload)
	}
	return published
}

func TestPayloadsCarryTheNoticesWithinTheLimit(t *testing.T) {
	t.Parallel()
	for _, count := range []int{1, 50, 1000} {
		sent := notices(count, 1)
		payloads := payloadsOf("replica_1", sent)
		for _, payload := range payloads {
			require.Less(t, len(payload), 8000)
		}
		require.Equal(t, sent, heard(payloads, "replica_2"))
		require.Empty(t, heard(payloads, "replica_1"), "a replica ignores its own")
	}
	require.Empty(t, payloadsOf("replica_1", nil))
}

func TestWhatDoesNotFitTellsTheOthersToLook(t *testing.T) {
	t.Parallel()
	for name, list := range map[string][]reads.Notice{
		"too many sessions":   notices(5000, 1),
		"one that is too big": notices(1, 500),
	} {
		payloads := payloadsOf("replica_1", list)
		require.Len(t, payloads, 1, name)
		require.Equal(t, []reads.Notice{{}}, heard(payloads, "replica_2"), name)
	}
	require.Equal(t, []reads.Notice{{}}, heard([]string{"from another version"}, "replica_2"))
	require.Equal(t, []reads.Notice{{}}, heard([]string{strings.Repeat("[", 100)}, "replica_2"))
}

func TestHintsOfOneSessionAreOne(t *testing.T) {
	t.Parallel()
	n := &notifier{wake: make(chan struct{}, 1), waiting: map[string]reads.Notice{}}
	first, second := notices(1, 1)[0], notices(1, 1)[0]
	first.FirstEventID, first.LastEventID = 3, 5
	second.FirstEventID, second.LastEventID, second.Claimable[0].RunID, second.Prompts = 6, 7, "later", false
	second.Events = []*model.Event{{EventID: 6}, {EventID: 7}}
	n.add(reads.Notice{SessionID: first.SessionID})
	n.add(first)
	n.add(reads.Notice{SessionID: "other"})
	n.add(second)
	taken, greeted := n.takeWaiting()
	require.False(t, greeted)
	require.Len(t, taken, 2)
	require.EqualValues(t, 3, taken[0].FirstEventID, "the first event of all commits that had some")
	require.EqualValues(t, 7, taken[0].LastEventID)
	require.True(t, taken[0].Prompts)
	require.Len(t, taken[0].Claimable, 2)
	require.Nil(t, taken[0].Events, "what is not sent is not kept")
	taken, _ = n.takeWaiting()
	require.Empty(t, taken)
}

// A failed NOTIFY leaves others without a hint. The next one tells them to read the rows.
func TestWhatCouldNotBeToldIsMadeUpFor(t *testing.T) {
	t.Parallel()
	hearer := open(t, postgrestest.URL(t), Options{})
	heard := make(chan reads.Notice, 100)
	defer hearer.Subscribe(func(notice reads.Notice) { heard <- notice })()
	gone, err := pgxpool.New(t.Context(), "postgres://127.0.0.1:1/nothing")
	require.NoError(t, err)
	gone.Close()
	n := &notifier{tell: tellOn(gone), replica: "replica_2", logger: slog.New(slog.DiscardHandler), wake: make(chan struct{}, 1), waiting: map[string]reads.Notice{}}
	n.add(notices(1, 1)[0])
	require.False(t, n.send(t.Context()))
	require.True(t, n.lastFailed)
	n.tell = tellOn(hearer.lanes)
	told := reads.Notice{SessionID: "later", LastEventID: 7, FirstEventID: 7}
	require.Eventually(t, func() bool { // until the hearer listens
		n.lastFailed = true
		return n.send(t.Context()) && len(heard) > 1
	}, time.Minute, 10*time.Millisecond)
	n.add(told)
	require.True(t, n.send(t.Context()))
	for notice := range heard {
		if notice.SessionID != "" {
			require.Equal(t, told, notice, "from then on it is as before")
			return
		}
	}
}

// Under load hints gather for longer than at rest, but a worker at another replica that may claim a
// run does not wait for that.
func TestHintsGatherUnlessARunMayBeClaimed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		told := make(chan []string, 10)
		n := startNotifier(func(_ context.Context, payloads []string) error {
			var sessions []string
			for _, notice := range heard(payloads, "other") {
				sessions = append(sessions, notice.SessionID)
			}
			told <- sessions
			return nil
		}, "replica", nil, slog.New(slog.DiscardHandler))
		defer n.close()
		toldAfter := func(wait time.Duration, want ...string) {
			t.Helper()
			time.Sleep(wait)
			synctest.Wait()
			var got []string
			for len(told) > 0 {
				got = append(got, <-told...)
			}
			require.Equal(t, want, got)
		}
		n.add(reads.Notice{SessionID: "first", LastEventID: 1})
		toldAfter(0, "first")
		n.add(reads.Notice{SessionID: "second", LastEventID: 1})
		toldAfter(quietPause - time.Millisecond)
		toldAfter(time.Millisecond, "second")
		n.add(reads.Notice{SessionID: "third", LastEventID: 1})
		n.add(reads.Notice{SessionID: "fourth", LastEventID: 1, Claimable: []reads.Claimable{{RunID: "r", SessionID: "fourth", AgentID: "a", ClaimableAtMs: 1}}})
		toldAfter(notifyPause - time.Millisecond)
		toldAfter(time.Millisecond, "third", "fourth")
		n.add(reads.Notice{SessionID: "fifth", LastEventID: 1})
		toldAfter(notifyPause)
		n.add(reads.Notice{SessionID: "sixth", LastEventID: 1, Claimable: []reads.Claimable{{RunID: "r", SessionID: "sixth", AgentID: "a", ClaimableAtMs: 1}}})
		toldAfter(0, "fifth", "sixth")
	})
}
