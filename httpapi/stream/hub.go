// Package stream lets many callers follow the log of a session while it grows, and the
// inbox: the requests of all sessions. Each session that somebody follows has one feed in
// this process: it reads new events once, encodes each once, and all followers write the
// same bytes.
//
// A feed keeps the newest frames only. A follower that is further behind, because it
// resumes or because it is slow, reads what it lacks from the store by itself, up to where
// the window begins. So a follower costs its own time and never the feed's, and the
// memory of a feed is bounded.
//
// The inbox has one reader too. It subscribes to notices of commits about requests, of
// this process and of others, and publishes the events of those sessions' logs. It does
// not re-read what is open and compare: that costs 12 ms with 1,000 requests open, where
// a notice of this process costs a microsecond and one of another process 0.1 ms, and it
// would not see a request that is raised and settled between two reads, nor one beyond
// the bound of a snapshot. Notices may be lost, so it polls what is open, seldom, and
// sends all followers a new snapshot when that differs from what they were shown.
//
// The package knows the log and the frames of server-sent events (docs/streams.md), and
// by what events a request is raised and settled. It knows nothing of SQL. Who follows the
// inbox is shown what its scope has; whoever joins a session has read it before.
package stream

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/runs/watch"
)

// The defaults of [Options].
const (
	DefaultMaxStreams   = 20_000
	DefaultPollInterval = time.Second
	DefaultKeepAlive    = 5 * time.Second
)

// How many polls a second all feeds together make for hints that were lost: with many
// feeds each polls less often. There are fewer where the store hears of all commits: then
// a hint is lost only when a process dies before it sends it.
const (
	pollsPerSecond        = 100
	pollsPerSecondUnheard = 500
)

// hearing is a [Store] that says whether it hears of all commits at once, those of other
// processes too. One that does not implement it does not.
type hearing interface{ Hears() bool }

// Store is what a feed reads. See [runs.Reader].
type Store interface {
	SessionHead(ctx context.Context, sessionID string) (*model.Session, error)
	EventsWithin(ctx context.Context, q runs.EventQuery) (events []model.Event, more bool, err error)
	PendingRequests(ctx context.Context, q runs.RequestQuery) ([]model.PendingRequest, error)
	CountPendingRequests(ctx context.Context, q runs.RequestQuery) (int64, error)
	Owners(ctx context.Context, runIDs []string) (map[string]runs.Owners, error)
	NowMs(ctx context.Context) (int64, error)
	Subscribe(func(runs.Notice)) (unsubscribe func())
}

// Options are what a [Hub] is made of. Store and Watches must be set.
type Options struct {
	Store   Store
	Watches *watch.Hub
	// Scope returns what the follower of a context reaches in the inbox. Nil for everything.
	Scope func(context.Context) runs.Scope
	// Done ends every stream when it is closed. Nil never does.
	Done <-chan struct{}
	// Logger gets the reads that failed. Nil discards.
	Logger *slog.Logger
	// MaxStreams bounds the streams of this process.
	MaxStreams int
	// PollInterval is how often a feed polls for events although no hint came; less often
	// with more than 100 feeds, or 500 where the store does not hear of all commits.
	PollInterval time.Duration
	// KeepAlive is how long a follower is sent nothing before it is sent a comment, which
	// comes at most a twentieth later.
	KeepAlive time.Duration
}

// Hub holds the feeds of a process. It is safe for concurrent use, and has no
// goroutine while nobody follows anything.
type Hub struct {
	store        Store
	watches      *watch.Hub
	scope        func(context.Context) runs.Scope
	done         <-chan struct{}
	logger       *slog.Logger
	maxStreams   int
	pollInterval time.Duration
	idle         idleTimer
	polls        int // a second, of all feeds
	ownStacks    chan struct{}

	mu      sync.Mutex
	feeds   map[string]*feed
	inbox   *inbox // nil while nobody follows it
	streams int
}

// NewHub returns a hub without feeds.
func NewHub(options Options) *Hub {
	logger := options.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	scope := options.Scope
	if scope == nil {
		scope = func(context.Context) runs.Scope { return runs.Scope{} }
	}
	polls := pollsPerSecondUnheard
	if store, ok := options.Store.(hearing); ok && store.Hears() {
		polls = pollsPerSecond
	}
	return &Hub{
		polls: polls, ownStacks: make(chan struct{}, maxOwnStacks),
		store: options.Store, watches: options.Watches, scope: scope, done: options.Done, logger: logger,
		maxStreams:   cmp.Or(options.MaxStreams, DefaultMaxStreams),
		pollInterval: cmp.Or(options.PollInterval, DefaultPollInterval),
		idle:         idleTimer{tick: cmp.Or(options.KeepAlive, DefaultKeepAlive) / (idleSlots - 2)},
		feeds:        map[string]*feed{},
	}
}

// Subscription is one caller's place at the feed of a session.
type Subscription struct {
	hub  *Hub
	feed *feed
}

// Join takes a place at the feed of a session, which need not exist. What is
// committed from now on reaches the subscription, so a snapshot that is read after
// Join misses nothing. The caller must close it. Errors: service_unavailable when
// there are as many streams as there may be; [runs.ErrClosed] when the service is
// shutting down.
func (h *Hub) Join(sessionID string) (*Subscription, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.enter(); err != nil {
		return nil, err
	}
	f := h.feeds[sessionID]
	if f == nil {
		f = newFeed(h, sessionID)
		h.feeds[sessionID] = f
	}
	f.users++
	return &Subscription{hub: h, feed: f}, nil
}

// enter counts one more stream, unless there may be none. The lock is held.
func (h *Hub) enter() error {
	select {
	case <-h.done:
		return runs.ErrClosed
	default:
	}
	if h.streams >= h.maxStreams {
		return refusal.New(wire.CodeServiceUnavailable, "this process serves %d streams, which is as many as it may; try again", h.maxStreams)
	}
	h.streams++
	if h.streams == 1 {
		h.idle.start()
	}
	return nil
}

// Close gives the place up, and ends the feed when it was the last. It must be
// called once.
func (s *Subscription) Close() {
	if last := s.hub.leave(&s.feed.users, func() { delete(s.hub.feeds, s.feed.sessionID) }); last {
		s.feed.stop()
	}
}

// leave counts one stream and one user of its reader less. It reports whether the user
// was the last; then it has called forget, and a later stream starts a new reader.
func (h *Hub) leave(users *int, forget func()) (last bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.streams--; h.streams == 0 {
		h.idle.stop()
	}
	if *users--; *users > 0 {
		return false
	}
	forget()
	return true
}

// Open returns how many streams are open.
func (h *Hub) Open() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.streams
}

// pollAfter returns how long a feed waits for a hint before it polls.
func (h *Hub) pollAfter() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return max(h.pollInterval, time.Duration(len(h.feeds))*time.Second/time.Duration(h.polls))
}
