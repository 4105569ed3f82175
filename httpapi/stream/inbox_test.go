package stream

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

func inboxBubble(t *testing.T, test func(*inboxBench)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { test(newInboxBench(t, Options{KeepAlive: time.Hour})) })
}

// settle waits for everything that happens without a poll.
func settle() {
	time.Sleep(5 * time.Millisecond)
	synctest.Wait()
}

func TestTheInboxIsASnapshotAndThenWhatHappens(t *testing.T) {
	inboxBubble(t, func(b *inboxBench) {
		b.board.do("a", ".", "+1")
		reader := &inboxReader{}
		stop, _ := b.follow(reader)
		defer stop()
		settle()
		require.Equal(b, "[1]", reader.said())
		b.board.do("b", ".", "+1")
		settle()
		b.board.do("b", ".")
		b.board.do("b", "-1", ".")
		b.board.do("a", "-1")
		settle()
		require.Equal(b, "[1] b:2 b:4 a:3", reader.said())
		require.Empty(b, reader.shown())
	})
}

func TestTheInboxReadsOnceForAll(t *testing.T) {
	inboxBubble(t, func(b *inboxBench) {
		readers := make([]*inboxReader, 100)
		for i := range readers {
			readers[i] = &inboxReader{}
			stop, _ := b.follow(readers[i])
			defer stop()
		}
		settle()
		_, snapshots := b.board.reads()
		require.LessOrEqual(b, snapshots, 4, "a snapshot of two kinds, and one for those who came meanwhile")
		b.board.do("a", "+1")
		settle()
		b.board.do("a", "-1")
		settle()
		b.board.do("a", ".", ".")
		settle()
		for _, reader := range readers {
			require.Equal(b, "[0] a:1 a:2", reader.said())
		}
		events, after := b.board.reads()
		require.Equal(b, 1, events, "what joins on brings its events along, and only prompts are looked at")
		require.Equal(b, snapshots, after)
	})
}

// Notices of other replicas, some of which are faster than others.
func TestHintsInAnyOrder(t *testing.T) {
	inboxBubble(t, func(b *inboxBench) {
		reader := &inboxReader{}
		stop, _ := b.follow(reader)
		defer stop()
		settle()
		raised := far(b.board.commit("a", "+1"))
		settled := b.board.commit("a", ".", "-1")
		b.board.tell(settled)
		settle()
		require.Equal(b, "[0] a:3", reader.said())
		b.board.tell(raised)
		settle()
		require.Equal(b, "[0] a:3 a:1 a:3", reader.said(), "what was overtaken is told with all that came after it")
		require.Empty(b, reader.shown())

		b.board.commit("a", "+2")
		b.board.tell(b.board.commit("a", "+3"))
		b.board.tell(raised)
		settle()
		require.Equal(b, "[0] a:3 a:1 a:3 a:4 a:5", reader.said(), "what lies between is read too, and nothing twice")

		for range readEvents + 1 {
			b.board.commit("a", ".")
		}
		b.board.do("a", "-3")
		settle()
		events, _ := b.board.reads()
		require.Equal(b, 4, events, "what a worker wrote meanwhile is not read")
		require.Equal(b, []string{"a/2"}, reader.shown())

		raised = far(b.board.commit("b", "+1"))
		for range 3 * readEvents {
			b.board.commit("b", ".")
		}
		b.board.commit("b", "-1")
		b.board.tell(raised)
		settle()
		require.Equal(b, []string{"a/2"}, reader.shown(), "it is read to the end, however long it is")
	})
}

func TestLostHintsAreAGap(t *testing.T) {
	inboxBubble(t, func(b *inboxBench) {
		readers := make([]*inboxReader, 50)
		for i := range readers {
			readers[i] = &inboxReader{}
			stop, _ := b.follow(readers[i])
			defer stop()
		}
		settle()
		_, before := b.board.reads()
		b.board.commit("a", "+1")
		b.board.tell(reads.Notice{})
		settle()
		for _, reader := range readers {
			require.Equal(b, "[0] !missed [1]", reader.said())
		}
		_, after := b.board.reads()
		require.LessOrEqual(b, after-before, 4)

		for range 100 {
			b.board.tell(reads.Notice{})
			time.Sleep(10 * time.Millisecond)
		}
		b.board.do("b", "+1")
		time.Sleep(time.Second)
		synctest.Wait()
		require.LessOrEqual(b, len(readers[0].heard), 20, "many are told of as a few")
		require.Equal(b, []string{"a/1", "b/1"}, readers[0].shown())
	})
}

// A database that lost events reuses their ids. Followers get the new events, too.
func TestAnotherHistoryUnderTheSameIDsIsShown(t *testing.T) {
	inboxBubble(t, func(b *inboxBench) {
		reader := &inboxReader{}
		stop, _ := b.follow(reader)
		defer stop()
		settle()
		b.board.do("a", "+1")
		b.board.do("a", ".")
		settle()
		require.Equal(b, []string{"a/1"}, reader.shown())
		b.board.lose("a")
		b.board.tell(reads.Notice{})
		settle()
		require.Empty(b, reader.shown())
		b.board.tell(far(b.board.commit("a", "+2")))
		settle()
		require.Equal(b, []string{"a/2"}, reader.shown())
	})
}

func TestTooManyHintsAreAGap(t *testing.T) {
	inboxBubble(t, func(b *inboxBench) {
		reader := &inboxReader{}
		stop, _ := b.follow(reader)
		defer stop()
		settle()
		b.board.held = make(chan struct{})
		b.board.do("a", "+1")
		synctest.Wait()
		for i := range maxNotices + 1 {
			b.board.do(fmt.Sprint("s", i), "+1", "-1")
		}
		close(b.board.held)
		settle()
		require.Equal(b, "[0] a:1 !missed [1]", reader.said())
	})
}

func TestWhatNobodyHintedAtIsFound(t *testing.T) {
	inboxBubble(t, func(b *inboxBench) {
		b.board.commit("a", "+1")
		reader := &inboxReader{}
		stop, _ := b.follow(reader)
		defer stop()
		settle()
		b.board.commit("a", "-1")
		b.board.commit("b", "+1")
		b.board.do("c", "+1")
		time.Sleep(1200 * time.Millisecond)
		synctest.Wait()
		require.Equal(b, "[1] c:1 !missed [2]", reader.said())
		require.Equal(b, []string{"b/1", "c/1"}, reader.shown())
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(b, "[1] c:1 !missed [2]", reader.said(), "nothing happens, and nothing is told")
	})
}

func TestAHintThatIsOnItsWayIsNoGap(t *testing.T) {
	inboxBubble(t, func(b *inboxBench) {
		reader := &inboxReader{}
		stop, _ := b.follow(reader)
		defer stop()
		time.Sleep(990 * time.Millisecond)
		notice := far(b.board.commit("a", "+1"))
		time.Sleep(50 * time.Millisecond)
		b.board.tell(notice)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(b, "[0] a:1", reader.said())
	})
}

func TestASnapshotIsBounded(t *testing.T) {
	inboxBubble(t, func(b *inboxBench) {
		for i := range snapshotRequests + 1 {
			b.board.commit(fmt.Sprintf("s%04d", i), "+1")
		}
		reader := &inboxReader{}
		stop, _ := b.follow(reader)
		defer stop()
		settle()
		require.Len(b, reader.shown(), snapshotRequests)
		require.True(b, reader.more)
		b.board.do("a", "+1")
		settle()
		b.board.do("a", "-1")
		time.Sleep(10 * time.Second)
		synctest.Wait()
		require.Equal(b, "[1000] a:1 a:2", reader.said())

		b.board.commit("a", "+2")
		time.Sleep(10 * time.Second)
		synctest.Wait()
		require.Equal(b, "[1000] a:1 a:2 !missed [1000]", reader.said(), "a lost hint is found when there was no other")

		b.board.do("s0000", "-1")
		b.board.do("s0001", "-1")
		time.Sleep(10 * time.Second)
		synctest.Wait()
		require.False(b, reader.more)
		require.Equal(b, b.board.shown(), reader.shown(), "what was not shown is, as soon as it can be")
	})
}

// A slow follower gets a gap and does not delay the others.
func TestASlowReaderOfTheInbox(t *testing.T) {
	inboxBubble(t, func(b *inboxBench) {
		blocked := make(chan struct{})
		slow, fast := &inboxReader{}, &inboxReader{}
		slow.takes = func() error { <-blocked; return nil }
		for _, reader := range []*inboxReader{slow, fast} {
			stop, _ := b.follow(reader)
			defer stop()
		}
		settle()
		for i := range inboxEvents + 10 {
			b.board.do("a", "+1")
			if i%50 == 0 {
				settle()
			}
		}
		settle()
		require.Len(b, fast.heard, 1+inboxEvents+10)
		require.LessOrEqual(b, b.kept(), inboxEvents)
		close(blocked)
		settle()
		require.Equal(b, "[0] !slow [1]", slow.said())
		time.Sleep(time.Minute)
		require.Zero(b, b.kept(), "an inbox that is quiet costs nothing")
		b.board.do("a", "-1")
		settle()
		require.Empty(b, slow.shown())
		require.Empty(b, fast.shown())
	})
}

func TestTheInboxWhileTheDatabaseIsAway(t *testing.T) {
	inboxBubble(t, func(b *inboxBench) {
		reader := &inboxReader{}
		stop, _ := b.follow(reader)
		defer stop()
		settle()
		b.board.setBroken(true)
		b.board.do("a", "+1")
		time.Sleep(10 * time.Second)
		synctest.Wait()
		require.Equal(b, "[0] !missed", reader.said())
		refused, err := b.hub.JoinInbox(t.Context())
		require.NoError(b, err)
		require.ErrorIs(b, refused.Open(b.Context()), errBroken)
		refused.Close()
		b.board.setBroken(false)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.Equal(b, "[0] !missed [1]", reader.said())
	})
}

func TestTheInboxGoesWithItsLastFollower(t *testing.T) {
	inboxBubble(t, func(b *inboxBench) {
		first, _ := b.follow(&inboxReader{})
		second, _ := b.follow(&inboxReader{})
		first()
		require.Len(b, b.board.subscribers, 1)
		second()
		require.Empty(b, b.board.subscribers)
		_, before := b.board.reads()
		time.Sleep(time.Minute)
		_, after := b.board.reads()
		require.Equal(b, before, after)

		again := &inboxReader{}
		stop, _ := b.follow(again)
		defer stop()
		b.board.do("a", "+1")
		settle()
		require.Equal(b, []string{"a/1"}, again.shown())
	})
}

func TestTheInboxIsKeptAliveAndEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		done := make(chan struct{})
		b := newInboxBench(t, Options{Done: done, MaxStreams: 2})
		reader := &inboxReader{}
		_, ended := b.follow(reader)
		gone := &inboxReader{takes: func() error { return errStopped }}
		_, over := b.follow(gone)
		<-over
		time.Sleep(11 * time.Second)
		synctest.Wait()
		require.Equal(t, "[0] - -", reader.said())
		_, other := b.follow(&inboxReader{})
		_, err := b.hub.JoinInbox(t.Context())
		require.Equal(t, api.Code("service_unavailable"), refusal.CodeOf(err))
		close(done)
		<-ended
		<-other
		_, err = b.hub.JoinInbox(t.Context())
		require.ErrorIs(t, err, runs.ErrClosed)
	})
}
