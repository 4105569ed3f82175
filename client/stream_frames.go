package client

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/tmaxmax/go-sse"
)

// errFrame means that the reply is not a stream of this service.
var errFrame = errors.New("unreadable stream")

// streamFrame is one server-sent event with data.
type streamFrame struct {
	id, name string
	data     []byte
}

// isObject reports whether the data begins like a JSON object. A null would be decoded without an
// error, as an empty view.
func (f streamFrame) isObject() bool {
	return bytes.HasPrefix(bytes.TrimLeft(f.data, " \t\r\n"), []byte("{"))
}

// cutSource reads a stream and never returns io.EOF, because the parser would then return
// an incomplete last frame. err is how the stream ended.
type cutSource struct {
	body io.Reader
	err  error
}

func (s *cutSource) Read(to []byte) (int, error) {
	n, err := s.body.Read(to)
	if s.err = err; err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// readFrames returns the frames of one connection, without an incomplete last one. The
// iteration ends after an error of the connection, or errFrame for a frame of more than
// MaxReplyBytes. The id is the last one of the connection, "" if there was none.
func readFrames(body io.Reader) iter.Seq2[streamFrame, error] {
	return func(yield func(streamFrame, error) bool) {
		source := &cutSource{body: body}
		for event, err := range sse.Read(source, &sse.ReadConfig{MaxEventSize: MaxReplyBytes}) {
			switch {
			case err == nil && event.Data == "":
			case err == nil:
				if !yield(streamFrame{id: event.LastEventID, name: event.Type, data: []byte(event.Data)}, nil) {
					return
				}
			case errors.Is(err, bufio.ErrTooLong):
				yield(streamFrame{}, fmt.Errorf("%w: a frame has more than %d bytes", errFrame, MaxReplyBytes))
			case !errors.Is(source.err, io.EOF):
				yield(streamFrame{}, source.err)
			}
		}
	}
}
