package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"github.com/holdpoint/holdpoint/api"
)

// MaxReplyBytes bounds every reply that is read; a larger one is an error.
const MaxReplyBytes = 64 << 20

// maxPrefer is the longest wait that the service takes in a Prefer header.
const maxPrefer = 60 * time.Second

// Header values are shared: setting one costs no allocation.
var jsonType = []string{"application/json"}

// call is one request to the service.
type call struct {
	method string
	path   string // escaped
	query  url.Values
	body   any // nil for none
	key    key
	prefer time.Duration // Prefer: wait, 0 for none
	held   time.Duration // how long the service may hold the reply
	out    any           // where the reply is decoded to; nil when it is of no interest
	repeat repeatable
}

// reply is what of a reply stands outside its body.
type reply struct {
	status   int
	replayed bool
}

// do makes a call, and repeats it where that is safe and may help.
func (c *Client) do(ctx context.Context, call call) (reply, error) {
	var body []byte
	if call.body != nil {
		var err error
		if body, err = json.Marshal(call.body); err != nil {
			return reply{}, fmt.Errorf("%w: %s %s: %w", ErrInvalid, call.method, call.path, err)
		}
	}
	pause := c.retry.pauses()
	for attempt := 1; ; attempt++ {
		r, err := c.attempt(ctx, call, body)
		if err == nil || ctx.Err() != nil || attempt >= c.retry.MaxAttempts || !call.repeat.after(err) {
			return r, err
		}
		if err := pause.sleep(ctx, err); err != nil {
			return reply{}, err
		}
	}
}

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// maxPooled keeps the buffer of one large reply from staying in memory.
const maxPooled = 1 << 20

// attempt sends the request once.
func (c *Client) attempt(ctx context.Context, call call, body []byte) (reply, error) {
	sendCtx := ctx
	if c.timeout > 0 {
		var cancel context.CancelFunc
		sendCtx, cancel = context.WithTimeout(ctx, c.timeout+call.held)
		defer cancel()
	}
	request, err := c.request(sendCtx, call, body)
	if err != nil {
		return reply{}, err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return reply{}, broken(ctx, call, err)
	}
	defer response.Body.Close()
	buffer := buffers.Get().(*bytes.Buffer)
	defer func() {
		if buffer.Cap() <= maxPooled {
			buffer.Reset()
			buffers.Put(buffer)
		}
	}()
	if _, err := buffer.ReadFrom(io.LimitReader(response.Body, MaxReplyBytes+1)); err != nil {
		return reply{}, broken(ctx, call, err)
	}
	if buffer.Len() > MaxReplyBytes {
		return reply{}, fmt.Errorf("%s %s: the reply has more than %d bytes", call.method, call.path, MaxReplyBytes)
	}
	r := reply{
		status:   response.StatusCode,
		replayed: strings.EqualFold(response.Header.Get("Idempotency-Replayed"), "true"),
	}
	if r.status < 200 || r.status > 299 {
		return r, problem(response, buffer.Bytes())
	}
	if call.out == nil {
		return r, nil
	}
	if err := json.Unmarshal(buffer.Bytes(), call.out); err != nil {
		return r, fmt.Errorf("%s %s: decode reply: %w", call.method, call.path, err)
	}
	return r, nil
}

func (c *Client) request(ctx context.Context, call call, body []byte) (*http.Request, error) {
	target := c.baseURL + call.path
	if len(call.query) > 0 {
		target += "?" + call.query.Encode()
	}
	var reader io.Reader
	if body != nil {
		reader = bytes.NewReader(body)
	}
	request, err := http.NewRequestWithContext(ctx, call.method, target, reader)
	if err != nil {
		return nil, fmt.Errorf("%w: %s %s: %w", ErrInvalid, call.method, call.path, err)
	}
	header := request.Header
	maps.Copy(header, c.header)
	if body != nil {
		header["Content-Type"] = jsonType
	}
	if call.key.header != "" {
		header.Set("Idempotency-Key", call.key.header)
	}
	if call.prefer > 0 {
		seconds := (min(call.prefer, maxPrefer) + time.Second - 1) / time.Second
		header.Set("Prefer", "wait="+strconv.Itoa(int(seconds)))
	}
	return request, nil
}

// broken describes an attempt that got no whole reply. The URL is left out of the
// text, because its query may hold a fence.
func broken(ctx context.Context, call call, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s %s: %w", call.method, call.path, contextError(ctx))
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	var network *net.OpError
	if errors.As(err, &network) && network.Op == "dial" {
		return fmt.Errorf("%w: %w: %s %s: %w", ErrUnavailable, errNotSent, call.method, call.path, err)
	}
	return fmt.Errorf("%w: %s %s: %w", ErrUnavailable, call.method, call.path, err)
}

// problem makes an [Error] of a refusal, whoever sent it.
func problem(response *http.Response, body []byte) *Error {
	refused := &Error{Status: response.StatusCode, RetryAfter: retryAfter(response.Header.Get("Retry-After"))}
	var document struct {
		Code     api.Code              `json:"code"`
		Domain   string                `json:"domain"`
		Detail   string                `json:"detail"`
		Faults   []api.Fault           `json:"errors"`
		Recorded *api.RecordedDecision `json:"recorded_decision"`
	}
	if err := json.Unmarshal(body, &document); err != nil {
		refused.Detail = http.StatusText(response.StatusCode)
		return refused
	}
	refused.Code, refused.Domain, refused.Detail = document.Code, document.Domain, document.Detail
	refused.Faults, refused.Recorded = document.Faults, document.Recorded
	return refused
}

// retryAfter reads the seconds of the header. The form with a date is not read,
// because it would depend on how two clocks agree.
func retryAfter(text string) time.Duration {
	seconds, err := strconv.ParseInt(text, 10, 32)
	if err != nil || seconds < 0 {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// get reads a document.
func get[T any](ctx context.Context, c *Client, path string, query url.Values) (*T, error) {
	out := new(T)
	if _, err := c.do(ctx, call{method: http.MethodGet, path: path, query: query, out: out, repeat: always}); err != nil {
		return nil, err
	}
	return out, nil
}

// post sends a document and reads one.
func post[T any](ctx context.Context, c *Client, path string, body any, repeat repeatable) (*T, error) {
	out := new(T)
	if _, err := c.do(ctx, call{method: http.MethodPost, path: path, body: body, out: out, repeat: repeat}); err != nil {
		return nil, err
	}
	return out, nil
}

// route joins a base and segments to a path. An empty id would name another route,
// and dots another place.
func route(base string, segments ...string) (string, error) {
	var path strings.Builder
	path.WriteString(base)
	for _, segment := range segments {
		if segment == "" || segment == "." || segment == ".." {
			return "", fmt.Errorf("%w: %q is no id (under %s)", ErrInvalid, segment, base)
		}
		path.WriteByte('/')
		path.WriteString(url.PathEscape(segment))
	}
	return path.String(), nil
}

// key is an idempotency key as it is sent: in the header, or, when that could not
// carry it whole, as a member of the body.
type key struct {
	header, member string
}

// newKey takes the caller's key or makes one.
func newKey(given string) (key, error) {
	if given == "" {
		id, err := uuid.NewRandom()
		if err != nil {
			return key{}, fmt.Errorf("make an idempotency key: %w", err)
		}
		return key{header: id.String()}, nil
	}
	if !printableASCII(given) || strings.ContainsAny(given, `"\`) {
		return key{member: given}, nil
	}
	return key{header: given}, nil
}

// newID makes an identifier that sorts by the time it was made.
func newID(prefix string) (string, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return "", fmt.Errorf("make an id: %w", err)
	}
	return prefix + "_" + id.String(), nil
}
