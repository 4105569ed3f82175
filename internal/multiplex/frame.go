package multiplex

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
)

// Subprotocol is what both sides of the WebSocket agree on. Another form of frames gets another name.
const Subprotocol = "holdpoint.calls.v1"

const (
	// MaxCallBytes bounds the frame of one call, its body included. A larger one goes by plain HTTP.
	MaxCallBytes = 64 << 10
	// maxMessageBytes bounds a message: what waited to be written, and one frame more.
	maxMessageBytes = 512 << 10
	// partBytes is how much of a body is kept before it is sent as a frame of its own.
	partBytes = 64 << 10
	// maxHeaders bounds the headers of one frame.
	maxHeaders = 64
)

// kind says what a frame is. A message is one or more frames, each of its kind (one byte), the number of
// its call (uvarint), the length of its payload (uvarint), and the payload.
type kind byte

const (
	// kindCall is a request: method, target, headers, body.
	kindCall kind = 1
	// kindCancel says that nobody waits for the reply any more or, of the service, that there is none. It has
	// no payload.
	kindCancel kind = 2
	// kindPart is a piece of the body of a reply, which comes before the rest.
	kindPart kind = 3
	// kindReply ends a call: status, headers, the rest of the body.
	kindReply kind = 4
	// kindGoAway, of call 0, asks the client to make no more calls here. It has no payload.
	kindGoAway kind = 5
	// kindRefused says that the service did not take the call: it had no effect and may be made elsewhere. It has no
	// payload.
	kindRefused kind = 6
)

// errMalformed is what the error of a message wraps that cannot be read.
var errMalformed = errors.New("malformed frame")

// frame is one frame as it was read. The payload is part of the message.
type frame struct {
	kind    kind
	call    uint64
	payload []byte
}

// appendFrame adds a frame. Its payload is what fill adds.
func appendFrame(to []byte, k kind, call uint64, fill func([]byte) []byte) []byte {
	to = append(to, byte(k))
	to = binary.AppendUvarint(to, call)
	if fill == nil {
		return append(to, 0)
	}
	// The length comes first and is known last: its place has as many bytes as the longest takes.
	const place = binary.MaxVarintLen32
	at := len(to)
	to = fill(append(to, make([]byte, place)...))
	length := uint64(len(to) - at - place)
	for i := range place - 1 {
		to[at+i] = byte(length)&0x7f | 0x80
		length >>= 7
	}
	to[at+place-1] = byte(length)
	return to
}

// nextFrame reads the first frame of a message, and returns what is behind it.
func nextFrame(message []byte) (f frame, rest []byte, err error) {
	if len(message) == 0 {
		return f, nil, fmt.Errorf("%w: empty", errMalformed)
	}
	f.kind = kind(message[0])
	r := reader{rest: message[1:]}
	f.call = r.number()
	f.payload = r.bytes()
	return f, r.rest, r.err
}

// call is a request as it is carried.
type call struct {
	method, target string
	header         http.Header
	body           []byte
}

// Headers that a call may have beside those of the request that opened the WebSocket, by their usual names. Who
// calls, from where, for whom and by what is said once, when the WebSocket is opened: a proxy that says it in place of
// the client sees that request alone.
var callHeaders = []string{"Accept", "Content-Type", "Idempotency-Key", "Prefer", "Traceparent", "Tracestate", "X-Request-Id"}

func (c *call) append(to []byte) []byte {
	to = appendText(to, c.method)
	to = appendText(to, c.target)
	to = appendHeader(to, c.header)
	return append(to, c.body...)
}

func readCall(payload []byte) (*call, error) {
	r := reader{rest: payload}
	c := &call{method: r.text(), target: r.text(), header: r.header()}
	c.body = r.rest
	if r.err != nil {
		return nil, r.err
	}
	for name, values := range c.header {
		if !slices.Contains(callHeaders, name) {
			return nil, fmt.Errorf("%w: the header %.100q belongs to the request that opened the connection", errMalformed, name)
		}
		if slices.ContainsFunc(values, func(value string) bool { return strings.ContainsFunc(value, isControl) }) {
			return nil, fmt.Errorf("%w: the header %s has a control character", errMalformed, name)
		}
	}
	return c, nil
}

func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

// answer is a reply as it is carried, without the parts that came before.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func readAnswer(payload []byte) (*answer, error) {
	r := reader{rest: payload}
	a := &answer{status: int(min(r.number(), 1000)), header: r.header()}
	a.body = r.rest
	if r.err == nil && (a.status < 200 || a.status > 599) {
		return nil, fmt.Errorf("%w: status %d", errMalformed, a.status)
	}
	return a, r.err
}

func appendNumber(to []byte, value uint64) []byte { return binary.AppendUvarint(to, value) }

func appendText(to []byte, text string) []byte {
	to = binary.AppendUvarint(to, uint64(len(text)))
	return append(to, text...)
}

func appendHeader(to []byte, header http.Header) []byte {
	count := 0
	for _, values := range header {
		count += len(values)
	}
	to = binary.AppendUvarint(to, uint64(count))
	for name, values := range header {
		for _, value := range values {
			to = appendText(appendText(to, name), value)
		}
	}
	return to
}

// reader reads from the front of a payload. After the first error it returns zero values.
type reader struct {
	rest []byte
	err  error
}

func (r *reader) fail(what string) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s", errMalformed, what)
	}
	r.rest = nil
}

func (r *reader) number() uint64 {
	value, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.fail("a number is cut off or too large")
		return 0
	}
	r.rest = r.rest[n:]
	return value
}

func (r *reader) bytes() []byte {
	length := r.number()
	if length > uint64(len(r.rest)) {
		r.fail("it is shorter than it says")
		return nil
	}
	part := r.rest[:length:length]
	r.rest = r.rest[length:]
	return part
}

func (r *reader) text() string { return string(r.bytes()) }

func (r *reader) header() http.Header {
	count := r.number()
	if count > maxHeaders {
		r.fail("it has too many headers")
		return nil
	}
	header := make(http.Header, count)
	for range count {
		name, value := textproto.CanonicalMIMEHeaderKey(string(r.bytes())), r.text()
		header[name] = append(header[name], value)
	}
	return header
}
