package multiplex

import (
	"context"
	"net/http"
	"net/textproto"
	"slices"
	"time"
)

// replyWriter is the [http.ResponseWriter] of a call. It is used by one goroutine.
type replyWriter struct {
	ctx    context.Context //nolint:containedctx // that of the call: without it nobody waits for room
	out    *outbox
	call   uint64
	header http.Header
	status int
	body   []byte
	failed error
	// noBody reports that the reply has only headers.
	noBody bool
}

// leftOut are headers that matter only to browsers, proxies and caches.
var leftOut = []string{"Cache-Control", "X-Content-Type-Options", "Cross-Origin-Resource-Policy", "Vary", "Content-Length", "Date"}

// Header implements [http.ResponseWriter].
func (w *replyWriter) Header() http.Header {
	if w.header == nil {
		w.header = make(http.Header, 8)
	}
	return w.header
}

// WriteHeader implements [http.ResponseWriter].
func (w *replyWriter) WriteHeader(status int) {
	if w.status == 0 && status >= 200 {
		w.status = status
	}
}

// Write implements [http.ResponseWriter]. It returns an error if the connection has ended.
func (w *replyWriter) Write(text []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if !w.noBody {
		w.body = append(w.body, text...)
	}
	for len(w.body) > partBytes && w.failed == nil {
		part := w.body[:partBytes]
		w.failed = w.out.add(w.ctx, kindPart, w.call, func(to []byte) []byte { return append(to, part...) })
		w.body = w.body[partBytes:]
	}
	return len(text), w.failed
}

// SetWriteDeadline does nothing: every message has a deadline of its own.
func (w *replyWriter) SetWriteDeadline(time.Time) error { return nil }

// SetReadDeadline does nothing: the call has already been read.
func (w *replyWriter) SetReadDeadline(time.Time) error { return nil }

// end sends the rest of the reply.
func (w *replyWriter) end() {
	w.WriteHeader(http.StatusOK)
	for name := range w.header {
		if slices.Contains(leftOut, textproto.CanonicalMIMEHeaderKey(name)) {
			delete(w.header, name)
		}
	}
	_ = w.out.add(w.ctx, kindReply, w.call, func(to []byte) []byte {
		to = appendNumber(to, uint64(w.status))
		return append(appendHeader(to, w.header), w.body...)
	})
}
