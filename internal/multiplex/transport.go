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
	// Advert is the reply header by which a service says that it accepts calls over a
	// WebSocket.
	Advert = "Holdpoint-Calls"
	// Path is the path of the WebSocket, and the value of [Advert].
	Path = "/v1/calls"
	// worthwhile is the number of concurrent calls from which a connection is opened. With
	// fewer it gains nothing.
	worthwhile = 16
	// opening bounds the opening of a connection. Meanwhile calls use plain HTTP.
	opening = 15 * time.Second
	// oldest is the approximate age at which a connection is replaced, so that a load
	// balancer can choose another replica.
	oldest = 5 * time.Minute
	// idlest is how long an unused connection is kept.
	idlest = 90 * time.Second
	// checkEvery is the interval of the checks of a connection.
	checkEvery = 10 * time.Second
	// If a connection cannot be opened or breaks, the next attempt waits for shortest, then
	// longer each time. A connection that lived for proven resets the pause.
	shortest, longest = 30 * time.Second, 10 * time.Minute
	proven            = time.Minute
)

// Transport is an [http.RoundTripper] that makes calls over one WebSocket to a service that
// supports it. It uses plain HTTP if few calls run at once, if a proxy does not pass
// WebSockets, if a call does not fit into a frame, and for calls with headers of their own.
// It is for requests below its base URL whose replies fit into memory. All fields but
// BasePath must be set, and must not change after the first use.
type Transport struct {
	// Plain makes calls by plain HTTP.
	Plain http.RoundTripper
	// Opener opens connections. Its transport must speak HTTP/1.1.
	Opener *http.Client
	// BaseURL is the prefix of every URL, without a slash at its end.
	BaseURL string
	// BasePath is the path of BaseURL.
	BasePath string
	// Header has the headers of every call.
	Header http.Header
	// MaxReplyBytes bounds the body of a reply.
	MaxReplyBytes int

	mu      sync.Mutex
	current *connection
	// opens cancels the attempt to open a connection; nil if there is none.
	opens context.CancelFunc
	// plain is the number of calls in flight by plain HTTP.
	plain    int
	failures int
	notYet   time.Time
	// leastPause replaces shortest in tests.
	leastPause time.Duration
}

// RoundTrip implements [http.RoundTripper]. It does not repeat a call whose connection
// breaks before the reply.
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

// connection returns the connection to use, nil for none.
func (t *Transport) connection() *connection {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.current
}

// call converts a request to a call, and reports whether it can be sent as one. If so, its
// body has been read.
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

// openOne starts to open a connection, unless there is one or the pause is not over.
// Requires the lock.
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
		// A proxy may pass the handshake and nothing after it.
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

// pause delays the next attempt to open a connection. Requires the lock.
func (t *Transport) pause() {
	least := cmp.Or(t.leastPause, shortest)
	pause := min(least<<min(t.failures, 10), max(least, longest))
	t.failures++
	t.notYet = time.Now().Add(pause/2 + rand.N(pause))
}

// ended records that a connection has ended.
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

// forget stops using a connection.
func (t *Transport) forget(c *connection) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.current == c {
		t.current = nil
	}
}

// watch retires a connection that is old, idle or asked to leave, and cuts one that does
// not respond. It returns when the connection has ended.
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

// CloseIdle closes a connection without calls and waits for its end. One with calls closes
// after the last reply.
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
