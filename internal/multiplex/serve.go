package multiplex

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"
)

const (
	// MaxCalls bounds the unanswered calls of one connection.
	MaxCalls = 1024
	// maxIdle bounds the idle goroutines of one connection. They keep their stacks, which
	// handlers have grown.
	maxIdle = 16
	// Patience is the write timeout of one message. A client that takes longer loses its
	// connection.
	Patience = 30 * time.Second
	// leaving is how long a client may still make calls after it was asked to go away, and
	// how long it may take to close once its calls are answered.
	leaving = 5 * time.Second
	// oldestServed is the age at which a client is asked to reconnect, because proxies and
	// load balancers choose a server only when a connection is opened.
	oldestServed = 10 * time.Minute
	// pingEvery is how long a connection may be silent before it is pinged.
	pingEvery = 30 * time.Second
)

// Options configure [Serve]. All but Patience and Leaving must be set.
type Options struct {
	// Handler answers calls as it answers plain requests. The context of a call ends with
	// the connection, or when the caller cancels.
	Handler http.Handler
	// Refuse answers a call that is not allowed: the connection has more than [MaxCalls]
	// calls, or the message says why.
	Refuse func(w http.ResponseWriter, r *http.Request, tooMany bool, message string)
	// Draining ends when the service shuts down. The client is asked to make no more calls,
	// and the calls already made are answered.
	Draining context.Context //nolint:containedctx // it is a signal
	// Panicked is called if a handler panics with anything but [http.ErrAbortHandler].
	Panicked func(cause any, stack []byte)
	// Patience and Leaving default to the package's constants.
	Patience, Leaving time.Duration
}

// Serve opens a WebSocket and answers the calls on it, until the client closes it, the
// connection breaks, the request's context ends, or the service shuts down. On shutdown the
// client is asked to leave, and the calls already made are answered. Serve returns an
// error, without having written anything, if the request cannot open a WebSocket. Every
// call has the headers of the request, including its credential.
func Serve(w http.ResponseWriter, r *http.Request, options Options) error {
	if err := canOpen(r); err != nil {
		return err
	}
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{Subprotocol}, InsecureSkipVerify: true})
	if err != nil {
		return nil //nolint:nilerr // the library has answered
	}
	conn.SetReadLimit(maxMessageBytes)
	ctx, end := context.WithCancel(context.Background())
	s := &server{
		options: options, conn: conn, ctx: ctx, out: newOutbox(conn, cmp.Or(options.Patience, Patience), false), base: r, header: inherited(r.Header),
		jobs: make(chan job), calls: map[uint64]context.CancelFunc{},
	}
	s.serve()
	end()
	close(s.jobs)
	s.workers.Wait()
	return nil
}

// canOpen returns why a request cannot open a connection, nil if it can.
func canOpen(r *http.Request) error {
	switch {
	case !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") || r.ProtoMajor != 1:
		return fmt.Errorf("this is opened as a WebSocket of the subprotocol %s, over HTTP/1.1", Subprotocol)
	case r.Header.Get("Sec-Websocket-Version") != "13":
		return errors.New("the WebSocket must be of version 13")
	case !offers(r.Header.Values("Sec-Websocket-Protocol")):
		return fmt.Errorf("the WebSocket must offer the subprotocol %s", Subprotocol)
	case len(r.Header["Origin"]) > 0 || len(r.Header["Cookie"]) > 0:
		return errors.New("pages of browsers make each call by itself: an Origin or a Cookie opens no connection")
	}
	return nil
}

func offers(protocols []string) bool {
	return slices.ContainsFunc(strings.Split(strings.Join(protocols, ","), ","), func(one string) bool {
		return strings.EqualFold(strings.TrimSpace(one), Subprotocol)
	})
}

// inherited returns the headers of the request that every call gets.
func inherited(header http.Header) http.Header {
	kept := http.Header{}
	for name, values := range header {
		switch {
		case strings.HasPrefix(name, "Sec-"), name == "Connection", name == "Upgrade", name == "Content-Length",
			name == "Content-Type", name == "Idempotency-Key", name == "X-Request-Id", name == "Traceparent", name == "Tracestate":
		default:
			kept[name] = values
		}
	}
	return kept
}

// server is one connection.
type server struct {
	options Options
	conn    *websocket.Conn
	ctx     context.Context //nolint:containedctx // that of the calls, which have none of their own
	out     *outbox
	base    *http.Request
	header  http.Header
	jobs    chan job
	workers sync.WaitGroup

	mu    sync.Mutex
	calls map[uint64]context.CancelFunc
	idle  int
	// left reports that no more calls are accepted.
	left bool
}

// job is a call to answer.
type job struct {
	id      uint64
	call    *call
	ctx     context.Context //nolint:containedctx // handed from who reads to who answers
	tooMany bool
}

// serve reads calls until the connection ends.
func (s *server) serve() {
	over := make(chan struct{})
	var beside sync.WaitGroup
	beside.Go(func() { s.watch(over) })
	defer func() {
		close(over)
		s.out.close()
		_ = s.conn.CloseNow()
		beside.Wait()
	}()
	if err := readFrames(s.conn, s.take); errors.Is(err, errMalformed) {
		_ = s.conn.Close(websocket.StatusProtocolError, reason(err))
	}
}

// reason returns an error's text, cut to fit a WebSocket close frame.
func reason(err error) string {
	const most = 120
	text := strings.ToValidUTF8(err.Error(), "?")
	for len(text) > most || !utf8.ValidString(text) {
		text = text[:min(len(text)-1, most)]
	}
	return text
}

// watch pings a silent client. It asks the client to leave when the service shuts down,
// when its credential expires, and when the connection is old.
func (s *server) watch(over <-chan struct{}) {
	ctx, cancel := context.WithTimeout(s.base.Context(), oldestServed)
	defer cancel()
	defer context.AfterFunc(s.options.Draining, cancel)()
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for {
		select {
		case <-over:
			return
		case <-ctx.Done():
			s.leave(over)
			return
		case <-tick.C:
			if !s.ping(ctx) {
				_ = s.conn.CloseNow()
				return
			}
		}
	}
}

// ping reports whether the client answers, or has to leave anyway.
func (s *server) ping(ctx context.Context) bool {
	patient, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	return s.conn.Ping(patient) == nil || ctx.Err() != nil
}

// leave asks the client to leave. If it does not, leave closes the connection after all
// replies are written.
func (s *server) leave(over <-chan struct{}) {
	s.out.addNow(kindGoAway, 0)
	wait := cmp.Or(s.options.Leaving, leaving)
	late := time.NewTicker(wait)
	defer late.Stop()
	for {
		select {
		case <-over:
			return
		case <-late.C:
			s.mu.Lock()
			s.left = true
			busy := len(s.calls) > 0
			s.mu.Unlock()
			if !busy && s.out.idle() {
				_ = s.conn.CloseNow()
				return
			}
			late.Reset(wait / 10)
		}
	}
}

// take starts or cancels a call.
func (s *server) take(f frame) error {
	switch f.kind {
	case kindCall:
		if len(f.payload) > MaxCallBytes {
			return fmt.Errorf("%w: call %d has more than %d bytes", errMalformed, f.call, MaxCallBytes)
		}
		c, err := readCall(f.payload)
		if err != nil {
			return err
		}
		c.body = bytes.Clone(c.body) // the next message overwrites it
		// Accept no calls from a client that does not read its replies.
		if err := s.out.hasRoom(s.ctx); err != nil {
			return err
		}
		ctx, cancel := context.WithCancel(s.ctx)
		s.mu.Lock()
		if s.left {
			s.mu.Unlock()
			cancel()
			s.out.addNow(kindRefused, f.call)
			return nil
		}
		if _, known := s.calls[f.call]; known {
			s.mu.Unlock()
			cancel()
			return fmt.Errorf("%w: call %d is under way", errMalformed, f.call)
		}
		j := job{id: f.call, call: c, ctx: ctx, tooMany: len(s.calls) >= MaxCalls}
		s.calls[f.call] = cancel
		s.mu.Unlock()
		s.start(j)
		return nil
	case kindCancel:
		s.mu.Lock()
		cancel := s.calls[f.call]
		s.mu.Unlock()
		if cancel != nil {
			cancel()
		}
		return nil
	case kindPart, kindReply, kindGoAway, kindRefused:
	}
	return fmt.Errorf("%w: kind %d is none of a client's", errMalformed, f.kind)
}

// start passes a call to an idle goroutine, or else starts a new one.
func (s *server) start(j job) {
	if j.tooMany {
		s.answer(j) // by the reading goroutine, so that there are never more goroutines than calls
		return
	}
	select {
	case s.jobs <- j:
	default:
		s.workers.Go(func() { s.work(j) })
	}
}

// work answers a call and then others, and stops if enough goroutines are idle.
func (s *server) work(j job) {
	for {
		s.answer(j)
		s.mu.Lock()
		if s.idle >= maxIdle {
			s.mu.Unlock()
			return
		}
		s.idle++
		s.mu.Unlock()
		next, more := <-s.jobs
		s.mu.Lock()
		s.idle--
		s.mu.Unlock()
		if !more {
			return
		}
		j = next
	}
}

// answer answers a call. If the handler aborts a reply, the client is told that there will
// be none.
func (s *server) answer(j job) {
	w := &replyWriter{ctx: j.ctx, out: s.out, call: j.id, noBody: j.call.method == http.MethodHead}
	defer func() {
		defer s.answered(j.id) // a reply waiting to be written is still in flight
		if cause := recover(); cause != nil {
			if cause != http.ErrAbortHandler { //nolint:errorlint // the sentinel itself is what net/http looks for
				s.options.Panicked(cause, debug.Stack())
			}
			s.out.addNow(kindCancel, j.id)
			return
		}
		if j.ctx.Err() == nil {
			w.end()
		}
	}()
	r, err := s.request(j)
	switch {
	case err != nil:
		s.options.Refuse(w, r, false, err.Error())
	case j.tooMany:
		s.options.Refuse(w, r, true, "")
	default:
		s.options.Handler.ServeHTTP(w, r)
	}
}

// answered forgets a call.
func (s *server) answered(id uint64) {
	s.mu.Lock()
	cancel := s.calls[id]
	delete(s.calls, id)
	s.mu.Unlock()
	cancel()
}

// request returns the request of a call. It returns one along with an error, too, so that
// the call can be answered.
func (s *server) request(j job) (*http.Request, error) {
	c := j.call
	header := make(http.Header, len(s.header)+len(c.header))
	maps.Copy(header, s.header)
	maps.Copy(header, c.header)
	r := (&http.Request{
		Method: c.method, URL: &url.URL{Path: "/"}, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: header,
		Body: http.NoBody, ContentLength: int64(len(c.body)), Host: s.base.Host, RemoteAddr: s.base.RemoteAddr,
		RequestURI: c.target, TLS: s.base.TLS,
	}).WithContext(j.ctx)
	if len(c.body) > 0 {
		r.Body = io.NopCloser(bytes.NewReader(c.body))
	}
	if !strings.HasPrefix(c.target, "/v1/") {
		return r, errors.New("a call over a connection begins with /v1/")
	}
	target, err := url.ParseRequestURI(c.target)
	if err != nil {
		return r, errors.New("the target of the call cannot be read")
	}
	r.URL = target
	if target.EscapedPath() == s.base.URL.EscapedPath() {
		return r, errors.New("a connection opens no other one")
	}
	return r, nil
}
