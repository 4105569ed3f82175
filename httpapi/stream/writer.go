package stream

import (
	"errors"
	"net/http"
	"time"
)

var noBuffering = []string{"no"}

// Writer is the [Out] of an HTTP response. The reader gets a limited time for the data between two
// flushes; then the connection is closed.
type Writer struct {
	w        http.ResponseWriter
	control  *http.ResponseController
	patience time.Duration
	// timed says that the deadline is set.
	timed bool
}

// Begin sends the 200 headers of an event stream and returns its Writer. patience is how long the
// reader may block.
func Begin(w http.ResponseWriter, contentType string, patience time.Duration) *Writer {
	header := w.Header()
	header["Content-Type"] = []string{contentType}
	// Otherwise a proxy such as nginx would buffer the frames.
	header["X-Accel-Buffering"] = noBuffering
	w.WriteHeader(http.StatusOK)
	out := &Writer{w: w, control: http.NewResponseController(w), patience: patience}
	// The read deadline is for the request, not for the stream.
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
	return time.Now().Add(o.patience) //nolint:forbidigo // connection deadlines use the process's clock
}
