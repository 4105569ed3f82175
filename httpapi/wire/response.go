package wire

import (
	"net/http"
	"time"
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
