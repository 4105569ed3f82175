package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
)

// Inside is an [http.RoundTripper] that calls a handler in this process, without a socket.
// Replies stream. [Inside.Close] ends its calls.
type Inside struct {
	handler http.Handler
	calls   sync.WaitGroup
	closing context.Context //nolint:containedctx // ends each call, whose own context is the caller's
	closed  context.CancelFunc
}

// errClosed is the error of calls after [Inside.Close].
var errClosed = errors.New("the service in this process is closed")

// NewInside returns a transport to a handler.
func NewInside(handler http.Handler) *Inside {
	i := &Inside{handler: handler}
	i.closing, i.closed = context.WithCancel(context.Background())
	return i
}

// Close ends the calls in flight and waits for their handlers.
func (i *Inside) Close() {
	i.closed()
	i.calls.Wait()
}

// RoundTrip implements [http.RoundTripper].
func (i *Inside) RoundTrip(r *http.Request) (*http.Response, error) {
	if i.closing.Err() != nil {
		return nil, errClosed
	}
	ctx, cancel := context.WithCancel(r.Context())
	endClosing := context.AfterFunc(i.closing, cancel)
	reader, writer := io.Pipe()
	endReading := context.AfterFunc(ctx, func() { _ = writer.CloseWithError(context.Canceled) })
	reply := &insideReply{header: http.Header{}, begun: make(chan struct{}), body: writer, head: r.Method == http.MethodHead}
	arriving := arrivalOf(r).WithContext(ctx)
	i.calls.Go(func() {
		defer cancel()
		defer endClosing()
		err := serve(i.handler, reply, arriving)
		// The reader sees the end of the reply instead of the context's error.
		endReading()
		_ = writer.CloseWithError(err) // nil is io.EOF
		_ = arriving.Body.Close()
	})
	select {
	case <-reply.begun:
	case <-ctx.Done():
		if i.closing.Err() != nil && r.Context().Err() == nil {
			return nil, errClosed
		}
		// The handler may have answered at this very moment, or not at all.
		select {
		case <-reply.begun:
		default:
			return nil, cmp.Or(context.Cause(r.Context()), errors.New("the handler did not answer"))
		}
	}
	return &http.Response{
		Status: fmt.Sprintf("%d %s", reply.status, http.StatusText(reply.status)), StatusCode: reply.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: reply.sent, ContentLength: -1, Request: r,
		Body: &insideBody{reader, cancel},
	}, nil
}

// arrivalOf returns a request as a server receives it.
func arrivalOf(r *http.Request) *http.Request {
	in := &http.Request{
		Method: cmp.Or(r.Method, http.MethodGet), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: r.Header.Clone(),
		URL:  &url.URL{Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: r.URL.RawQuery},
		Body: r.Body, ContentLength: r.ContentLength, Host: cmp.Or(r.Host, r.URL.Host), RequestURI: r.URL.RequestURI(), RemoteAddr: "127.0.0.1:0",
	}
	if in.Body == nil {
		in.Body = http.NoBody
	}
	if in.Header == nil {
		in.Header = http.Header{}
	}
	return in
}

// serve calls a handler. It turns a panic, by which handlers abort a reply, into an error.
func serve(handler http.Handler, w *insideReply, r *http.Request) (err error) {
	defer func() {
		if failure := recover(); failure != nil {
			err = fmt.Errorf("the reply was broken off: %v", failure)
		}
		if err == nil {
			w.WriteHeader(http.StatusOK)
		}
	}()
	handler.ServeHTTP(w, r)
	return nil
}

// insideReply is the [http.ResponseWriter] of one call.
type insideReply struct {
	header http.Header
	begun  chan struct{}
	once   sync.Once
	status int
	sent   http.Header // copy of the header when the reply started
	body   *io.PipeWriter
	head   bool
}

// Header implements [http.ResponseWriter].
func (w *insideReply) Header() http.Header { return w.header }

// WriteHeader implements [http.ResponseWriter].
func (w *insideReply) WriteHeader(status int) {
	if status < http.StatusOK {
		return // informational; the final status follows
	}
	w.once.Do(func() {
		w.status, w.sent = status, w.header.Clone()
		close(w.begun)
	})
}

// Write implements [http.ResponseWriter]. It blocks until the caller has read the bytes.
func (w *insideReply) Write(text []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.head {
		return len(text), nil
	}
	return w.body.Write(text)
}

// Flush implements [http.Flusher]. Only the header may still be unsent.
func (w *insideReply) Flush() { w.WriteHeader(http.StatusOK) }

// insideBody ends the call when the caller closes it.
type insideBody struct {
	*io.PipeReader
	cancel context.CancelFunc
}

// Close implements [io.Closer].
func (b *insideBody) Close() error {
	b.cancel()
	return b.PipeReader.Close()
}
