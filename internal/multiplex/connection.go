package multiplex

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// errBroken is returned if the connection ends before the reply. The call may or may not
// have had an effect.
var errBroken = errors.New("the connection broke before the reply")

// errRefused is returned for a call that the service did not accept.
var errRefused = errors.New("the service takes no more calls over this connection")

// ErrTooLarge is returned for a reply of more than [Transport.MaxReplyBytes].
var ErrTooLarge = errors.New("the reply is too large")

// connection is one WebSocket of a client.
type connection struct {
	conn *websocket.Conn
	out  *outbox
	// maxReply bounds the body of a reply.
	maxReply int
	// ended is closed when no more replies can arrive.
	ended  chan struct{}
	opened time.Time

	mu      sync.Mutex
	waiting map[uint64]*waiter
	last    uint64
	used    time.Time
	// leaving reports that the connection accepts no new calls and closes after the last
	// reply.
	leaving bool
	// retired reports that the connection was to end, so it did not break.
	retired bool
}

// waiter waits for one reply.
type waiter struct {
	done chan result // buffered for one result; never closed
	body []byte
}

type result struct {
	answer *answer
	err    error
}

func newConnection(conn *websocket.Conn, maxReply int) *connection {
	conn.SetReadLimit(maxMessageBytes)
	return &connection{
		conn: conn, out: newOutbox(conn, Patience, true), maxReply: maxReply, ended: make(chan struct{}),
		opened: time.Now(), used: time.Now(), waiting: map[uint64]*waiter{},
	}
}

// do makes a call. made is false if the call certainly had no effect: the connection has
// ended, is about to, or is full, or the service refused the call. The caller may then send
// it another way. Errors: the error of ctx; errBroken.
func (c *connection) do(ctx context.Context, r *http.Request, asked *call) (reply *http.Response, made bool, err error) {
	w, id := c.enter()
	if w == nil {
		return nil, false, nil
	}
	if err := c.out.add(ctx, kindCall, id, asked.append); err != nil {
		c.leave(id)
		if ctx.Err() != nil {
			return nil, true, context.Cause(ctx)
		}
		return nil, false, nil
	}
	var got result
	select {
	case got = <-w.done:
	case <-ctx.Done():
		if c.leave(id) {
			c.out.addNow(kindCancel, id)
		}
		return nil, true, context.Cause(ctx)
	case <-c.ended:
		c.leave(id)
		select {
		case got = <-w.done:
		default:
			return nil, true, errBroken
		}
	}
	if errors.Is(got.err, errRefused) {
		return nil, false, nil
	}
	if got.err != nil {
		return nil, true, got.err
	}
	return &http.Response{
		Status: http.StatusText(got.answer.status), StatusCode: got.answer.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: got.answer.header, Body: io.NopCloser(bytes.NewReader(got.answer.body)), ContentLength: int64(len(got.answer.body)), Request: r,
	}, true, nil
}

// enter registers a waiter for a reply, nil if the connection accepts no calls.
func (c *connection) enter() (*waiter, uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.leaving || len(c.waiting) >= MaxCalls/2 {
		return nil, 0
	}
	w := &waiter{done: make(chan result, 1)}
	c.last++
	c.waiting[c.last] = w
	return w, c.last
}

// leave removes a waiter, and reports whether its reply had not come.
func (c *connection) leave(id uint64) bool {
	c.mu.Lock()
	_, waited := c.waiting[id]
	delete(c.waiting, id)
	last := c.leaving && len(c.waiting) == 0
	c.mu.Unlock()
	if last {
		c.close()
	}
	return waited
}

// read distributes replies until the connection ends.
func (c *connection) read() {
	defer close(c.ended)
	defer c.close()
	_ = readFrames(c.conn, c.take) // no more replies, whatever the error was
}

// take handles a frame. An error ends the connection.
func (c *connection) take(f frame) error {
	switch f.kind {
	case kindPart:
		c.mu.Lock()
		w := c.waiting[f.call]
		c.mu.Unlock()
		if w == nil {
			return nil // its caller has gone
		}
		w.body = append(w.body, f.payload...)
		if len(w.body) > c.maxReply {
			c.give(f.call, result{err: fmt.Errorf("%w: more than %d bytes", ErrTooLarge, c.maxReply)})
			c.out.addNow(kindCancel, f.call)
		}
	case kindReply:
		got, err := readAnswer(f.payload)
		if err != nil {
			return err
		}
		got.body = bytes.Clone(got.body) // the next message overwrites it
		c.give(f.call, result{answer: got})
	case kindCancel:
		c.give(f.call, result{err: errBroken})
	case kindRefused:
		// The service would refuse later calls, too.
		c.give(f.call, result{err: errRefused})
		c.retire()
	case kindGoAway:
		c.retire()
	case kindCall:
		return errMalformed
	}
	return nil
}

// give passes a result to its waiter.
func (c *connection) give(id uint64, got result) {
	c.mu.Lock()
	w := c.waiting[id]
	delete(c.waiting, id)
	c.used = time.Now()
	last := c.leaving && len(c.waiting) == 0
	c.mu.Unlock()
	if w != nil {
		if got.answer != nil && len(w.body) > 0 {
			got.answer.body = append(w.body, got.answer.body...)
		}
		w.done <- got
	}
	if last {
		c.close()
	}
}

// retire accepts no new calls, and closes the connection after the last reply.
func (c *connection) retire() {
	c.mu.Lock()
	c.leaving, c.retired = true, true
	last := len(c.waiting) == 0
	c.mu.Unlock()
	if last {
		c.close()
	}
}

// close ends the connection at once.
func (c *connection) close() {
	c.mu.Lock()
	c.leaving = true
	c.mu.Unlock()
	c.out.close()
	_ = c.conn.CloseNow()
}

// broke reports whether a connection that has ended was cut off.
func (c *connection) broke() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.retired
}

// state returns the number of calls in flight, when the connection was last used, and
// whether it accepts calls.
func (c *connection) state() (waiting int, used time.Time, open bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.waiting), c.used, !c.leaving
}
