package multiplex

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// maxWaiting is how many bytes wait to be written before whoever adds more waits, too.
const maxWaiting = 256 << 10

// keptBytes bounds a buffer that is kept for the next message.
const keptBytes = 128 << 10

// errClosed is the error of what was added to a connection that has ended.
var errClosed = errors.New("the connection has ended")

// outbox writes frames. Who adds one while nobody writes is the one who writes, also what others add
// meanwhile; so frames that are ready together leave in one message, and one by itself waits for nobody.
type outbox struct {
	conn *websocket.Conn
	// patience is how long the other side may take for one message; then late cuts the connection.
	patience time.Duration
	late     *time.Timer

	mu      sync.Mutex
	room    sync.Cond // of mu: what waited is being written, or the outbox has closed
	waiting []byte
	spare   []byte
	writing bool
	closed  bool
}

func newOutbox(conn *websocket.Conn, patience time.Duration) *outbox {
	o := &outbox{conn: conn, patience: patience, late: time.AfterFunc(patience, func() { _ = conn.CloseNow() })}
	o.late.Stop()
	o.room.L = &o.mu
	return o
}

// add has a frame written, whose payload is what fill adds; nil adds none. It returns errClosed when the frame
// will certainly not be written, and otherwise nil, which does not say that it was.
func (o *outbox) add(k kind, call uint64, fill func([]byte) []byte) error {
	o.mu.Lock()
	for len(o.waiting) >= maxWaiting && !o.closed {
		o.room.Wait()
	}
	if o.closed {
		o.mu.Unlock()
		return errClosed
	}
	o.waiting = appendFrame(o.waiting, k, call, fill)
	if o.writing {
		o.mu.Unlock()
		return nil
	}
	o.writing = true
	o.mu.Unlock()
	o.write()
	return nil
}

// write writes until nothing waits.
func (o *outbox) write() {
	defer o.late.Stop()
	for {
		// Whoever is ready to add a frame does so first.
		runtime.Gosched()
		o.mu.Lock()
		if len(o.waiting) == 0 || o.closed {
			o.writing = false
			o.mu.Unlock()
			return
		}
		message := o.waiting
		o.waiting, o.spare = o.spare[:0], nil
		o.room.Broadcast()
		o.mu.Unlock()

		o.late.Reset(o.patience)
		if err := o.conn.Write(context.Background(), websocket.MessageBinary, message); err != nil {
			o.close()
			_ = o.conn.CloseNow()
			return
		}
		if cap(message) <= keptBytes {
			o.mu.Lock()
			o.spare = message[:0]
			o.mu.Unlock()
		}
	}
}

// close refuses what is added from now on, and lets go of who waits for room.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.waiting, o.spare = nil, nil
	o.room.Broadcast()
}
