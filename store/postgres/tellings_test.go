package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
)

// A replica knows of all workers only while every other listener tells.
func TestKnownWhileAllTell(t *testing.T) {
	t.Parallel()
	const here, one, older = 1, 2, 3
	type world struct {
		*audience
		now time.Time
		// there are the other listeners, and telling those that tell at each check.
		there, telling []int32
	}
	// checks makes regular checks; each listener tells before.
	checks := func(w *world, count int) {
		for range count {
			w.now = w.now.Add(audienceEvery)
			for _, pid := range w.telling {
				w.told(pid)
			}
			w.saw(w.there, w.changes, true)
		}
	}
	for name, c := range map[string]struct {
		happens func(w *world)
		known   int64 // checks
	}{
		"nobody else":   {func(w *world) { w.there, w.telling = nil, nil; checks(w, 3) }, 3},
		"before a look": {func(*world) {}, 0},
		"the other one tells": {func(w *world) {
			checks(w, 4)
		}, 4},
		"one of two is older and never tells": {func(w *world) {
			w.there = []int32{one, older}
			checks(w, 100)
		}, 0},
		"an older one leaves": {func(w *world) {
			w.there = []int32{one, older}
			checks(w, 100)
			w.there = []int32{one}
			checks(w, 2)
		}, 2},
		"one leaves": {func(w *world) {
			checks(w, 100)
			w.there = nil
			checks(w, 1)
		}, 1},
		"another comes": {func(w *world) {
			checks(w, 100)
			w.greeted()
			w.there, w.telling = []int32{one, 4}, []int32{one, 4}
			checks(w, 3)
		}, 3},
		"another comes and has not told": {func(w *world) {
			checks(w, 100)
			w.greeted()
			w.there = []int32{one, 4}
			checks(w, 3)
		}, 0},
		"its greeting is in the way of a check": {func(w *world) {
			checks(w, 100)
			before := w.changes
			w.greeted()
			w.saw(w.there, before, true)
		}, 0},
		"a check between": {func(w *world) {
			checks(w, 4)
			w.saw(w.there, w.changes, false)
		}, 4},
		"its tellings fail for a while": {func(w *world) {
			checks(w, 100)
			w.telling = nil
			checks(w, int(toldFor/audienceEvery))
		}, 100 + int64(toldFor/audienceEvery)},
		"its tellings fail for half a minute": {func(w *world) {
			checks(w, 100)
			w.telling = nil
			checks(w, 5)
		}, 0},
		"its tellings fail for longer": {func(w *world) {
			checks(w, 100)
			w.telling = nil
			checks(w, int(toldFor/audienceEvery)+1)
		}, 0},
		"and are back": {func(w *world) {
			checks(w, 100)
			w.telling = nil
			checks(w, int(toldFor/audienceEvery)+1)
			w.telling = []int32{one}
			checks(w, 2)
		}, 2},
		"this process was suspended": {func(w *world) {
			checks(w, 100)
			w.now = w.now.Add(toldFor + 1)
		}, 0},
		"the listener was away": {func(w *world) {
			checks(w, 100)
			w.listening(0)
			w.listening(here)
			w.telling = nil
			checks(w, 3)
		}, 0},
		"a telling of a replica that does not listen": {func(w *world) {
			w.telling = []int32{0}
			checks(w, 3)
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{now: time.Unix(1, 0), there: []int32{one}, telling: []int32{one}}
			w.audience = newAudience(nil)
			w.audience.now = func() time.Time { return w.now }
			w.listening(here)
			c.happens(w)
			require.Equal(t, c.known*audienceEvery.Milliseconds(), w.knownMs())
		})
	}
}

// asks is a process whose workers ask for these agents all the time.
type asks struct {
	any    bool
	agents []string
	// sinceMs are the questions of AskedSince.
	sinceMs []int64
	heard   chan reads.Asked
}

func (a *asks) AskedSince(ms int64) (reads.Asked, int64) {
	a.sinceMs = append(a.sinceMs, ms)
	asked := reads.Asked{Any: a.any}
	for _, agentID := range a.agents {
		asked.Agents = append(asked.Agents, reads.AskedAgent{AgentID: agentID, Named: true})
	}
	return asked, ms + 1000
}

func (a *asks) HearAsked(heard reads.Asked) { a.heard <- heard }

func TestWhenToTell(t *testing.T) {
	t.Parallel()
	a := &asks{agents: []string{"coder"}}
	var told []*telling
	var failure error
	n := &notifier{replica: "here", logger: slog.New(slog.DiscardHandler), tell: func(_ context.Context, payloads []string) error {
		for _, payload := range payloads {
			told = append(told, toldOf(t, payload))
		}
		return failure
	}}
	// checks makes regular checks and returns at which of them something was told.
	checks := func(count int) (at []int) {
		for i := range count {
			before := len(told)
			n.tellAsked(t.Context())
			if len(told) > before {
				at = append(at, i)
			}
		}
		return at
	}
	require.Empty(t, checks(10), "nothing to tell of")
	stop := n.tellings.share(a)
	require.Equal(t, []int{0, 2, 4}, checks(5))
	require.Equal(t, &telling{Agents: []reads.AskedAgent{{AgentID: "coder", Named: true}}}, told[0])
	a.agents = nil
	require.Equal(t, []int{1}, checks(2), "no claims is told, too")
	require.Equal(t, &telling{}, told[len(told)-1])
	a.agents = []string{"new"}
	require.Equal(t, []int{0, 2}, checks(3), "a new one at once, but once")
	a.any, a.agents = true, nil
	require.Equal(t, []int{0}, checks(1), "too many at once, too")
	require.True(t, told[len(told)-1].Any)

	a.any, a.agents, a.sinceMs = false, []string{"new"}, nil
	failure = errors.New("no connection")
	require.Equal(t, []int{0, 1, 2}, checks(3), "again until it is sent")
	failure = nil
	checks(1)
	require.Equal(t, a.sinceMs[0], a.sinceMs[3], "with all claims since the last that was sent")
	checks(1)
	require.Greater(t, a.sinceMs[4], a.sinceMs[3])

	n.tellings.again()
	require.Equal(t, []int{0}, checks(2), "a new listener")
	require.Zero(t, a.sinceMs[5])

	n.audience = newAudience(nil)
	n.audience.listening(7)
	require.EqualValues(t, 7, func() int32 { checks(6); return told[len(told)-1].PID }())
	n.audience.saw(nil, n.audience.changes, true)
	require.Empty(t, checks(20), "nobody else is there")
	n.audience = nil
	stop()
	require.Empty(t, checks(20))
}

func toldOf(t *testing.T, payload string) (told *telling) {
	t.Helper()
	require.LessOrEqual(t, len(payload), maxPayload)
	a := &asks{heard: make(chan reads.Asked, 1)}
	n := &notifier{audience: newAudience(nil)}
	n.tellings.share(a)
	l := &listener{replica: "other", notifier: n, publish: func(reads.Notice) { t.Fatal("a telling is not a commit") }}
	l.publishPayload(payload)
	heard := <-a.heard
	told = &telling{Any: heard.Any, Agents: heard.Agents}
	for pid := range n.audience.toldAt {
		told.PID = pid
	}
	return told
}

// A telling that does not fit says that workers may have asked for any agent.
func TestATellingHasALimit(t *testing.T) {
	t.Parallel()
	agents := func(count, bytes int) (asked reads.Asked) {
		for i := range count {
			asked.Agents = append(asked.Agents, reads.AskedAgent{AgentID: fmt.Sprintf("%d%s", i, strings.Repeat("x", bytes)), Named: i%2 == 0, ByRun: i%3 == 0})
		}
		return asked
	}
	for name, c := range map[string]struct {
		asked    reads.Asked
		payloads int
		any      bool
	}{
		"nothing":          {reads.Asked{}, 1, false},
		"one payload":      {agents(10, 100), 1, false},
		"several payloads": {agents(500, 100), 8, false},
		"too many":         {agents(1000, 200), 1, true},
		"one too long":     {agents(1, maxPayload), 1, true},
		"any":              {reads.Asked{Any: true, Agents: agents(3, 1).Agents}, 1, true},
	} {
		payloads := payloadsOfAsked("replica_1", 1234567, c.asked)
		require.Equal(t, c.payloads, len(payloads), name) //nolint:testifylint // payloads are long
		var got reads.Asked
		for _, payload := range payloads {
			told := toldOf(t, payload)
			require.EqualValues(t, 1234567, told.PID, name)
			got.Any = got.Any || told.Any
			got.Agents = append(got.Agents, told.Agents...)
		}
		if c.any {
			require.Equal(t, reads.Asked{Any: true}, got, name)
		} else {
			require.Equal(t, c.asked, got, name)
		}
	}
}

// Two replicas on a database tell one another, and know of all workers from then on.
func TestReplicasTellWhatWorkersAskFor(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	url := postgrestest.URL(t)
	here, there := open(t, url, Options{}), open(t, url, Options{})
	atHere, atThere := &asks{agents: []string{"reader"}, heard: make(chan reads.Asked, 100)}, &asks{agents: []string{"coder"}, heard: make(chan reads.Asked, 100)}
	defer here.ShareAsks(atHere)()
	// Both hear greetings. Their own regular checks may come in between.
	looks := func(s *Store) { require.NoError(t, s.notifier.audience.look(ctx, true)) }
	require.Eventually(t, func() bool {
		looks(here)
		looks(there)
		return here.notifier.audience.hasOthers() && there.notifier.audience.hasOthers()
	}, time.Minute, time.Millisecond)
	require.True(t, here.OthersServe())
	require.Zero(t, here.KnownMs(), "the other one, which tells nothing, may be of an older version")

	defer there.ShareAsks(atThere)()
	there.notifier.tellings.again()
	there.notifier.tellAsked(ctx)
	require.Equal(t, reads.Asked{Agents: []reads.AskedAgent{{AgentID: "coder", Named: true}}}, <-atHere.heard)
	require.Eventually(t, func() bool { looks(here); return here.KnownMs() > 0 }, time.Minute, time.Millisecond)
	require.True(t, here.OthersServe())

	require.NoError(t, there.Close())
	require.Eventually(t, func() bool { looks(here); return !here.OthersServe() }, time.Minute, time.Millisecond)
	require.LessOrEqual(t, here.KnownMs(), audienceEvery.Milliseconds(), "it begins again")
}

// hasOthers reports whether the last check found other listeners.
func (a *audience) hasOthers() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.others) > 0
}
