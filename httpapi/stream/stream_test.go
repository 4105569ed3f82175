package stream

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

func bubble(t *testing.T, options Options, test func(*bench)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { test(newBench(t, options)) })
}

func TestFramesAreOneLine(t *testing.T) {
	t.Parallel()
	one, err := newFrame(&model.Event{
		SessionID: "s", EventID: 7, RunID: "r", AgentID: "a", Type: "delta", TimestampMs: 5,
		Body: api.JSON("{\n \"type\":\"delta\",\r\n\t\"text\":\"a\\nb\"}"),
	})
	require.NoError(t, err)
	require.Equal(t, "id: 7\nevent: delta\n"+
		`data: {"id":"7","timestamp_ms":5,"run_id":"r","session_id":"s","agent_id":"a","event":{"type":"delta","text":"a\nb"}}`+"\n\n", string(one.text))
	require.Len(t, one.text, cap(one.text), "the window holds no spare bytes")
}

func TestAFeedReadsOnceForAll(t *testing.T) {
	bubble(t, Options{}, func(b *bench) {
		b.store.addInSilence("a x", "a x")
		outs := make([]*sink, 100)
		for i := range outs {
			outs[i] = &sink{}
			stop, _ := b.follow(outs[i], From{Cursor: 2})
			defer stop()
		}
		synctest.Wait()
		events, sessions := b.store.reads()
		require.Equal(b, 0, events)
		require.Equal(b, 1, sessions)
		b.store.add("a x", "b x")
		synctest.Wait()
		b.store.add("a x")
		synctest.Wait()
		for _, out := range outs {
			require.Equal(b, "3 4 5", out.seen())
			require.Equal(b, 2, out.flushes, "one for each batch")
		}
		events, sessions = b.store.reads()
		require.Equal(b, 2, events, "one read for each hint, however many follow")
		require.Equal(b, 1, sessions)
	})
}

func TestAFeedFindsWhatNobodyHintedAt(t *testing.T) {
	bubble(t, Options{PollInterval: time.Second}, func(b *bench) {
		out := &sink{}
		stop, _ := b.follow(out, From{})
		defer stop()
		synctest.Wait()
		b.store.addInSilence("a x")
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(b, "1", out.seen())
	})
}

func TestAFeedGoesWithItsLastFollower(t *testing.T) {
	bubble(t, Options{}, func(b *bench) {
		first, _ := b.follow(&sink{}, From{})
		second, _ := b.follow(&sink{}, From{})
		first()
		require.Len(b, b.hub.feeds, 1)
		second()
		require.Empty(b, b.hub.feeds)
		_, before := b.store.reads()
		time.Sleep(time.Minute)
		_, after := b.store.reads()
		require.Equal(b, before, after, "nobody follows, and nobody reads")

		out := &sink{}
		third, _ := b.follow(out, From{})
		defer third()
		b.store.add("a x")
		synctest.Wait()
		require.Equal(b, "1", out.seen())
	})
}

// A follower behind the window reads from the store until it reaches the window.
func TestBehindTheWindow(t *testing.T) {
	bubble(t, Options{}, func(b *bench) {
		b.store.addInSilence(repeat("a x", 300)...)
		blocked := make(chan struct{})
		slow := &sink{takes: func() error { <-blocked; return nil }}
		fast, ofRun := &sink{}, &sink{}
		for out, from := range map[*sink]From{slow: {Cursor: 250}, fast: {Cursor: 250}, ofRun: {Cursor: 1, RunID: "b"}} {
			stop, _ := b.follow(out, from)
			defer stop()
		}
		synctest.Wait()
		b.store.add(append(repeat("a x", 599), "b x")...)
		synctest.Wait()
		b.store.add("a x")
		synctest.Wait()
		require.Equal(b, rangeText(251, 901), fast.seen())
		require.Equal(b, "900", ofRun.seen())
		require.Empty(b, slow.seen())
		frames, _, _ := b.window()
		require.LessOrEqual(b, frames, windowFrames, "the window is bounded, whichever reader is slow")
		close(blocked)
		synctest.Wait()
		require.Equal(b, rangeText(251, 901), slow.seen())
	})
}

// A reader is disconnected before it would miss deleted events; it reconnects and gets a gap.
func TestEventsThatAreDeletedBeforeTheyWereSentEndTheStream(t *testing.T) {
	bubble(t, Options{PollInterval: time.Second}, func(b *bench) {
		b.store.addInSilence(repeat("a x", 10)...)
		blocked := make(chan struct{})
		slow := &sink{takes: func() error { <-blocked; return nil }}
		fast, ofRun := &sink{}, &sink{}
		_, slowOver := b.follow(slow, From{Cursor: 10})
		_, fastOver := b.follow(fast, From{Cursor: 10})
		synctest.Wait()
		b.store.add("a x")
		synctest.Wait()
		b.store.add(repeat("a x", 600)...)
		synctest.Wait()
		b.store.keepFrom(301)
		close(blocked)
		synctest.Wait()
		require.Equal(b, rangeText(11, 611), fast.seen())
		require.False(b, isClosed(fastOver), "it has seen all that went")
		require.True(b, isClosed(slowOver))
		require.Equal(b, "11", slow.seen(), "and nothing behind the gap")

		_, runOver := b.follow(ofRun, From{Cursor: 100, RunID: "a"})
		synctest.Wait()
		require.True(b, isClosed(runOver))
		require.Empty(b, ofRun.seen())
		for _, closed := range []From{{Cursor: 100, Closed: true, End: 611}, {Cursor: 100, RunID: "a", Closed: true, End: 611}} {
			out := &sink{}
			_, over := b.follow(out, closed)
			synctest.Wait()
			require.True(b, isClosed(over))
			require.Empty(b, out.seen())
		}

		// The feed itself was away for so long that it misses some.
		b.store.setBroken(true)
		b.store.addInSilence(repeat("a x", 9)...)
		b.store.keepFrom(616)
		b.store.setBroken(false)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.True(b, isClosed(fastOver))
		require.Equal(b, rangeText(11, 611), fast.seen())
	})
}

func TestASessionThatIsDeletedEndsItsStreams(t *testing.T) {
	bubble(t, Options{PollInterval: time.Second}, func(b *bench) {
		for _, again := range []bool{false, true} {
			b.store.addInSilence("a x", "a x", "a x")
			out := &sink{}
			_, over := b.follow(out, From{Cursor: 2})
			synctest.Wait()
			require.Equal(b, "3", out.seen())
			b.store.deleteSession()
			b.store.deleted = !again
			b.store.addInSilence("b x")
			time.Sleep(2 * time.Second)
			synctest.Wait()
			require.True(b, isClosed(over))
			require.Equal(b, "3", out.seen())
			b.store.events, b.store.deleted = nil, false
		}
	})
}

// A dialect may keep the subscription of a session that has ended. A session that gets its id later has
// a feed of its own.
func TestAFeedThatHasEndedIsNotJoined(t *testing.T) {
	bubble(t, Options{}, func(b *bench) {
		b.store.addInSilence("a x", "a x")
		kept, err := b.hub.Join("s")
		require.NoError(b, err)
		_, over := b.follow(&sink{}, From{Cursor: 2})
		b.store.end()
		synctest.Wait()
		require.True(b, isClosed(over))

		b.store.deleteSession()
		b.store.deleted, b.store.ended = false, false
		b.store.addInSilence("b x")
		out := &sink{}
		stop, over := b.follow(out, From{Cursor: 1})
		synctest.Wait()
		b.store.add("b x")
		synctest.Wait()
		require.False(b, isClosed(over))
		require.Equal(b, "2", out.seen())
		kept.Close()
		require.Len(b, b.hub.feeds, 1, "the last subscription of the old feed does not remove the new one")
		stop()
		require.Empty(b, b.hub.feeds)
	})
}

func TestTheWindowIsBoundedByBytesAndLetGo(t *testing.T) {
	bubble(t, Options{PollInterval: time.Second}, func(b *bench) {
		out := &sink{}
		stop, _ := b.follow(out, From{})
		defer stop()
		synctest.Wait()
		large := "a " + strings.Repeat("x", 100<<10)
		for range 5 {
			b.store.add(large)
			synctest.Wait()
		}
		require.Equal(b, "1 2 3 4 5", out.seen())
		frames, size, base := b.window()
		require.LessOrEqual(b, size, windowBytes)
		require.Equal(b, int64(5-frames), base)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		frames, size, base = b.window()
		require.Equal(b, []int{0, 0, 5}, []int{frames, size, int(base)}, "a session that is quiet costs nothing")
		b.store.add("a x")
		synctest.Wait()
		require.Equal(b, "1 2 3 4 5 6", out.seen())
	})
}

func TestTheEnd(t *testing.T) {
	bubble(t, Options{}, func(b *bench) {
		b.store.addInSilence("a x")
		session, runA, runB := &sink{}, &sink{}, &sink{}
		_, sessionOver := b.follow(session, From{Cursor: 1})
		_, aOver := b.follow(runA, From{Cursor: 1, RunID: "a"})
		_, bOver := b.follow(runB, From{Cursor: 1, RunID: "b"})
		b.store.add("b x", "a completed", "b x")
		synctest.Wait()
		require.True(b, isClosed(aOver))
		require.Equal(b, "3", runA.seen())
		require.False(b, isClosed(bOver))
		require.False(b, isClosed(sessionOver))
		b.store.end()
		synctest.Wait()
		require.True(b, isClosed(bOver), "no run outlives its session")
		require.True(b, isClosed(sessionOver))
		require.Equal(b, "2 3 4", session.seen())
		require.Equal(b, "2 4", runB.seen())

		closed := &sink{}
		_, over := b.follow(closed, From{Cursor: 1, Closed: true, End: 4})
		synctest.Wait()
		require.True(b, isClosed(over))
		require.Equal(b, "2 3 4", closed.seen())
	})
}

func TestKeepAlive(t *testing.T) {
	bubble(t, Options{KeepAlive: 5 * time.Second}, func(b *bench) {
		session, run := &sink{}, &sink{}
		for out, from := range map[*sink]From{session: {}, run: {RunID: "b"}} {
			stop, _ := b.follow(out, from)
			defer stop()
		}
		time.Sleep(4900 * time.Millisecond)
		b.store.add("a x")
		synctest.Wait()
		time.Sleep(400 * time.Millisecond)
		synctest.Wait()
		require.Equal(b, "1", session.seen())
		require.Equal(b, "-", run.seen(), "events of other runs are silence")
		time.Sleep(4900 * time.Millisecond)
		synctest.Wait()
		require.Equal(b, "1 -", session.seen())
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(b, 12, strings.Count(session.seen(), "-"))
	})
}

// eventSink is a sink with its own frames.
type eventSink struct {
	sink
	calls [][]*model.Event
}

func (s *eventSink) Events(events []*model.Event) error {
	s.calls = append(s.calls, events)
	for _, event := range events {
		if _, err := fmt.Fprintf(&s.sink, "id: %d\n", event.EventID); err != nil {
			return err
		}
	}
	return nil
}

func (s *eventSink) KeepAlive() error {
	_, err := s.Write([]byte(":\n"))
	return err
}

func TestAFaceWithFramesOfItsOwnGetsTheEvents(t *testing.T) {
	bubble(t, Options{KeepAlive: 5 * time.Second}, func(b *bench) {
		b.store.addInSilence("a x", "b x", "a x")
		faces := map[string]*eventSink{}
		for name, from := range map[string]From{
			"session": {Cursor: 1}, "run": {RunID: "a"}, "over": {Closed: true, End: 3}, "gone": {Cursor: 3},
		} {
			face := &eventSink{}
			if name == "gone" {
				face.takes = func() error { return errors.New("broken pipe") }
			}
			faces[name] = face
			subscription, err := b.hub.Join("s")
			require.NoError(b, err)
			go func() {
				defer subscription.Close()
				subscription.Deliver(b.Context(), from, face)
			}()
		}
		synctest.Wait()
		b.store.add("b x", "a completed", "b x")
		synctest.Wait()
		time.Sleep(6 * time.Second)
		b.store.end()
		synctest.Wait()
		require.Equal(b, "2 3 4 5 6 -", faces["session"].seen())
		require.Equal(b, "1 3 5", faces["run"].seen())
		require.Equal(b, "1 2 3", faces["over"].seen())
		require.Empty(b, faces["gone"].seen())
		require.Len(b, faces["session"].calls[len(faces["session"].calls)-1], 3, "what came together is handed over together")
		require.Empty(b, b.hub.feeds, "all have ended")
	})
}

func TestAReaderThatTakesNoMore(t *testing.T) {
	bubble(t, Options{}, func(b *bench) {
		gone := &sink{takes: func() error { return errors.New("broken pipe") }}
		_, over := b.follow(gone, From{})
		other := &sink{}
		stop, _ := b.follow(other, From{})
		defer stop()
		b.store.add("a x")
		synctest.Wait()
		require.True(b, isClosed(over))
		require.Equal(b, "1", other.seen())
	})
}

func TestADatabaseThatIsAwayForAWhile(t *testing.T) {
	bubble(t, Options{PollInterval: time.Second}, func(b *bench) {
		b.store.setBroken(true)
		out := &sink{}
		stop, ended := b.follow(out, From{})
		defer stop()
		b.store.add("a x")
		time.Sleep(7 * time.Second)
		synctest.Wait()
		require.False(b, isClosed(ended), "the stream waits for the feed")
		b.store.setBroken(false)
		time.Sleep(time.Second)
		b.store.add("a x")
		synctest.Wait()
		require.Equal(b, "- 1 2", out.seen())

		b.store.setBroken(true)
		_, over := b.follow(&sink{}, From{Cursor: 0, Closed: true, End: 2})
		synctest.Wait()
		require.True(b, isClosed(over), "who reads alone ends, and may come back")
	})
}

func TestDoneEndsAllAndTakesNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		done := make(chan struct{})
		b := newBench(t, Options{Done: done, MaxStreams: 1})
		_, over := b.follow(&sink{}, From{})
		_, err := b.hub.Join("other")
		require.Equal(t, api.Code("service_unavailable"), refusal.CodeOf(err))
		close(done)
		<-over
		_, err = b.hub.Join("s")
		require.ErrorIs(t, err, runs.ErrClosed)
	})
}

type hearingStore struct {
	*fakeStore
	hears bool
}

func (s hearingStore) Hears() bool { return s.hears }

func TestManyFeedsLookLessOften(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		store Store
		feeds int
		want  time.Duration
	}{
		{&fakeStore{}, 1, time.Second},
		{&fakeStore{}, 1000, 2 * time.Second},
		{hearingStore{hears: false}, 1000, 2 * time.Second},
		{hearingStore{hears: true}, 100, time.Second},
		{hearingStore{hears: true}, 1000, 10 * time.Second},
	} {
		hub := NewHub(Options{Store: test.store, PollInterval: time.Second})
		for i := range test.feeds {
			hub.feeds[fmt.Sprint(i)] = nil
		}
		require.Equal(t, test.want, hub.pollAfter())
	}
}

func TestOnOwnStack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hub := NewHub(Options{})
		require.NoError(t, hub.OnOwnStack(t.Context(), func() error { return nil }))
		require.ErrorIs(t, hub.OnOwnStack(t.Context(), func() error { return errBroken }), errBroken)
		require.PanicsWithValue(t, "lost", func() { _ = hub.OnOwnStack(t.Context(), func() error { panic("lost") }) })
		var busy, most atomic.Int64
		for range 10 * maxOwnStacks {
			go func() {
				_ = hub.OnOwnStack(t.Context(), func() error {
					most.Store(max(most.Load(), busy.Add(1)))
					time.Sleep(time.Second)
					busy.Add(-1)
					return nil
				})
			}()
		}
		time.Sleep(time.Minute)
		require.EqualValues(t, maxOwnStacks, most.Load())
		require.Zero(t, busy.Load())
	})
}
