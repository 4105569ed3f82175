package stream

import (
	"errors"
	"net/http"
	"time"
)

var noBuffering = []string{"no"}

// Writer is the [Out] of a reply over HTTP. It gives the reader some time for
// everything between two flushes, and then takes the connection away.
type Writer struct {
	w        http.ResponseWriter
	control  *http.ResponseController
	patience time.Duration
	// timed says that the deadline is set.
	timed bool
}

// Begin answers 200 with the headers of a stream of events and returns what its
// frames are written to. Patience is how long the reader may take nothing.
func Begin(w http.ResponseWriter, contentType string, patience time.Duration) *Writer {
	header := w.Header()
	header["Content-Type"] = []string{contentType}
	// A proxy such as nginx would hold the frames back.
	header["X-Accel-Buffering"] = noBuffering
	w.WriteHeader(http.StatusOK)
	out := &Writer{w: w, control: http.NewResponseController(w), patience: patience}
	// The bound on how long a request may take to arrive says nothing about a stream.
	_ = out.control.SetReadDeadline(time.Time{})
	return out
}

// Write implements [Out].
func (o *Writer) Write(text []byte) (int, error) {
	if !o.timed {
		if err := o.control.SetWriteDeadline(o.deadline()); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return 0, err
		}
		o.timed = true
	}
	return o.w.Write(text)
}

// Flush implements [Out].
func (o *Writer) Flush() error {
	o.timed = false
	if err := o.control.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}

func (o *Writer) deadline() time.Time {
	return time.Now().Add(o.patience) //nolint:forbidigo // a deadline of a connection is by the clock of this process
}
