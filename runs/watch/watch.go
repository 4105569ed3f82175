// Package watch signals commits of a session to the goroutines of this process that wait for
// them. The store's notices go into a [Hub], and every [Watch] of the session gets a signal.
//
// A signal carries no data: the receiver reads the rows, so one signal may stand for many
// commits. Take the watch first, then read, then wait for a signal and read again. A commit that
// the first read did not see is published after the watch was taken, so no commit is missed.
// Notices from other processes are hints and may be lost; [Until] therefore also polls.
//
// The package must not know SQL, HTTP, or what its users read.
package watch

import (
	"hash/maphash"
	"sync"

	"github.com/holdpoint/holdpoint/runs/reads"
)

// shardCount is the number of locks that sessions are spread over, to reduce contention between
// sessions.
const shardCount = 64

// Hub signals the watches of a notice's session. It is safe for concurrent use and starts no
// goroutine.
type Hub struct {
	seed   maphash.Seed
	shards [shardCount]shard
}

type shard struct {
	mu sync.Mutex
	// sessions has no empty lists: the last watch of a session removes its entry.
	sessions map[string][]*Watch
}

// NewHub returns a hub without watches.
func NewHub() *Hub {
	hub := &Hub{seed: maphash.MakeSeed()}
	for i := range hub.shards {
		hub.shards[i].sessions = map[string][]*Watch{}
	}
	return hub
}

// Publish signals every watch of the notice's session. A notice without a session means that
// hints may have been lost, and signals all watches. Publish never blocks, so the commit path
// may call it. It fits runs.Store.Subscribe.
func (h *Hub) Publish(notice reads.Notice) {
	if notice.SessionID != "" {
		s := h.shard(notice.SessionID)
		s.mu.Lock()
		defer s.mu.Unlock()
		signal(s.sessions[notice.SessionID])
		return
	}
	for i := range h.shards {
		s := &h.shards[i]
		s.mu.Lock()
		for _, watches := range s.sessions {
			signal(watches)
		}
		s.mu.Unlock()
	}
}

// Session returns a new watch of a session, which need not exist. The caller must close it.
func (h *Hub) Session(sessionID string) *Watch {
	w := &Watch{hub: h, sessionID: sessionID, c: make(chan struct{}, 1)}
	s := h.shard(sessionID)
	s.mu.Lock()
	defer s.mu.Unlock()
	w.index = len(s.sessions[sessionID])
	s.sessions[sessionID] = append(s.sessions[sessionID], w)
	return w
}

func (h *Hub) shard(sessionID string) *shard {
	return &h.shards[maphash.String(h.seed, sessionID)%shardCount]
}

func signal(watches []*Watch) {
	for _, w := range watches {
		select {
		case w.c <- struct{}{}:
		default: // the pending signal stands for this one too
		}
	}
}

// Watch gets a signal after each notice of its session.
type Watch struct {
	hub       *Hub
	sessionID string
	c         chan struct{}
	// index is the watch's position in its session's list, -1 once closed. The shard's lock
	// guards it.
	index int
}

// C returns the channel of signals. It holds at most one: notices may coalesce. At least one
// signal follows every notice after the call of Session. The channel is never closed.
func (w *Watch) C() <-chan struct{} { return w.c }

// Close ends the watch and frees what the hub holds for it. Closing it again is a no-op.
func (w *Watch) Close() {
	s := w.hub.shard(w.sessionID)
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.index < 0 {
		return
	}
	watches := s.sessions[w.sessionID]
	last := len(watches) - 1
	watches[w.index] = watches[last]
	watches[w.index].index = w.index
	watches[last] = nil
	w.index = -1
	if last == 0 {
		delete(s.sessions, w.sessionID)
		return
	}
	s.sessions[w.sessionID] = watches[:last]
}
