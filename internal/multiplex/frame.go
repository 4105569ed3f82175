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

// Subprotocol is the WebSocket subprotocol. A change of the frame format needs a new name.
const Subprotocol = "holdpoint.calls.v1"

const (
	// MaxCallBytes bounds the frame of one call with its body. Larger calls use plain HTTP.
	MaxCallBytes = 64 << 10
	// maxMessageBytes bounds a message: the frames that waited to be written, and one more.
	maxMessageBytes = 512 << 10
	// partBytes is the size at which a buffered body is sent as a frame of its own.
	partBytes = 64 << 10
	// maxHeaders bounds the headers of one frame.
	maxHeaders = 64
)

// kind is the type of a frame. A message is one or more frames: the kind (one byte), the
// number of the call (uvarint), the length of the payload (uvarint), and the payload.
type kind byte

const (
	// kindCall is a request: method, target, headers, body.
	kindCall kind = 1
	// kindCancel tells the service that the caller has gone, or tells the client that there
	// will be no reply. It has no payload.
	kindCancel kind = 2
	// kindPart is a part of the body of a reply, sent before its kindReply.
	kindPart kind = 3
	// kindReply ends a call: status, headers, the rest of the body.
	kindReply kind = 4
	// kindGoAway, with call number 0, asks the client to make no more calls on this
	// connection. It has no payload.
	kindGoAway kind = 5
	// kindRefused says that the service did not accept the call. It had no effect, and the
	// client may send it another way. It has no payload.
	kindRefused kind = 6
)

// errMalformed is wrapped by errors of messages that cannot be parsed.
var errMalformed = errors.New("malformed frame")

// frame is a parsed frame. Its payload is a slice of the message.
type frame struct {
	kind    kind
	call    uint64
	payload []byte
}

// appendFrame appends a frame whose payload is written by fill.
func appendFrame(to []byte, k kind, call uint64, fill func([]byte) []byte) []byte {
	to = append(to, byte(k))
	to = binary.AppendUvarint(to, call)
	if fill == nil {
		return append(to, 0)
	}
	// The length precedes the payload but is known last. Reserve the bytes of the longest
	// one.
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

// nextFrame parses the first frame of a message and returns the rest of the message.
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

// call is a request on the wire.
type call struct {
	method, target string
	header         http.Header
	body           []byte
}

// Headers that a call may have in addition to the headers of the request that opened the
// WebSocket, in canonical form. Headers that identify the caller are sent once, when the
// WebSocket is opened: a proxy that adds them sees only that request.
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

// answer is a reply on the wire, without the parts already sent.
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

// reader reads a payload from its start. After the first error it returns zero values.
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
