package multiplex

import (
	"cmp"
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
)

const (
	// Advert is the header of replies by which a service says that it takes calls over a connection.
	Advert = "Holdpoint-Calls"
	// Path is where a connection is opened, and the value of [Advert].
	Path = "/v1/calls"
	// worthwhile is how many calls are under way at once before a connection is opened for them. With fewer
	// it brings nothing.
	worthwhile = 16
	// opening bounds how long a connection may take to open. Calls go by plain HTTP meanwhile.
	opening = 15 * time.Second
	// oldest is about how long a connection is used before it makes room for another one, which a balancer may
	// lead to another replica.
	oldest = 5 * time.Minute
	// idlest is how long a connection without calls is kept.
	idlest = 90 * time.Second
	// checkEvery is how often a connection is looked at.
	checkEvery = 10 * time.Second
	// After a connection could not be opened, or broke, none is tried for shortest, and longer each time. One that has
	// lived for proven was none of those times.
	shortest, longest = 30 * time.Second, 10 * time.Minute
	proven            = time.Minute
)

// Transport makes calls over one connection to a service that takes them so, and by plain HTTP while
// there is none: as long as few calls are under way at once, and where a proxy in between passes no WebSockets. What
// does not fit into a frame, and a call with headers of its own, goes by plain HTTP, too. It is an
// [http.RoundTripper] for requests below its base URL whose replies fit into memory. The members must
// be set, but for BasePath, and must not change once it is used.
type Transport struct {
	// Plain makes calls by themselves.
	Plain http.RoundTripper
	// Opener opens connections. Its transport must speak HTTP/1.1.
	Opener *http.Client
	// BaseURL stands before every path, without a slash at its end.
	BaseURL string
	// BasePath is the path of BaseURL.
	BasePath string
	// Header is what every call has.
	Header http.Header
	// MaxReplyBytes bounds the body of a reply.
	MaxReplyBytes int

	mu      sync.Mutex
	current *connection
	// opens ends the attempt to open a connection; nil when there is none.
	opens context.CancelFunc
	// plain are the calls under way by plain HTTP.
	plain    int
	failures int
	notYet   time.Time
	// leastPause replaces shortest in tests.
	leastPause time.Duration
}

// RoundTrip implements [http.RoundTripper]. A call whose connection breaks before its reply is not made again.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if c := t.connection(); c != nil {
		if made, ok := t.call(r); ok {
			reply, sent, err := c.do(r.Context(), r, made)
			if sent {
				return reply, err
			}
			if _, _, open := c.state(); !open {
				t.forget(c)
			}
			if r.GetBody != nil {
				body, err := r.GetBody()
				if err != nil {
					return nil, err
				}
				again := *r
				again.Body = body
				r = &again
			}
		}
	}
	t.mu.Lock()
	t.plain++
	t.mu.Unlock()
	reply, err := t.Plain.RoundTrip(r)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil && reply.Header.Get(Advert) == Path && t.plain >= worthwhile {
		t.openOne()
	}
	t.plain--
	return reply, err
}

// connection returns the one that calls are made over, nil for none.
func (t *Transport) connection() *connection {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.current
}

// call returns a request as it is carried, and whether it can be. If so, its body has been read.
func (t *Transport) call(r *http.Request) (*call, bool) {
	const margin = 16 << 10 // for the target and the headers
	if r.ContentLength < 0 || r.ContentLength > MaxCallBytes-margin || hasBody(r) && r.GetBody == nil {
		return nil, false
	}
	c := &call{method: r.Method, header: http.Header{}}
	c.target = strings.TrimPrefix(r.URL.EscapedPath(), t.BasePath)
	if r.URL.RawQuery != "" {
		c.target += "?" + r.URL.RawQuery
	}
	size := len(c.target)
	for name, values := range r.Header {
		if slices.Equal(t.Header[name], values) {
			continue
		}
		if !slices.Contains(callHeaders, name) {
			return nil, false
		}
		c.header[name] = values
		for _, value := range values {
			size += len(name) + len(value)
		}
	}
	if size > margin/2 || !strings.HasPrefix(c.target, "/v1/") {
		return nil, false
	}
	if !hasBody(r) {
		return c, true
	}
	defer r.Body.Close()
	c.body = make([]byte, r.ContentLength)
	if _, err := io.ReadFull(r.Body, c.body); err != nil {
		return nil, false
	}
	return c, true
}

func hasBody(r *http.Request) bool { return r.Body != nil && r.Body != http.NoBody }

// openOne begins to open a connection, unless there is one or it is too early. The lock is held.
func (t *Transport) openOne() {
	if t.opens != nil || t.current != nil || time.Now().Before(t.notYet) {
		return
	}
	var ctx context.Context
	ctx, t.opens = context.WithTimeout(context.Background(), opening)
	go t.open(ctx)
}

// open opens a connection and serves it until it ends.
func (t *Transport) open(ctx context.Context) {
	conn, _, err := websocket.Dial(ctx, t.BaseURL+Path, &websocket.DialOptions{ //nolint:bodyclose // the library has closed it
		HTTPClient: t.Opener, HTTPHeader: t.Header.Clone(), Subprotocols: []string{Subprotocol},
	})
	if err == nil && (conn.Subprotocol() != Subprotocol || ctx.Err() != nil) {
		_ = conn.CloseNow()
		err = errMalformed
	}
	var c *connection
	if err == nil {
		c = newConnection(conn, t.MaxReplyBytes)
		go c.read()
		// What is between may take the handshake and pass nothing.
		if err = conn.Ping(ctx); err != nil {
			c.close()
		}
	}
	t.mu.Lock()
	if err == nil && ctx.Err() != nil {
		c.close() // by CloseIdle
		err = ctx.Err()
	}
	t.opens()
	t.opens = nil
	if err != nil {
		t.pause()
		t.mu.Unlock()
		if c != nil {
			<-c.ended
		}
		return
	}
	t.current = c
	t.mu.Unlock()
	t.watch(c)
}

// pause lets no connection be opened for a while. The lock is held.
func (t *Transport) pause() {
	least := cmp.Or(t.leastPause, shortest)
	pause := min(least<<min(t.failures, 10), max(least, longest))
	t.failures++
	t.notYet = time.Now().Add(pause/2 + rand.N(pause))
}

// ended notes that a connection has ended.
func (t *Transport) ended(c *connection) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.current == c {
		t.current = nil
	}
	if time.Since(c.opened) > proven {
		t.failures = 0
	}
	if c.broke() {
		t.pause()
	}
}

// forget makes no more calls over a connection.
func (t *Transport) forget(c *connection) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.current == c {
		t.current = nil
	}
}

// watch retires a connection that is old, idle, or asked to be, and cuts one on which nobody answers, until it has ended.
func (t *Transport) watch(c *connection) {
	tick := time.NewTicker(checkEvery)
	defer tick.Stop()
	age := oldest - oldest/5 + rand.N(2*oldest/5)
	for {
		select {
		case <-c.ended:
			t.ended(c)
			return
		case <-tick.C:
		}
		waiting, used, open := c.state()
		switch {
		case !open:
			t.forget(c)
		case time.Since(c.opened) > age, waiting == 0 && time.Since(used) > idlest:
			t.forget(c)
			c.retire()
		}
		if waiting > 0 && time.Since(used) > checkEvery {
			ctx, cancel := context.WithTimeout(context.Background(), checkEvery)
			err := c.conn.Ping(ctx)
			cancel()
			if err != nil {
				c.close()
			}
		}
	}
}

// CloseIdle ends a connection without calls at once and waits for its end. One with calls ends with the last reply.
func (t *Transport) CloseIdle() {
	t.mu.Lock()
	c := t.current
	t.current = nil
	if t.opens != nil {
		t.opens()
	}
	t.mu.Unlock()
	if c == nil {
		return
	}
	c.retire()
	if waiting, _, _ := c.state(); waiting == 0 {
		<-c.ended
	}
}
