// Package stream lets many callers follow the log of a session while it grows, and the inbox: the
// requests of all sessions. Each followed session has one feed in this process. It reads and
// encodes each new event once, and all followers write the same bytes.
//
// A feed keeps only the newest frames. A slow follower reads the missing events from the store itself, up to the
// beginning of the window. So it does not slow the feed down, and a feed's memory is limited. A follower that resumes
// reads everything up to the end of the log from the store, because the window may have events that were redacted since.
//
// The inbox also has one reader. It subscribes to notices of commits about requests, of this
// process and of others, and publishes the events of those sessions' logs. It does not re-read and
// compare the open requests: that takes 12 ms with 1,000 open requests, where a notice of this
// process costs a microsecond and one of another process 0.1 ms. It would also miss a request that
// is raised and settled between two reads, and one beyond the limit of a snapshot. Notices can be
// lost, so the inbox also polls the open requests at long intervals, and sends all followers a new
// snapshot when they differ.
//
// The package knows the log, the frames of server-sent events (docs/streams.md), and the events
// that raise and settle a request. It knows nothing of SQL. Followers of the inbox see only their
// scope. Access to a session must be checked before a caller joins it.
package stream

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/runs/watch"
)

// Defaults of [Options].
const (
	DefaultMaxStreams   = 20_000
	DefaultPollInterval = time.Second
	DefaultKeepAlive    = 5 * time.Second
)

// How many polls per second all feeds share, to find commits whose hint was lost. With many feeds
// each one polls less often. Fewer polls are needed where the store hears of all commits: a hint is
// then lost only when a process dies before sending it.
const (
	pollsPerSecond        = 100
	pollsPerSecondUnheard = 500
)

// hearing is implemented by a [Store] that may hear of the commits of all processes.
type hearing interface{ Hears() bool }

// Store is the part of a [runs.Store] that feeds use.
type Store interface {
	reads.Reader
	Within(scope reads.Scope) reads.Reader
	runs.ListReader
	NowMs(ctx context.Context) (int64, error)
	Subscribe(func(reads.Notice)) (unsubscribe func())
}

// Options configure a [Hub]. Store and Watches are required.
type Options struct {
	Store   Store
	Watches *watch.Hub
	// Scope returns the scope of an inbox follower. Nil means everything.
	Scope func(context.Context) reads.Scope
	// Viewers returns who has a request open in their inbox, by principal. Nil for nobody.
	Viewers func(ctx context.Context, nowMs int64) ([]reads.Viewer, error)
	// Done ends every stream when it is closed. Nil never does.
	Done <-chan struct{}
	// Logger receives failed reads. Nil discards them.
	Logger *slog.Logger
	// MaxStreams is the maximum number of streams in this process.
	MaxStreams int
	// PollInterval is how often a feed polls without a hint. With more than 100 feeds, or 500 where
	// the store hears of all commits, feeds poll less often.
	PollInterval time.Duration
	// KeepAlive is the silence after which a follower is sent a comment, at most a twentieth later.
	KeepAlive time.Duration
}

// Hub holds the feeds of a process. It is safe for concurrent use. Without followers it has no
// goroutine.
type Hub struct {
	options   Options // with the defaults
	idle      idleTimer
	polls     int // per second, all feeds together
	ownStacks chan struct{}

	mu      sync.Mutex
	feeds   map[string]*feed
	inbox   *inbox // nil without followers
	streams int
}

// NewHub returns a hub without feeds.
func NewHub(options Options) *Hub {
	options.Logger = cmp.Or(options.Logger, slog.New(slog.DiscardHandler))
	options.MaxStreams = cmp.Or(options.MaxStreams, DefaultMaxStreams)
	options.PollInterval = cmp.Or(options.PollInterval, DefaultPollInterval)
	if options.Scope == nil {
		options.Scope = func(context.Context) reads.Scope { return reads.Scope{} }
	}
	polls := pollsPerSecondUnheard
	if store, ok := options.Store.(hearing); ok && store.Hears() {
		polls = pollsPerSecond
	}
	return &Hub{
		options: options, polls: polls, ownStacks: make(chan struct{}, maxOwnStacks),
		idle:  idleTimer{tick: cmp.Or(options.KeepAlive, DefaultKeepAlive) / (idleSlots - 2)},
		feeds: map[string]*feed{},
	}
}

// Subscription is a caller's subscription to a session's feed.
type Subscription struct {
	hub  *Hub
	feed *feed
}

// Join subscribes to the feed of a session, which need not exist. The subscription receives every
// later commit, so a snapshot that is read after Join misses nothing. The caller must close it.
// Errors: service_unavailable at the maximum number of streams; [runs.ErrClosed] during shutdown.
func (h *Hub) Join(sessionID string) (*Subscription, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.enter(); err != nil {
		return nil, err
	}
	f := h.feeds[sessionID]
	if f == nil || f.hasEnded() {
		// The subscriptions of a feed that has ended keep it. The id may be another session's by now.
		f = newFeed(h, sessionID)
		h.feeds[sessionID] = f
	}
	f.users++
	return &Subscription{hub: h, feed: f}, nil
}

// enter counts one more stream, or refuses it. The caller holds the lock.
func (h *Hub) enter() error {
	select {
	case <-h.options.Done:
		return runs.ErrClosed
	default:
	}
	if h.streams >= h.options.MaxStreams {
		return refusal.New(wire.CodeServiceUnavailable, "this process serves %d streams, the maximum; try again", h.options.MaxStreams)
	}
	h.streams++
	if h.streams == 1 {
		h.idle.start()
	}
	return nil
}

// SessionID is the session of the feed.
func (s *Subscription) SessionID() string { return s.feed.sessionID }

// Close ends the subscription, and the feed with its last subscription. Call it once.
func (s *Subscription) Close() {
	forget := func() {
		if s.hub.feeds[s.feed.sessionID] == s.feed {
			delete(s.hub.feeds, s.feed.sessionID)
		}
	}
	if last := s.hub.leave(&s.feed.users, forget); last {
		s.feed.stop()
	}
}

// leave uncounts one stream and one user of a reader. It reports whether this was the last user. In
// that case it has called forget, and a later stream starts a new reader.
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

// Open returns the number of open streams.
func (h *Hub) Open() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.streams
}

// pollAfter returns how long a feed waits for a hint before it polls.
func (h *Hub) pollAfter() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return max(h.options.PollInterval, time.Duration(len(h.feeds))*time.Second/time.Duration(h.polls))
}
