package wire

import (
	"net/http"
	"time"

	"github.com/holdpoint/holdpoint/api"
)

const (
	// replyPatience is how long a client may take for a replyChunk.
	replyPatience = 30 * time.Second
	// replyChunk is the part of a reply that is written under one deadline.
	replyChunk = 256 << 10
)

// response records the answer for the log and sets a deadline for each part of it. Without a
// deadline, a client that does not read would keep its reply in memory forever. Handlers that set
// their own deadlines, such as streams, keep them.
type response struct {
	http.ResponseWriter
	request   *http.Request
	requestID string
	foreign   func(path string) bool
	patience  time.Duration
	// ownDeadlines says that the handler sets its own deadlines.
	ownDeadlines bool
	status       int
	cause        error
	// code is the code of the problem in the reply; at is the place of the call (see Note).
	code api.Code
	at   Place
	// principal is the caller, empty when no credential is required.
	principal string
	// begun is the time of arrival.
	begun time.Time
	// unread says that the rest of a large body is read after the reply.
	unread bool
}

// Place is a call's route pattern, and the session and run in its path. Empty members do not apply.
type Place struct{ Route, SessionID, RunID string }

// Note records the place of the call that w answers, for logs and metrics.
func Note(w http.ResponseWriter, at Place) {
	if answer := responseOf(w); answer != nil {
		answer.at = at
	}
}

// notePrincipal records the caller of the call that w answers, for the log.
func notePrincipal(w http.ResponseWriter, principal string) {
	if answer := responseOf(w); answer != nil {
		answer.principal = principal
	}
}

// responseOf returns the response under a writer, or nil.
func responseOf(w http.ResponseWriter) *response {
	for {
		if answer, ok := w.(*response); ok {
			return answer
		}
		wrapped, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return nil
		}
		w = wrapped.Unwrap()
	}
}

func (r *response) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
		r.keepReading(status)
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *response) Write(body []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	if r.ownDeadlines {
		return r.ResponseWriter.Write(body)
	}
	control := http.NewResponseController(r.ResponseWriter)
	written := 0
	for {
		chunk := body[written:min(written+replyChunk, len(body))]
		// Connections without deadlines, as in tests, return an error.
		_ = control.SetWriteDeadline(time.Now().Add(r.patience)) //nolint:forbidigo // connection deadlines use the process's clock
		n, err := r.ResponseWriter.Write(chunk)
		written += n
		if err != nil || written >= len(body) {
			return written, err
		}
	}
}

// SetWriteDeadline implements the method that [http.ResponseController] calls.
func (r *response) SetWriteDeadline(deadline time.Time) error {
	r.ownDeadlines = true
	return http.NewResponseController(r.ResponseWriter).SetWriteDeadline(deadline)
}

// Unwrap lets http.ResponseController reach the wrapped writer.
func (r *response) Unwrap() http.ResponseWriter { return r.ResponseWriter }
