package wire

import (
	"io"
	"net/http"
	"time"
)

const (
	// drainedByServer is how much of an unread body net/http reads by itself.
	drainedByServer = 256 << 10
	// lingerBytes and lingerTime limit how much of an unread body is read and discarded.
	lingerBytes = 64 << 20
	lingerTime  = 10 * time.Second
)

// refusesUnread reports whether a refusal with this status may leave a large body unread.
func refusesUnread(r *http.Request, status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusRequestEntityTooLarge,
		http.StatusUnsupportedMediaType, http.StatusMisdirectedRequest, http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return r.ContentLength < 0 || r.ContentLength > drainedByServer
	}
	return false
}

// keepReading prepares a reply whose status was just chosen: the rest of its large body is read after
// it, by [response.linger].
func (r *response) keepReading(status int) {
	// A client that expects a 100 waits for the reply, and HTTP/2 closes the stream alone. The reply
	// must have its end while the body is read.
	if !refusesUnread(r.request, status) || r.request.ProtoMajor != 1 || r.request.Header.Get("Expect") != "" || r.Header()["Content-Length"] == nil {
		return
	}
	if http.NewResponseController(r.ResponseWriter).EnableFullDuplex() == nil {
		r.Header().Set("Connection", "close")
		r.unread = true
	}
}

// linger sends the reply, and reads and discards the rest of the body. A client that sends all of its
// body before it reads would otherwise see a reset connection, and not the reply.
func (r *response) linger() {
	control := http.NewResponseController(r.ResponseWriter)
	if r.unread && control.Flush() == nil && control.SetReadDeadline(time.Now().Add(lingerTime)) == nil { //nolint:forbidigo // connection deadlines use the process's clock
		_, _ = io.CopyN(io.Discard, r.request.Body, lingerBytes) // ends with the body, or with the connection
	}
}
