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

// Client calls one holdpoint service. It is safe for concurrent use; make one and share
// it.
type Client struct {
	baseURL string // without a slash at its end
	http    *http.Client
	// calls makes the calls that are no streams; http when they are not multiplexed.
	calls       *http.Client
	multiplexed *multiplex.Transport // of calls; nil when each is a request by itself
	plain       bool                 // so by the caller's choice
	header      http.Header          // of every request; the values are shared and never written to
	timeout     time.Duration
	retry       RetryPolicy
	reached     *atomic.Bool    // a connection to the service was made; copies share it
	patient     bool            // calls are repeated until their context ends; see patiently
	owned       *http.Transport // nil when the caller gave the HTTP client
	opener      *http.Transport // of connections for many calls; nil without them
	tls         *tls.Config     // of owned; nil for the machine's
	// traceparent returns that of a context; nil for none.
	traceparent func(context.Context) string
}

// Defaults of a [Client].
const (
	// DefaultTimeout is how long one attempt may take beyond the wait it asks for.
	DefaultTimeout = 30 * time.Second
	// DefaultUserAgent is sent when [WithUserAgent] is not used.
	DefaultUserAgent = "holdpoint-go"
)

// Option configures a new [Client]. Its error wraps [ErrInvalid].
type Option func(*Client) error

// WithHTTPClient uses the caller's HTTP client instead of the built-in one, which keeps
// many connections to its one host, ignores proxy settings of the environment and follows
// no redirects. Its Timeout also cuts long-polls: leave it zero and use [WithTimeout].
func WithHTTPClient(httpClient *http.Client) Option {
	return func(c *Client) error {
		if httpClient == nil {
			return fmt.Errorf("%w: the HTTP client is nil", ErrInvalid)
		}
		c.http = httpClient
		return nil
	}
}

// WithTLS uses a configuration of TLS for the built-in HTTP client: client certificates, by which an
// agent may call, and authorities to believe beside those of the machine. Not beside
// [WithHTTPClient].
func WithTLS(config *tls.Config) Option {
	return func(c *Client) error {
		if config == nil {
			return fmt.Errorf("%w: the configuration of TLS is nil", ErrInvalid)
		}
		c.tls = config.Clone()
		return nil
	}
}

// WithActor names who makes the decisions; it is sent as X-Actor and recorded as
// resolved_by. It must be 1 to 200 bytes of printable text.
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

// WithVia names the program that makes the decisions; it is sent as X-Via, and "api:" with it is
// recorded as via. It must be 1 to 32 of the characters A-Z a-z 0-9 . _ : -.
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

// WithRetry sets how calls that are safe to repeat are repeated. Zero members take
// the defaults of [RetryPolicy].
func WithRetry(policy RetryPolicy) Option {
	return func(c *Client) error {
		c.retry = policy.withDefaults()
		return nil
	}
}

// WithTraceparent has every call say in which trace it is, by the header traceparent of W3C Trace
// Context. The function returns its value for the context of a call, empty for none. What a
// call raises keeps it and the claim that resumes has it, in the requests. A transport that traces, given by
// [WithHTTPClient], sends the header too; use one of them.
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

// WithoutMultiplexing makes every call a request by itself. Else a client with the built-in HTTP client that has made
// some calls opens one WebSocket to the service and makes its calls over that, which costs less with
// many at once; what it cannot carry, streams among it, goes by requests all the same, and so does
// everything where a proxy passes no WebSockets.
func WithoutMultiplexing() Option {
	return func(c *Client) error {
		c.plain = true
		return nil
	}
}

// WithTimeout sets how long one attempt may take beyond the wait it asks for. A
// negative duration sets no limit.
func WithTimeout(timeout time.Duration) Option {
	return func(c *Client) error {
		c.timeout = timeout
		return nil
	}
}

// New returns a client of the service at an http or https URL, such as
// "http://127.0.0.1:4000"; a path in it is put before every route. It makes no
// connection. The error wraps [ErrInvalid] and names the bad argument.
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

// openerOf returns a transport like the given one that speaks HTTP/1.1, which WebSockets need.
func openerOf(plain *http.Transport) *http.Transport {
	opener := plain.Clone()
	opener.ForceAttemptHTTP2 = false
	opener.Protocols = new(http.Protocols)
	opener.Protocols.SetHTTP1(true)
	return opener
}

// Close closes the idle connections of the built-in HTTP client, and not those of the
// caller's.
func (c *Client) Close() {
	if c.multiplexed != nil {
		c.multiplexed.CloseIdle()
		c.opener.CloseIdleConnections()
	}
	if c.owned != nil {
		c.owned.CloseIdleConnections()
	}
}

// newTransport is tuned for many concurrent calls to one host: by default net/http keeps
// two idle connections a host, and would open a new one for most calls.
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

// noRedirects returns a redirect as the reply: the service sends none, and a POST must not
// be sent to another place.
func noRedirects(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func printableASCII(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

// VersionInfo is the name and the version of the service.
type VersionInfo = api.VersionInfo

// Version returns the version of the service.
func (c *Client) Version(ctx context.Context) (*VersionInfo, error) {
	return get[VersionInfo](ctx, c, at("/version"), nil)
}

// Ready returns nil when the service and its database can be used. An error that is
// [ErrUnavailable] means that the service is not ready, or cannot be reached. It is not
// repeated.
func (c *Client) Ready(ctx context.Context) error {
	_, err := c.do(ctx, call{method: http.MethodGet, path: at("/readyz"), repeat: never})
	return err
}
