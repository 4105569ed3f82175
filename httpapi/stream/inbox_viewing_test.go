package stream

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/runs/reads"
)

// viewers says who has which requests open, and counts how often it is asked.
type viewers struct {
	mu    sync.Mutex
	there []reads.Viewer
	err   error
	asked int
}

func (v *viewers) read(context.Context, int64) ([]reads.Viewer, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.asked++
	return v.there, v.err
}

func (v *viewers) say(err error, there ...reads.Viewer) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.there, v.err = there, err
	v.asked = 0
}

// taken returns what was written since the last call.
func (s *sink) taken() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.text.Reset()
	return s.text.String()
}

func TestAnInboxShowsWhoHasARequestOpen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := &viewers{}
		b := newInboxBench(t, Options{Viewers: v.read})
		follow := func(with InboxFrames) (*sink, func()) {
			subscription, err := b.hub.JoinInbox(t.Context())
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			shown, done := &sink{}, make(chan struct{})
			go func() {
				defer close(done)
				defer subscription.Close()
				subscription.Follow(ctx, shown, with)
			}()
			return shown, func() { cancel(); <-done }
		}
		poll := func() {
			time.Sleep(DefaultPollInterval + 5*time.Millisecond)
			synctest.Wait()
		}
		plain, stop := follow(InboxFrames{})
		defer stop()
		poll()
		require.Zero(t, v.asked, "nobody shows it")

		one, two := reads.Viewer{Principal: "user:ada", Handle: "h1", SessionID: "s"}, reads.Viewer{Principal: "user:ben", Handle: "h1", SessionID: "s"}
		v.say(nil, one, two)
		ada, cyd := "user:ada", "user:cyd"
		adas, stopAda := follow(InboxFrames{Viewing: &ada})
		cyds, stopCyd := follow(InboxFrames{Viewing: &cyd})
		poll()
		poll()
		require.Equal(t, 1, strings.Count(adas.taken(), `event: viewing`+"\n"+`data: {"requests":[{"handle":"h1","viewing":["user:ben"]}]}`), "once, without the reader")
		require.Contains(t, cyds.taken(), `{"requests":[{"handle":"h1","viewing":["user:ada","user:ben"]}]}`)

		// What changes nothing for a reader is not sent to them, and does not keep the stream's signs of life from them.
		v.say(nil, two)
		poll()
		require.Contains(t, cyds.taken(), `"viewing":["user:ben"]`)
		for n := range 10 {
			if v.say(nil, one, two); n%2 == 1 {
				v.say(nil, two)
			}
			poll()
		}
		heard := adas.taken()
		require.NotContains(t, heard, "viewing")
		require.Contains(t, heard, keepAliveComment)

		v.say(errors.New("cannot be read"))
		poll()
		require.Contains(t, adas.taken(), `{"requests":[]}`, "nobody counts as viewing then")
		b.board.commit("lost", "+1") // without a notice
		poll()
		poll()
		require.Contains(t, adas.taken(), "event: stream_gap", "what was missed is still found")
		v.say(nil, two)
		poll()
		require.Contains(t, adas.taken(), "user:ben")
		b.board.lose("s")
		b.board.tell(reads.Notice{})
		poll()
		require.Regexp(t, `(?s)event: snapshot.*event: viewing.*user:ben`, adas.taken(), "a snapshot ends it")

		stopAda()
		stopCyd()
		v.say(nil, one)
		poll()
		require.Zero(t, v.asked, "nobody shows it any more")
		require.NotContains(t, plain.taken(), "viewing")
	})
}
