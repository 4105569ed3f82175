package mcptools

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// GivenTwice reports whether a message has an object with a member that is given twice. Another reader
// on the way may take the other one.
func GivenTwice(message []byte) bool {
	lax, text := jsontext.AllowInvalidUTF8(true), jsontext.Value(message)
	return !text.IsValid(lax) && text.IsValid(lax, jsontext.AllowDuplicateNames(true))
}

// RefusedTwice is the reply to a message with a member that is given twice. The id is null if it is
// not known.
func RefusedTwice(id jsontext.Value) []byte {
	if id == nil {
		id = jsontext.Value("null")
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32600,"message":"a member of the message is given twice"}}`, id)
}

// OverLines returns the transport of a client that writes each message on a line of its own, such as to
// stdin. It refuses a message with a member that is given twice.
func OverLines(reader io.ReadCloser, writer io.WriteCloser) mcp.Transport {
	replies := &wholeWrites{WriteCloser: writer}
	return &mcp.IOTransport{Reader: &lines{ReadCloser: reader, from: bufio.NewReader(reader), replies: replies}, Writer: replies}
}

// wholeWrites keeps the refusals of [lines] and the replies of the server apart.
type wholeWrites struct {
	io.WriteCloser
	mu sync.Mutex
}

// Write implements [io.Writer].
func (w *wholeWrites) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.WriteCloser.Write(p)
}

// lines reads messages that are each on a line, without those that it refuses.
type lines struct {
	io.ReadCloser
	from    *bufio.Reader
	replies io.Writer
	// rest is the unread part of a line.
	rest []byte
}

var (
	errLongLine = errors.New("a message has more bytes than the protocol allows")
	errNoLine   = errors.New("a line is not a JSON message")
)

// Read implements [io.Reader].
func (l *lines) Read(p []byte) (int, error) {
	for len(l.rest) == 0 {
		line, err := l.line()
		if len(bytes.TrimSpace(line)) == 0 {
			if err != nil {
				return 0, err
			}
			continue
		}
		if l.rest, err = l.checked(line); err != nil {
			return 0, err
		}
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// line returns the next line. The last one may end without a line break.
func (l *lines) line() ([]byte, error) {
	var line []byte
	for {
		part, err := l.from.ReadSlice('\n')
		if line = append(line, part...); len(line) > mcp.DefaultMaxLineLength {
			return nil, errLongLine
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// checked returns the line as the server may read it: nothing of a refused one.
func (l *lines) checked(line []byte) ([]byte, error) {
	if !GivenTwice(line) {
		if !jsontext.Value(line).IsValid(jsontext.AllowInvalidUTF8(true)) {
			return nil, errNoLine // the next lines could complete it
		}
		return line, nil
	}
	_, err := l.replies.Write(append(RefusedTwice(idOf(line)), '\n'))
	return nil, err
}

// idOf returns the id of a message, nil if it has none or several.
func idOf(message []byte) (id jsontext.Value) {
	members := jsontext.NewDecoder(bytes.NewReader(message), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if start, err := members.ReadToken(); err != nil || start.Kind() != '{' {
		return nil
	}
	ids := 0
	for members.PeekKind() == '"' {
		token, err := members.ReadToken()
		if err != nil {
			return nil
		}
		isID := token.String() == "id"
		value, err := members.ReadValue()
		if err != nil {
			return nil
		}
		if !isID {
			continue
		}
		ids++
		if kind := value.Kind(); kind == '"' || kind == '0' {
			id = value.Clone()
		}
	}
	if ids != 1 {
		return nil
	}
	return id
}
