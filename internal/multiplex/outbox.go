package multiplex

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// maxWaiting is the number of queued bytes from which callers wait before adding more.
const maxWaiting = 256 << 10

// keptBytes is the largest buffer kept for the next message.
const keptBytes = 128 << 10

// errClosed is returned for frames added after the connection has ended.
var errClosed = errors.New("the connection has ended")

// outbox writes frames. The goroutine that adds a frame while no one writes becomes the
// writer, and also writes the frames that others add meanwhile. Frames that are ready
// together share a message, and a single frame leaves at once.
type outbox struct {
	conn *websocket.Conn
	// background makes a separate goroutine write, for callers that have a deadline.
	background bool
	// patience bounds the writing of one message. After that, late cuts the connection.
	patience time.Duration
	late     *time.Timer

	mu      sync.Mutex
	room    sync.Cond // uses mu; signals that queued frames are being written, or that the outbox has closed
	waiting []byte
	spare   []byte
	writing bool
	closed  bool
}

func newOutbox(conn *websocket.Conn, patience time.Duration, background bool) *outbox {
	o := &outbox{conn: conn, background: background, patience: patience, late: time.AfterFunc(patience, func() { _ = conn.CloseNow() })}
	o.late.Stop()
	o.room.L = &o.mu
	return o
}

// add queues a frame, whose payload is written by fill, once there is room. An error means
// that the frame will certainly not be written: errClosed or ctx's error. A nil error does
// not mean that it was written.
func (o *outbox) add(ctx context.Context, k kind, call uint64, fill func([]byte) []byte) error {
	o.mu.Lock()
	if err := o.awaitRoom(ctx); err != nil {
		o.mu.Unlock()
		return err
	}
	o.append(k, call, fill)
	return nil
}

// addNow queues a frame without a payload, without waiting for room.
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

// append appends a frame and releases the lock.
func (o *outbox) append(k kind, call uint64, fill func([]byte) []byte) {
	o.waiting = appendFrame(o.waiting, k, call, fill)
	begin := !o.writing
	o.writing = true
	o.mu.Unlock()
	switch {
	case begin && o.background:
		go o.write()
	case begin:
		o.write()
	}
}

// write writes until the queue is empty.
func (o *outbox) write() {
	for {
		// Let goroutines that are ready add their frames first.
		runtime.Gosched()
		o.mu.Lock()
		if len(o.waiting) == 0 || o.closed {
			o.late.Stop() // before another goroutine writes
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

// idle reports whether all frames have been written.
func (o *outbox) idle() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.closed || !o.writing
}

// close rejects further frames and wakes the goroutines that wait for room.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.waiting, o.spare = nil, nil
	o.room.Broadcast()
}
