package client

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/internal/multiplex"
)

// Client calls one holdpoint service. It is safe for concurrent use; create one and share
// it.
type Client struct {
	baseURL string // without a trailing slash
	http    *http.Client
	// calls makes all calls except streams; http if they are not multiplexed.
	calls       *http.Client
	multiplexed *multiplex.Transport // used by calls; nil without multiplexing
	plain       bool                 // multiplexing is off by the caller's choice
	header      http.Header          // headers of every request; the values are shared and never modified
	timeout     time.Duration
	retry       RetryPolicy
	reached     *atomic.Bool    // the service was reached before; shared by copies
	patient     bool            // calls are retried until their context ends; see patiently
	owned       *http.Transport // nil if the caller provided the HTTP client
	opener      *http.Transport // opens multiplexed connections; nil without multiplexing
	tls         *tls.Config     // of owned; nil for the system's defaults
	// traceparent returns the traceparent of a context; may be nil.
	traceparent func(context.Context) string
}

// Defaults of a [Client].
const (
	// DefaultTimeout bounds one attempt, in addition to the wait that it asks for.
	DefaultTimeout = 30 * time.Second
	// DefaultUserAgent is the User-Agent without [WithUserAgent].
	DefaultUserAgent = "holdpoint-go"
)

// Option configures a new [Client]. Its error wraps [ErrInvalid].
type Option func(*Client) error

// WithHTTPClient uses the given HTTP client instead of the built-in one. The built-in one
// keeps many connections to its host and ignores proxy settings. Neither follows redirects,
// unless the given one has a CheckRedirect of its own. A Timeout of the given one also cuts
// long-polls: leave it zero and use [WithTimeout].
func WithHTTPClient(httpClient *http.Client) Option {
	return func(c *Client) error {
		if httpClient == nil {
			return fmt.Errorf("%w: the HTTP client is nil", ErrInvalid)
		}
		given := *httpClient
		if given.CheckRedirect == nil {
			given.CheckRedirect = noRedirects
		}
		c.http = &given
		return nil
	}
}

// WithTLS sets the TLS configuration of the built-in HTTP client, such as client
// certificates and trusted authorities. It cannot be combined with [WithHTTPClient].
func WithTLS(config *tls.Config) Option {
	return func(c *Client) error {
		if config == nil {
			return fmt.Errorf("%w: the configuration of TLS is nil", ErrInvalid)
		}
		c.tls = config.Clone()
		return nil
	}
}

// WithActor sets the name to record with decisions as resolved_by; it is sent as X-Actor.
// It must be 1 to 200 bytes of printable text.
func WithActor(name string) Option {
	return func(c *Client) error {
		name = strings.TrimSpace(name)
		unprintable := func(r rune) bool { return !unicode.IsPrint(r) }
		if name == "" || len(name) > api.MaxActorLength || !utf8.ValidString(name) || strings.ContainsFunc(name, unprintable) {
			return fmt.Errorf("%w: the actor must be 1 to 200 bytes of printable text", ErrInvalid)
		}
		c.header.Set("X-Actor", name)
		return nil
	}
}

// WithVia names the deciding program; it is sent as X-Via and recorded as via with the
// prefix "api:". It must be 1 to 32 of the characters A-Z a-z 0-9 . _ : -.
func WithVia(program string) Option {
	return func(c *Client) error {
		other := func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._:-", r)
		}
		if program == "" || program == "." || program == ".." || len(program) > api.MaxViaLength || strings.ContainsFunc(program, other) {
			return fmt.Errorf("%w: via must be 1 to %d characters A-Z a-z 0-9 . _ : -", ErrInvalid, api.MaxViaLength)
		}
		c.header.Set("X-Via", program)
		return nil
	}
}

// WithToken sends a bearer token with every call.
func WithToken(token string) Option {
	return func(c *Client) error {
		if token == "" || strings.Contains(token, " ") || !printableASCII(token) {
			return fmt.Errorf("%w: the token must be printable ASCII without spaces", ErrInvalid)
		}
		c.header.Set("Authorization", "Bearer "+token)
		return nil
	}
}

// WithRetry sets the retry policy of calls that are safe to repeat. Zero members take the
// defaults of [RetryPolicy].
func WithRetry(policy RetryPolicy) Option {
	return func(c *Client) error {
		c.retry = policy.withDefaults()
		return nil
	}
}

// WithTraceparent sends the W3C Trace Context header traceparent with every call. The
// function returns its value for a call's context, empty for none. Requests keep it, and
// the claim that resumes the run includes it. A tracing transport in [WithHTTPClient] sends
// the header, too; use one of them.
func WithTraceparent(of func(context.Context) string) Option {
	return func(c *Client) error {
		if of == nil {
			return fmt.Errorf("%w: the function is nil", ErrInvalid)
		}
		c.traceparent = of
		return nil
	}
}

// WithUserAgent sets the User-Agent header.
func WithUserAgent(userAgent string) Option {
	return func(c *Client) error {
		if !printableASCII(userAgent) {
			return fmt.Errorf("%w: the user agent must be printable ASCII", ErrInvalid)
		}
		c.header.Set("User-Agent", userAgent)
		return nil
	}
}

// WithoutMultiplexing makes every call a separate HTTP request. By default, a client with
// the built-in HTTP client opens one WebSocket to the service after some concurrent calls
// and makes calls over it, which costs less with many at once. Calls that it cannot carry,
// such as streams, and all calls behind a proxy without WebSockets remain separate
// requests.
func WithoutMultiplexing() Option {
	return func(c *Client) error {
		c.plain = true
		return nil
	}
}

// WithTimeout bounds one attempt, in addition to the wait that it asks for. A negative
// duration sets no limit.
func WithTimeout(timeout time.Duration) Option {
	return func(c *Client) error {
		c.timeout = timeout
		return nil
	}
}

// New returns a client for the service at an http or https URL, such as
// "http://127.0.0.1:4000". A path in the URL is prepended to every route. New does not
// connect. The error wraps [ErrInvalid] and names the bad argument.
func New(baseURL string, options ...Option) (*Client, error) {
	parsed, err := url.Parse(baseURL)
	if err != nil {
		return nil, fmt.Errorf("%w: base URL: %w", ErrInvalid, err)
	}
	switch {
	case parsed.Scheme != "http" && parsed.Scheme != "https":
		return nil, fmt.Errorf("%w: base URL %q must begin with http:// or https://", ErrInvalid, baseURL)
	case parsed.Host == "":
		return nil, fmt.Errorf("%w: base URL %q names no host", ErrInvalid, baseURL)
	case parsed.User != nil:
		return nil, fmt.Errorf("%w: base URL must not hold credentials", ErrInvalid)
	case parsed.RawQuery != "" || parsed.Fragment != "":
		return nil, fmt.Errorf("%w: base URL must have neither query nor fragment", ErrInvalid)
	}
	c := &Client{
		baseURL: strings.TrimRight(parsed.String(), "/"),
		header:  http.Header{"Accept": jsonType, "User-Agent": {DefaultUserAgent}},
		timeout: DefaultTimeout,
		retry:   RetryPolicy{}.withDefaults(),
		reached: new(atomic.Bool),
	}
	for _, option := range options {
		if err := option(c); err != nil {
			return nil, err
		}
	}
	if c.http != nil && c.tls != nil {
		return nil, fmt.Errorf("%w: the HTTP client that was given has its own configuration of TLS", ErrInvalid)
	}
	if c.http == nil {
		c.owned = newTransport()
		c.owned.TLSClientConfig = c.tls
		c.http = &http.Client{Transport: c.owned, CheckRedirect: noRedirects}
	}
	c.calls = c.http
	if c.owned != nil && !c.plain {
		c.opener = openerOf(c.owned)
		c.multiplexed = &multiplex.Transport{
			Plain: c.owned, Opener: &http.Client{Transport: c.opener, CheckRedirect: noRedirects},
			BaseURL: c.baseURL, BasePath: strings.TrimRight(parsed.EscapedPath(), "/"), Header: c.header, MaxReplyBytes: MaxReplyBytes,
		}
		c.calls = &http.Client{Transport: c.multiplexed, CheckRedirect: noRedirects}
	}
	return c, nil
}

// openerOf returns a transport like the given one that uses HTTP/1.1, which WebSockets
// need.
func openerOf(plain *http.Transport) *http.Transport {
	opener := plain.Clone()
	opener.ForceAttemptHTTP2 = false
	opener.Protocols = new(http.Protocols)
	opener.Protocols.SetHTTP1(true)
	return opener
}

// Close closes the idle connections of the built-in HTTP client, but not connections of a given
// one.
func (c *Client) Close() {
	if c.multiplexed != nil {
		c.multiplexed.CloseIdle()
		c.opener.CloseIdleConnections()
	}
	if c.owned != nil {
		c.owned.CloseIdleConnections()
	}
}

// newTransport is tuned for many concurrent calls to one host. By default net/http keeps
// two idle connections per host, and would open a new one for most calls.
func newTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		DialContext:           dialer.DialContext,
		MaxIdleConns:          1024,
		MaxIdleConnsPerHost:   1024,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
		DisableCompression:    true,
		ForceAttemptHTTP2:     true,
	}
}

// noRedirects returns a redirect as the reply: the service sends none, a POST must not be sent
// elsewhere, and the page that a DELETE is led to does not say that anything was deleted.
func noRedirects(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func printableASCII(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

// Version returns the name and version of the service.
func (c *Client) Version(ctx context.Context) (*api.VersionInfo, error) {
	return get[api.VersionInfo](ctx, c, at("/version"), nil, "version")
}

// Ready returns nil if the service and its database are ready. [ErrUnavailable] means that
// they are not, or that the service cannot be reached. It is not retried.
func (c *Client) Ready(ctx context.Context) error {
	_, err := c.do(ctx, call{method: http.MethodGet, path: at("/readyz"), repeat: never})
	return err
}
