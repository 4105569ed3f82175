package hermes

import (
	"bytes"
	"context"
	"sync"
	"time"

	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// boards are the sessions that are followed in this process. Each queue of a session is read and
// encoded once for all followers with the same scope.
type boards struct {
	mu   sync.Mutex
	open map[boardKey]*board
}

type boardKey struct{ sessionID, scope string }

// board holds the queues of one session.
type board struct {
	boardKey
	// users counts the streams. The lock of boards guards it.
	users  int
	queues [queueCount]struct {
		mu      sync.Mutex
		current *state
		// below counts the open requests of sessions below at lookedAt. involved says that there
		// are or were such requests, or that current may show one.
		below    int64
		lookedAt time.Time
		involved bool
		// uncounted says that current was read with open requests, which may be of sessions below
		// and were not counted since.
		uncounted bool
	}
}

// state is a queue as it was after some event of the session's log, or later.
type state struct {
	// life is the session's, because another session may use the id again and count from 1.
	life    string
	eventID int64
	data    []byte // data of a frame
}

// join returns the board of a session. The caller must leave it.
func (b *boards) join(ctx context.Context, sessionID string) *board {
	b.mu.Lock()
	defer b.mu.Unlock()
	scope := reads.ScopeOf(auth.From(ctx))
	key := boardKey{sessionID, scope.Key()}
	shared := b.open[key]
	if shared == nil {
		if b.open == nil {
			b.open = map[boardKey]*board{}
		}
		shared = &board{boardKey: key}
		b.open[key] = shared
	}
	shared.users++
	return shared
}

func (b *boards) leave(shared *board) {
	b.mu.Lock()
	defer b.mu.Unlock()
	shared.users--
	if shared.users == 0 {
		delete(b.open, shared.boardKey)
	}
}

// after returns a queue as of an event of a session's life committed before the call, or later. The first
// caller for an event reads it; the others wait for the result.
func (b *board) after(ctx context.Context, f *face, q *queue, life string, eventID int64) (*state, error) {
	shared := &b.queues[q.index]
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.current != nil && shared.current.life == life && shared.current.eventID >= eventID {
		return shared.current, nil
	}
	return b.read(ctx, f, q, life, eventID)
}

// again returns a queue that was read less than an age ago when the followed log does not report its changes: there is
// no log, or the queue has, had, or may show requests of sessions below. Otherwise it returns nil: the session's own
// events report every change.
func (b *board) again(ctx context.Context, f *face, q *queue, age time.Duration) (*state, error) {
	shared := &b.queues[q.index]
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if kit.Now().Sub(shared.lookedAt) < age {
		if shared.involved {
			return shared.current, nil
		}
		return nil, nil
	}
	// Without a log no event reports a change: the session does not exist, or the caller reaches only runs of it.
	unfollowed := shared.current == nil || shared.current.life == ""
	var below int64
	if !unfollowed {
		var err error
		if below, err = f.openBelow(ctx, q.kind, b.sessionID); err != nil {
			return nil, err
		}
	}
	shared.lookedAt, shared.involved = kit.Now(), unfollowed || below > 0 || shared.below > 0 || shared.uncounted
	if !shared.involved || below < 0 {
		return nil, nil
	}
	shown, life, eventID := shared.current, "", int64(0)
	if shown != nil {
		life, eventID = shown.life, shown.eventID
	}
	next, err := b.read(ctx, f, q, life, eventID)
	if err != nil {
		return nil, err
	}
	shared.below = below
	if shown != nil && bytes.Equal(next.data, shown.data) {
		shared.uncounted = false // otherwise it may show a request that was raised after the count
	}
	return next, nil
}

// openBelow counts the open requests of the sessions below. It returns -1 when the session's own
// requests changed meanwhile.
func (f *face) openBelow(ctx context.Context, kind model.RequestKind, sessionID string) (int64, error) {
	count := func(below bool) (int64, error) {
		return f.Store.Reader(ctx).CountPendingRequests(ctx, reads.RequestQuery{Kind: kind, SessionID: sessionID, Below: below})
	}
	own, err := count(false)
	if err != nil {
		return 0, err
	}
	all, err := count(true)
	if err != nil {
		return 0, err
	}
	if later, err := count(false); err != nil || later != own {
		return -1, err
	}
	return all - own, nil
}

// read reads a queue. The caller holds the queue's lock.
func (b *board) read(ctx context.Context, f *face, q *queue, life string, eventID int64) (*state, error) {
	head, count, err := q.read(f, ctx, b.sessionID)
	if err != nil {
		return nil, err
	}
	read := &state{life: life, eventID: eventID, data: kit.Encode(pending{head, count})}
	b.queues[q.index].current, b.queues[q.index].uncounted = read, count > 0
	return read, nil
}
