package stream

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
)

// Feeds and slow followers read events of the maximum size one by one, and lose none.
func TestLargeEventsAreReadInSmallParts(t *testing.T) {
	bubble(t, Options{}, func(b *bench) {
		const large, small = 40, 400
		body := api.JSON(`{"type":"x","text":"` + strings.Repeat("x", 1<<20) + `"}`)
		grow := func() {
			from := len(b.store.events)
			b.store.addInSilence(strings.Split(strings.Repeat("a x,", large)+strings.TrimSuffix(strings.Repeat("b x,", small), ","), ",")...)
			for i := from; i < from+large; i++ {
				b.store.events[i].Body = body
			}
		}
		grow()
		live, behind, one := &sink{}, &sink{}, &sink{}
		stop, _ := b.follow(live, From{Cursor: large + small})
		defer stop()
		synctest.Wait()
		grow()
		b.store.add("a x")
		synctest.Wait()
		require.Equal(b, rangeText(large+small+1, 2*(large+small)+1), live.seen())
		stop, _ = b.follow(behind, From{})
		defer stop()
		stop, _ = b.follow(one, From{RunID: "a"})
		defer stop()
		synctest.Wait()
		require.Equal(b, rangeText(1, 2*(large+small)+1), behind.seen())
		require.Equal(b, rangeText(1, large)+" "+rangeText(large+small+1, 2*large+small)+" 881", one.seen())
		require.LessOrEqual(b, b.store.mostBytes, len(body)+readBytes, "one large event, or what a read may have")
	})
}

// Unpublished events of a session are read up to a limit. Beyond it, followers get a gap and then
// the snapshot.
func TestAnInboxFarBehindIsAGap(t *testing.T) {
	inboxBubble(t, func(b *inboxBench) {
		reader := &inboxReader{}
		stop, _ := b.follow(reader)
		defer stop()
		settle()
		text := strings.Repeat("x", 1<<20)
		enlarge := func(session string) {
			for i := range b.board.logs[session] {
				b.board.logs[session][i].Body = api.JSON(strings.Replace(string(b.board.logs[session][i].Body), "{", `{"text":"`+text+`",`, 1))
			}
		}
		// Many sessions with a little each: nothing is lost, however much it is together.
		for _, session := range []string{"a", "b", "c", "d", "e", "f"} {
			first := far(b.board.commit(session, "+1", "+2", "-1"))
			enlarge(session)
			b.board.tell(first)
		}
		settle()
		require.NotContains(b, reader.said(), "!")
		require.Len(b, reader.shown(), 6)
		require.LessOrEqual(b, b.board.mostBytes, inboxReadBytes+1<<20)

		// A session with more events than are published at a time.
		first := far(b.board.commit("g", "+1", "+2", "+3", "+4", "+5", "-1", "-2"))
		enlarge("g")
		b.board.tell(first)
		settle()
		require.Contains(b, reader.said(), "!"+GapMissed)
		require.Len(b, reader.shown(), 9)
		require.LessOrEqual(b, b.board.mostBytes, inboxReadBytes+1<<20)
		b.board.do("g", "-3")
		settle()
		require.Len(b, reader.shown(), 8, "and it goes on")
	})
}

// Events attached to notices are dropped beyond a limit and read from the store.
func TestNoticesHoldFewBytes(t *testing.T) {
	inboxBubble(t, func(b *inboxBench) {
		reader := &inboxReader{}
		stop, _ := b.follow(reader)
		defer stop()
		settle()
		queue := newNoticeQueue()
		held := 0
		for n := range 64 {
			notice := b.board.commit("s"+strings.Repeat("x", n), "+1")
			notice.Events[0].Body = api.JSON(strings.Repeat("x", 1<<20))
			queue.add(notice)
		}
		notices, lost := queue.drain()
		require.False(b, lost)
		require.Len(b, notices, 64)
		for _, notice := range notices {
			held += bytesOf(notice.Events)
		}
		require.LessOrEqual(b, held, maxNoticeBytes)
		require.Positive(b, held)
		require.Zero(b, queue.bytes)
	})
}
