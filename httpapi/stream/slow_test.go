package stream

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// In a bubble, Wait returns when every goroutine is blocked, and no time passes meanwhile. So
// anything received by then did not wait for anyone.

func TestOneSlowReaderAmongAThousandDelaysNone(t *testing.T) {
	bubble(t, Options{KeepAlive: time.Hour}, func(b *bench) {
		const readers, events = 1000, 300
		deadline := make(chan struct{})
		slow := &sink{takes: func() error { <-deadline; return errors.New("the deadline of its connection") }}
		_, cut := b.follow(slow, From{})
		fast := make([]*sink, readers)
		for i := range fast {
			fast[i] = &sink{}
			stop, _ := b.follow(fast[i], From{})
			defer stop()
		}
		synctest.Wait()
		for range events {
			b.store.add("a x")
			synctest.Wait()
		}
		all := rangeText(1, events)
		for _, reader := range fast {
			require.Equal(b, all, reader.seen())
		}
		frames, _, _ := b.window()
		require.LessOrEqual(b, frames, windowFrames, "and nothing was kept for the slow one")
		require.False(b, isClosed(cut))
		close(deadline)
		synctest.Wait()
		require.True(b, isClosed(cut))
	})
}

func TestOneSlowReaderOfTheInboxAmongAThousandDelaysNone(t *testing.T) {
	inboxBubble(t, func(b *inboxBench) {
		const readers, events = 1000, 200
		deadline := make(chan struct{})
		slow := &inboxReader{takes: func() error { <-deadline; return errors.New("the deadline of its connection") }}
		_, cut := b.follow(slow)
		fast := make([]*inboxReader, readers)
		for i := range fast {
			fast[i] = &inboxReader{}
			stop, _ := b.follow(fast[i])
			defer stop()
		}
		settle()
		var all []string
		for i := range events {
			b.board.do("a", "+1")
			all = append(all, fmt.Sprintf("a:%d", i+1))
			synctest.Wait()
			require.Equal(b, all[i], fast[readers-1].last(), "it has come at once")
			settle()
		}
		for _, reader := range fast {
			require.Equal(b, "[0] "+strings.Join(all, " "), reader.said())
		}
		require.False(b, isClosed(cut))
		close(deadline)
		synctest.Wait()
		require.True(b, isClosed(cut))
	})
}

func (r *inboxReader) last() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.heard[len(r.heard)-1]
}
