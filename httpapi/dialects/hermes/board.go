package hermes

import (
	"context"
	"sync"
	"time"

	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/runs"
)

// boards are the sessions that somebody follows in this process. What waits in one is
// read and encoded once for all who follow it and reach the same of it.
type boards struct {
	mu   sync.Mutex
	open map[boardKey]*board
}

type boardKey struct{ sessionID, scope string }

// board holds the queues of one session.
type board struct {
	boardKey
	// users counts the streams; the lock of all boards guards it.
	users  int
	queues [queueCount]struct {
		mu      sync.Mutex
		current *state
	}
}

// state is one queue as it stood after some event of the session's log, or later.
type state struct {
	eventID int64
	data    []byte // that of a frame
	readAt  time.Time
}

// join returns the board of a session. The caller must leave it.
func (b *boards) join(ctx context.Context, sessionID string) *board {
	b.mu.Lock()
	defer b.mu.Unlock()
	scope := runs.ScopeOf(auth.From(ctx))
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

// after returns a queue as it stands after an event that was committed before the call.
// The first caller for an event reads; the others wait for its result.
func (b *board) after(ctx context.Context, f *face, q *queue, eventID int64) (*state, error) {
	shared := &b.queues[q.index]
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.current != nil && shared.current.eventID >= eventID {
		return shared.current, nil
	}
	return b.read(ctx, f, q, eventID)
}

// again returns a queue as it stood less than an age ago.
func (b *board) again(ctx context.Context, f *face, q *queue, age time.Duration) (*state, error) {
	shared := &b.queues[q.index]
	shared.mu.Lock()
	defer shared.mu.Unlock()
	eventID := int64(0)
	if shared.current != nil {
		if now().Sub(shared.current.readAt) < age {
			return shared.current, nil
		}
		eventID = shared.current.eventID
	}
	return b.read(ctx, f, q, eventID)
}

// read reads a queue, whose lock the caller holds.
func (b *board) read(ctx context.Context, f *face, q *queue, eventID int64) (*state, error) {
	at := now()
	head, count, err := q.read(f, ctx, b.sessionID)
	if err != nil {
		return nil, err
	}
	read := &state{eventID: eventID, data: kit.Encode(pending{head, count}), readAt: at}
	b.queues[q.index].current = read
	return read, nil
}
