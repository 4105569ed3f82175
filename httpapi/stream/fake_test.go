package stream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/runs/watch"
)

// fakeStore is the log of one session, "s", with the runs "a" and "b", without an inbox.
type fakeStore struct {
	Store
	hub *watch.Hub

	mu     sync.Mutex
	events []model.Event
	ended  bool
	broken bool
	// kept is the first event that is kept; deleted says that the session is gone.
	kept    int64
	deleted bool
	// eventReads and sessionReads count the calls.
	eventReads, sessionReads int
	// mostBytes is the size of the largest read.
	mostBytes int
}

var errBroken = errors.New("the database is gone")

func (f *fakeStore) CountPendingRequests(context.Context, reads.RequestQuery) (int64, error) {
	return 0, nil
}

func (f *fakeStore) Owners(context.Context, []string) (map[string]reads.Owners, error) {
	return nil, nil
}

func (f *fakeStore) NowMs(context.Context) (int64, error) { return 0, nil }

func (f *fakeStore) SessionHead(context.Context, string) (*model.Session, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sessionReads++
	if f.broken {
		return nil, errBroken
	}
	if f.deleted {
		return nil, refusal.UnknownSession("s")
	}
	session := &model.Session{SessionID: "s", LastEventID: int64(len(f.events)), FirstKeptEventID: f.kept}
	if f.ended {
		session.EndedAtMs = 1
	}
	return session, nil
}

func (f *fakeStore) EventsWithin(_ context.Context, q reads.EventQuery) (events []model.Event, more bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.eventReads++
	if f.broken {
		return nil, false, errBroken
	}
	events, more = within(f.events[max(0, min(int(f.kept)-1, len(f.events))):], q)
	f.mostBytes = max(f.mostBytes, bytesOfAll(events))
	return events, more, nil
}

// within returns the events that a query selects, as a store does.
func within(log []model.Event, q reads.EventQuery) (events []model.Event, more bool) {
	for _, event := range log {
		switch {
		case event.EventID <= q.After, q.RunID != "" && event.RunID != q.RunID, q.AboutRequests && !model.AboutRequest(event.Type):
		case len(events) == q.Limit, len(events) > 0 && bytesOfAll(events)+len(event.Body) > q.MaxBytes:
			return events, true
		default:
			events = append(events, event)
		}
	}
	return events, false
}

func bytesOfAll(events []model.Event) (size int) {
	for i := range events {
		size += len(events[i].Body)
	}
	return size
}

// add appends events, each "run type", and hints at them once.
func (f *fakeStore) add(events ...string) {
	f.addInSilence(events...)
	f.hub.Publish(reads.Notice{SessionID: "s"})
}

func (f *fakeStore) addInSilence(events ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, text := range events {
		runID, name, _ := strings.Cut(text, " ")
		f.events = append(f.events, model.Event{
			SessionID: "s", RunID: runID, EventID: int64(len(f.events) + 1), Type: api.EventType(name),
			Body: api.JSON(fmt.Sprintf("{\n\"type\" : %q}", name)),
		})
	}
}

// keepFrom deletes the events before one.
func (f *fakeStore) keepFrom(first int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.kept = first
}

// deleteSession deletes everything; events added later begin a new log.
func (f *fakeStore) deleteSession() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events, f.deleted = nil, true
}

func (f *fakeStore) end() {
	f.mu.Lock()
	f.ended = true
	f.mu.Unlock()
	f.hub.Publish(reads.Notice{SessionID: "s"})
}

func (f *fakeStore) setBroken(broken bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.broken = broken
}

func (f *fakeStore) reads() (events, sessions int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.eventReads, f.sessionReads
}

// sink is a reader that accepts everything, unless set otherwise.
type sink struct {
	mu      sync.Mutex
	text    bytes.Buffer
	flushes int
	// takes, when set, is asked before each write.
	takes func() error
}

func (s *sink) Write(text []byte) (int, error) {
	if s.takes != nil {
		if err := s.takes(); err != nil {
			return 0, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(text)
}

func (s *sink) Flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flushes++
	return nil
}

// seen returns the ids of the frames, and "-" for a comment.
func (s *sink) seen() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []string
	for line := range strings.Lines(s.text.String()) {
		if id, found := strings.CutPrefix(line, "id: "); found {
			list = append(list, strings.TrimSpace(id))
		}
		if strings.HasPrefix(line, ":") {
			list = append(list, "-")
		}
	}
	return strings.Join(list, " ")
}

// bench is a hub on a fake store, for a bubble.
type bench struct {
	*testing.T
	store *fakeStore
	hub   *Hub
}

func newBench(t *testing.T, options Options) *bench {
	t.Helper()
	store := &fakeStore{hub: watch.NewHub()}
	options.Store, options.Watches = store, store.hub
	return &bench{T: t, store: store, hub: NewHub(options)}
}

// follow follows the session and returns a function that ends it.
func (b *bench) follow(out *sink, from From) (stop func(), ended <-chan struct{}) {
	b.Helper()
	subscription, err := b.hub.Join("s")
	require.NoError(b, err)
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer subscription.Close()
		subscription.Follow(ctx, out, from)
	}()
	return func() {
		cancel()
		<-done
	}, done
}

// window returns the frames kept by the feed.
func (b *bench) window() (frames, size int, base int64) {
	f := b.hub.feeds["s"]
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.window.items), f.window.bytes, f.window.base
}

func isClosed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

func rangeText(first, last int) string {
	var list []string
	for i := first; i <= last; i++ {
		list = append(list, fmt.Sprint(i))
	}
	return strings.Join(list, " ")
}

func repeat(text string, count int) []string {
	list := make([]string, count)
	for i := range list {
		list[i] = text
	}
	return list
}
