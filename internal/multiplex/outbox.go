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
	// aside says that a goroutine of its own writes, because whoever adds has a time by which it must be done.
	aside bool
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

func newOutbox(conn *websocket.Conn, patience time.Duration, aside bool) *outbox {
	o := &outbox{conn: conn, aside: aside, patience: patience, late: time.AfterFunc(patience, func() { _ = conn.CloseNow() })}
	o.late.Stop()
	o.room.L = &o.mu
	return o
}

// add has a frame written, whose payload is what fill adds, once there is room for it. It returns errClosed, or the error of
// ctx, when the frame will certainly not be written, and otherwise nil, which does not say that it was.
func (o *outbox) add(ctx context.Context, k kind, call uint64, fill func([]byte) []byte) error {
	o.mu.Lock()
	if err := o.awaitRoom(ctx); err != nil {
		o.mu.Unlock()
		return err
	}
	o.append(k, call, fill)
	return nil
}

// addNow has a frame without a payload written, which waits for no room.
func (o *outbox) addNow(k kind, call uint64) {
	o.mu.Lock()
	if o.closed {
		o.mu.Unlock()
		return
	}
	o.append(k, call, nil)
}

// hasRoom waits until there is room for a frame. It returns the errors of add.
func (o *outbox) hasRoom(ctx context.Context) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.awaitRoom(ctx)
}

// awaitRoom is hasRoom with the lock held.
func (o *outbox) awaitRoom(ctx context.Context) error {
	if len(o.waiting) >= maxWaiting && !o.closed {
		stop := context.AfterFunc(ctx, func() {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.room.Broadcast()
		})
		defer stop()
	}
	for len(o.waiting) >= maxWaiting && !o.closed && ctx.Err() == nil {
		o.room.Wait()
	}
	switch {
	case o.closed:
		return errClosed
	case len(o.waiting) >= maxWaiting:
		return context.Cause(ctx)
	}
	return nil
}

// append adds a frame and gives the lock back.
func (o *outbox) append(k kind, call uint64, fill func([]byte) []byte) {
	o.waiting = appendFrame(o.waiting, k, call, fill)
	begin := !o.writing
	o.writing = true
	o.mu.Unlock()
	switch {
	case begin && o.aside:
		go o.write()
	case begin:
		o.write()
	}
}

// write writes until nothing waits.
func (o *outbox) write() {
	for {
		// Whoever is ready to add a frame does so first.
		runtime.Gosched()
		o.mu.Lock()
		if len(o.waiting) == 0 || o.closed {
			o.late.Stop() // before somebody else writes
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
			o.late.Stop()
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

// idle reports whether every frame that was added has been written.
func (o *outbox) idle() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.closed || !o.writing
}

// close refuses what is added from now on, and lets go of who waits for room.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.waiting, o.spare = nil, nil
	o.room.Broadcast()
}
