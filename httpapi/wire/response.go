package wire

import (
	"net/http"
	"time"

	"github.com/holdpoint/holdpoint/api"
)

const (
	// replyPatience is how long a client may take for a replyChunk.
	replyPatience = 30 * time.Second
	// replyChunk is how much of a reply is written under one deadline.
	replyChunk = 256 << 10
)

// response remembers what was answered, for the log, and gives the client some time for each
// part of it. Without a deadline a client that reads nothing would keep its reply for ever. A
// handler that sets deadlines, as those of streams do, keeps its own.
type response struct {
	http.ResponseWriter
	requestID string
	foreign   func(path string) bool
	patience  time.Duration
	// ownDeadlines says that the handler sets them.
	ownDeadlines bool
	status       int
	cause        error
	// code is that of the problem that was answered, and at the place of the call (see Note).
	code api.Code
	at   Place
	// principal is who makes the call, empty where nobody was asked.
	principal string
	// begun is when the call came.
	begun time.Time
}

// Place is where a call went: the pattern of its route, and the session and the run that its path
// names. Its members are empty where there are none.
type Place struct{ Route, SessionID, RunID string }

// Note keeps the place of the call that w answers, for the log and the metrics.
func Note(w http.ResponseWriter, at Place) {
	if answer := responseOf(w); answer != nil {
		answer.at = at
	}
}

// notePrincipal keeps who makes the call that w answers, for the log.
func notePrincipal(w http.ResponseWriter, principal string) {
	if answer := responseOf(w); answer != nil {
		answer.principal = principal
	}
}

// responseOf returns the response under a writer, nil when there is none.
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
		// A connection without deadlines, as in tests, takes none.
		_ = control.SetWriteDeadline(time.Now().Add(r.patience)) //nolint:forbidigo // a deadline of a connection is by the clock of this process
		n, err := r.ResponseWriter.Write(chunk)
		written += n
		if err != nil || written >= len(body) {
			return written, err
		}
	}
}

// SetWriteDeadline is called by [http.ResponseController].
func (r *response) SetWriteDeadline(deadline time.Time) error {
	r.ownDeadlines = true
	return http.NewResponseController(r.ResponseWriter).SetWriteDeadline(deadline)
}

// Unwrap lets http.ResponseController reach what is below.
func (r *response) Unwrap() http.ResponseWriter { return r.ResponseWriter }
