package hermes

import (
	"context"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/runs"
)

// boards are the sessions that somebody follows in this process. What waits in one of
// them is read and encoded once for all who follow it.
type boards struct {
	mu       sync.Mutex
	sessions map[string]*board
}

// board shows what waits in one session.
type board struct {
	sessionID string
	// users is how many follow it; the lock of all boards guards it.
	users  int
	queues [queueCount]struct {
		mu  sync.Mutex
		now *state
	}
}

// state is one queue as it stood after some event of the session's log, or later.
type state struct {
	eventID int64
	data    []byte // the JSON of a frame
}

// join returns the board of a session. The caller must leave it.
func (b *boards) join(sessionID string) *board {
	b.mu.Lock()
	defer b.mu.Unlock()
	shared := b.sessions[sessionID]
	if shared == nil {
		if b.sessions == nil {
			b.sessions = map[string]*board{}
		}
		shared = &board{sessionID: sessionID}
		b.sessions[sessionID] = shared
	}
	shared.users++
	return shared
}

func (b *boards) leave(shared *board) {
	b.mu.Lock()
	defer b.mu.Unlock()
	shared.users--
	if shared.users == 0 {
		delete(b.sessions, shared.sessionID)
	}
}

// after returns a queue as it stands after an event that was committed before the
// call. The first who asks for an event reads; the others wait and get the same.
func (b *board) after(ctx context.Context, reader runs.Reader, q *queue, eventID int64) (*state, error) {
	shared := &b.queues[q.index]
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.now != nil && shared.now.eventID >= eventID {
		return shared.now, nil
	}
	waiting, err := q.pending(ctx, reader, b.sessionID)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(waiting, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil, err
	}
	shared.now = &state{eventID: eventID, data: data}
	return shared.now, nil
}
