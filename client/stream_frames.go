package client

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/tmaxmax/go-sse"
)

// errFrame says that what came is no stream of this service.
var errFrame = errors.New("unreadable stream")

// streamFrame is one frame of server-sent events that has data.
type streamFrame struct {
	id, name string
	data     []byte
}

// cutSource reads a stream and never reports its end as io.EOF, after which the parser would
// return a frame that the end has cut off. err is how the stream ended.
type cutSource struct {
	body io.Reader
	err  error
}

func (s *cutSource) Read(to []byte) (int, error) {
	n, err := s.body.Read(to)
	if s.err = err; err == io.EOF { //nolint:errorlint // a reader returns io.EOF itself
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// readFrames returns the frames of one connection. A frame that the end of the stream cuts
// off is left out. The iteration ends after an error: that of the connection, or errFrame
// for a frame of more than MaxReplyBytes. The id is the last one of the connection, "" when
// there was none.
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
