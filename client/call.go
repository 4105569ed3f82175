package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/internal/multiplex"
)

// MaxReplyBytes bounds every reply; a larger one is an error.
const MaxReplyBytes = 64 << 20

// maxPrefer is the longest wait that the service accepts in a Prefer header.
const maxPrefer = api.MaxWaitMs * time.Millisecond

// Header values are shared, so setting one allocates nothing.
var jsonType = []string{"application/json"}

// call is one request to the service.
type call struct {
	method string
	path   path
	query  url.Values
	body   any // nil for none
	key    key
	prefer time.Duration // Prefer: wait, 0 for none
	held   time.Duration // how long the service may hold the reply
	out    any           // the reply is decoded into it; nil discards the reply
	// whole, if set, reports whether the decoded reply has the members that such a reply always
	// has. A reply without them, such as {} from an intermediary, is not the service's.
	whole func() bool
	// needs are members that such a reply always has: whole for what does not need the reply's values.
	needs  []string
	repeat repeatable
}

func (c call) String() string { return c.method + " " + c.path.text }

// reply is the part of a reply outside of its body.
type reply struct {
	status   int
	replayed bool
	// more reports that the list has further pages.
	more bool
}

// do makes a call, and retries it if that is safe and may help.
func (c *Client) do(ctx context.Context, call call) (reply, error) {
	if call.path.err != nil {
		return reply{}, call.path.err
	}
	var body []byte
	if call.body != nil {
		var err error
		if body, err = json.Marshal(call.body); err != nil {
			return reply{}, fmt.Errorf("%w: %s: %w", ErrInvalid, call, err)
		}
	}
	pause, began, lost := c.retry.pauses(), time.Now(), false
	for attempt := 1; ; attempt++ {
		r, err := c.tryCall(ctx, call, body)
		if !errors.Is(err, errNotSent) && ctx.Err() == nil {
			c.reached.Store(true)
		}
		failed, again := err, false
		switch {
		case err == nil || ctx.Err() != nil:
		case c.patient && call.repeat == always && Away(err):
			again, err = true, pause.sleepAnyway(ctx, err)
		case (attempt < c.retry.MaxAttempts || c.outlasts(began)) && call.repeat.after(err):
			again, err = true, pause.sleep(ctx, err)
		}
		if err != nil || !again {
			if refused, is := errors.AsType[*Error](err); is {
				refused.Lost = lost && !refused.judges()
			}
			return r, err
		}
		lost = lost || call.method != http.MethodGet && !hadNoEffect(failed)
	}
}

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// maxPooled keeps large buffers out of the pool.
const maxPooled = 1 << 20

// tryCall sends the request once.
func (c *Client) tryCall(ctx context.Context, call call, body []byte) (_ reply, err error) {
	if call.out != nil {
		defer func() {
			if err != nil {
				// Part of a refused reply, such as a decision without its edit, must not be taken for a reply,
				// nor mixed into the next one.
				reflect.ValueOf(call.out).Elem().SetZero()
			}
		}()
	}
	sendCtx := ctx
	if c.timeout > 0 {
		var cancel context.CancelFunc
		sendCtx, cancel = context.WithTimeout(ctx, c.timeout+call.held)
		defer cancel()
	}
	var written atomic.Bool
	if call.key.header != "" { // net/http repeats such a call by itself, so that a failed connection may be its second
		sendCtx = httptrace.WithClientTrace(sendCtx, &httptrace.ClientTrace{WroteHeaders: func() { written.Store(true) }})
	}
	request, err := c.request(sendCtx, call, body)
	if err != nil {
		return reply{}, err
	}
	response, err := c.calls.Do(request)
	if err != nil {
		return reply{}, broken(ctx, call, err, written.Load())
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
		return reply{}, broken(ctx, call, err, true)
	}
	if buffer.Len() > MaxReplyBytes {
		return reply{}, fmt.Errorf("%s: the reply has more than %d bytes", call, MaxReplyBytes)
	}
	r := reply{
		status:   response.StatusCode,
		more:     strings.Contains(response.Header.Get("Link"), `rel="next"`),
		replayed: strings.EqualFold(response.Header.Get("Idempotency-Replayed"), "true"),
	}
	if r.status < 200 || r.status > 299 {
		return r, problem(response, buffer.Bytes())
	}
	if call.out == nil && call.method != http.MethodGet && r.status != http.StatusNoContent {
		// A page of an intermediary does not say that a rule or a token was revoked, or that anything was recorded.
		return r, fmt.Errorf("%w: %s: the reply has the status %d, so the outcome is not known", ErrUnavailable, call, r.status)
	}
	if call.out == nil {
		return r, nil
	}
	if err := json.Unmarshal(buffer.Bytes(), call.out); err != nil {
		if text := jsontext.Value(buffer.Bytes()); !text.IsValid() {
			// A page that an intermediary sent instead of the reply.
			return r, fmt.Errorf("%w: %s: the reply is not JSON, so the outcome is not known", ErrUnavailable, call)
		}
		if semantic, is := errors.AsType[*json.SemanticError](err); is && semantic.JSONPointer == "" {
			return r, fmt.Errorf("%w: %s: the reply is another document, so the outcome is not known", ErrUnavailable, call)
		}
		return r, fmt.Errorf("%s: decode reply: %w", call, err)
	}
	if text := jsontext.Value(buffer.Bytes()); text.Kind() == 'n' || call.whole != nil && !call.whole() || lacks(text, call.needs) {
		return r, fmt.Errorf("%w: %s: the reply lacks members, so the outcome is not known", ErrUnavailable, call)
	}
	return r, nil
}

// lacks reports whether a reply has not all of these members. Null is none.
func lacks(text jsontext.Value, needs []string) bool {
	if len(needs) == 0 {
		return false
	}
	var members map[string]jsontext.Value
	return json.Unmarshal(text, &members) != nil || slices.ContainsFunc(needs, func(name string) bool {
		return len(members[name]) == 0 || members[name].Kind() == 'n'
	})
}

func (c *Client) request(ctx context.Context, call call, body []byte) (*http.Request, error) {
	target := c.baseURL + call.path.text
	if len(call.query) > 0 {
		target += "?" + call.query.Encode()
	}
	var reader io.Reader
	if body != nil {
		reader = bytes.NewReader(body)
	}
	request, err := http.NewRequestWithContext(ctx, call.method, target, reader)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrInvalid, call, err)
	}
	header := request.Header
	c.head(ctx, header)
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

// head sets the headers of every request.
func (c *Client) head(ctx context.Context, header http.Header) {
	maps.Copy(header, c.header)
	if c.traceparent == nil {
		return
	}
	if traceparent := c.traceparent(ctx); traceparent != "" && printableASCII(traceparent) {
		header.Set("Traceparent", traceparent)
	}
}

// broken describes an attempt without a complete reply. The URL is left out, because its
// query may contain a fence. written says that the call was sent before err.
func broken(ctx context.Context, call call, err error, written bool) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", call, contextError(ctx))
	}
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	network, failed := errors.AsType[*net.OpError](err)
	if !written && (failed && network.Op == "dial" || errors.As(err, new(*tls.CertificateVerificationError))) {
		return fmt.Errorf("%w: %w: %s: %w", ErrUnavailable, errNotSent, call, err)
	}
	if errors.Is(err, multiplex.ErrTooLarge) {
		return fmt.Errorf("%s: %w", call, err) // it would be as large again
	}
	return fmt.Errorf("%w: %s: %w", ErrUnavailable, call, err)
}

// problem returns the [Error] of a refusal, including one of a proxy without a problem
// document.
func problem(response *http.Response, body []byte) *Error {
	refused := &Error{Status: response.StatusCode, RetryAfter: retryAfter(response.Header.Get("Retry-After"))}
	var document api.Problem
	if err := json.Unmarshal(body, &document); err != nil {
		refused.Detail = http.StatusText(response.StatusCode)
		return refused
	}
	refused.Code, refused.Domain, refused.Detail = document.Code, document.Domain, document.Detail
	refused.Faults, refused.Recorded, refused.Pending = document.Errors, document.RecordedDecision, document.PendingApproval
	refused.FirstKeptEventID, refused.Redemption, refused.Left = document.FirstKeptEventID, document.Redemption, document.Left
	return refused
}

// retryAfter parses the header's seconds. It ignores a date, which would depend on
// synchronized clocks.
func retryAfter(text string) time.Duration {
	seconds, err := strconv.ParseInt(text, 10, 32)
	if err != nil || seconds < 0 {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// get reads a document, which always has the members in needs.
func get[T any](ctx context.Context, c *Client, from path, query url.Values, needs ...string) (*T, error) {
	return document[T](ctx, c, call{method: http.MethodGet, path: from, query: query, repeat: always, needs: needs})
}

// post sends a document and reads one, which always has the members in needs.
func post[T any](ctx context.Context, c *Client, to path, body any, repeat repeatable, needs ...string) (*T, error) {
	return document[T](ctx, c, call{method: http.MethodPost, path: to, body: body, repeat: repeat, needs: needs})
}

// document makes a call and reads the document of its reply.
func document[T any](ctx context.Context, c *Client, made call) (*T, error) {
	out := new(T)
	made.out = out
	_, err := c.do(ctx, made)
	return orNil(out, err)
}

// wholeDocument is document for a reply that is acted on: a lease is renewed, a run has ended.
func wholeDocument[T any](ctx context.Context, c *Client, made call, whole func(*T) bool) (*T, error) {
	out := new(T)
	made.out, made.whole = out, func() bool { return whole(out) }
	_, err := c.do(ctx, made)
	return orNil(out, err)
}

// open makes a call once, without a deadline except ctx, for a reply that the caller reads as it arrives and closes.
func (c *Client) open(ctx context.Context, made call, header http.Header) (*http.Response, error) {
	request, err := c.request(ctx, made, nil)
	if err != nil {
		return nil, err
	}
	maps.Copy(request.Header, header)
	response, err := c.http.Do(request)
	if err != nil {
		return nil, broken(ctx, made, err, false)
	}
	if response.StatusCode == http.StatusOK {
		return response, nil
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, MaxReplyBytes))
	if err != nil {
		return nil, broken(ctx, made, err, false)
	}
	return nil, problem(response, text)
}

// remove makes a call that deletes something.
func (c *Client) remove(ctx context.Context, what path, repeat repeatable) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: what, repeat: repeat})
	return err
}

func orNil[T any](result *T, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	return result, nil
}

// path is the escaped path of a call, or an error.
type path struct {
	text string
	err  error
}

// at appends segments to a path. It refuses empty ids and dots, which would lead to another
// route.
func at(base string, segments ...string) path {
	var text strings.Builder
	text.WriteString(base)
	for _, segment := range segments {
		if segment == "" || segment == "." || segment == ".." || !utf8.ValidString(segment) {
			return path{err: fmt.Errorf("%w: %q is not an id (under %s)", ErrInvalid, segment, base)}
		}
		text.WriteByte('/')
		text.WriteString(url.PathEscape(segment))
	}
	return path{text: text.String()}
}

// key is an idempotency key, sent in the header or, if the header cannot carry it
// unchanged, as a member of the body.
type key struct {
	header string
	inBody *string
}

// newKey returns the caller's key, or a new one if it is empty.
func newKey(given string) key {
	switch {
	case given == "":
		return key{header: uuid.NewString()}
	case !printableASCII(given) || strings.ContainsAny(given, `"\`) || strings.TrimSpace(given) != given:
		return key{inBody: &given}
	}
	return key{header: given}
}

// newID returns an id that sorts by creation time.
func newID(prefix string) string { return prefix + "_" + uuid.Must(uuid.NewV7()).String() }

// optional returns nil for an empty value, which leaves it out of the body.
func optional[T comparable](value T) *T {
	var empty T
	if value == empty {
		return nil
	}
	return &value
}
