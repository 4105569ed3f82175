package stream

import (
	"errors"
	"net/http"
	"time"
)

var noBuffering = []string{"no"}

// piece is the part of a stream that is written under one deadline. A snapshot of the inbox has up to 8 MiB.
const piece = 64 << 10

// Writer is the [Out] of an HTTP response. The reader gets a limited time for each piece; then the
// connection is closed.
type Writer struct {
	w        http.ResponseWriter
	control  *http.ResponseController
	patience time.Duration
	// room is how much may still be written under the deadline that is set.
	room int
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
func (o *Writer) Write(text []byte) (written int, err error) {
	for written < len(text) && err == nil {
		if o.room == 0 {
			if err := o.control.SetWriteDeadline(o.deadline()); err != nil && !errors.Is(err, http.ErrNotSupported) {
				return written, err
			}
			o.room = piece
		}
		var n int
		n, err = o.w.Write(text[written:min(written+o.room, len(text))])
		written, o.room = written+n, o.room-n
	}
	return written, err
}

// Flush implements [Out].
func (o *Writer) Flush() error {
	o.room = 0
	if err := o.control.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}

func (o *Writer) deadline() time.Time {
	return time.Now().Add(o.patience) //nolint:forbidigo // connection deadlines use the process's clock
}
