package client

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// errFrame says that what came is no stream of this service.
var errFrame = errors.New("unreadable stream")

// streamFrame is one frame of server-sent events.
type streamFrame struct {
	id, name string
	data     []byte
}

// frameReader reads frames. It takes all forms of line ends that the format has. A
// frame that the end of the stream cuts off is left out.
type frameReader struct {
	lines *bufio.Scanner
	// size is how much of the present frame has been read.
	size int
}

func newFrameReader(body io.Reader) *frameReader {
	lines := bufio.NewScanner(body)
	lines.Buffer(make([]byte, 0, 4096), MaxReplyBytes)
	ends := &lineEnds{}
	lines.Split(ends.split)
	return &frameReader{lines: lines}
}

// next returns the next frame that has data. Its errors are io.EOF, those of the
// connection, and errFrame.
func (r *frameReader) next() (streamFrame, error) {
	var one streamFrame
	var data [][]byte
	r.size = 0
	for r.lines.Scan() {
		line := r.lines.Bytes()
		if len(line) == 0 {
			if data == nil {
				one = streamFrame{}
				continue
			}
			one.data = bytes.Join(data, []byte{'\n'})
			return one, nil
		}
		if r.size += len(line); r.size > MaxReplyBytes {
			return streamFrame{}, fmt.Errorf("%w: a frame has more than %d bytes", errFrame, MaxReplyBytes)
		}
		name, value, _ := bytes.Cut(line, []byte{':'})
		value = bytes.TrimPrefix(value, []byte{' '})
		switch string(name) {
		case "id":
			one.id = string(value)
		case "event":
			one.name = string(value)
		case "data":
			data = append(data, bytes.Clone(value))
		default:
			// A comment, retry, and what later versions may add.
		}
	}
	switch err := r.lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return streamFrame{}, fmt.Errorf("%w: a line has more than %d bytes", errFrame, MaxReplyBytes)
	case err != nil:
		return streamFrame{}, err
	}
	return streamFrame{}, io.EOF
}

// lineEnds splits at LF, CR and CR LF. A CR ends its line at once, although an LF may
// follow that belongs to it: that LF is skipped when it comes.
type lineEnds struct{ afterCR bool }

func (l *lineEnds) split(data []byte, atEOF bool) (advance int, token []byte, err error) {
	skipped := 0
	if l.afterCR && len(data) > 0 {
		l.afterCR = false
		if data[0] == '\n' {
			skipped = 1
			data = data[1:]
		}
	}
	end := bytes.IndexAny(data, "\r\n")
	switch {
	case end >= 0:
		l.afterCR = data[end] == '\r'
		return skipped + end + 1, data[:end:end], nil
	case atEOF:
		// What no line end follows was cut off.
		return skipped + len(data), nil, nil
	}
	return skipped, nil, nil
}
