package egress

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// Limits of one call.
const (
	// Timeout bounds a call, from the DNS look-up to the headers of the answer.
	Timeout = 15 * time.Second
	// maxAnswer is how much of an answer's body is read, also so that the connection can be reused.
	maxAnswer       = 16 << 10
	maxAnswerHeader = 32 << 10
	// MaxRead is the maximum size of an answer whose body is used, in bytes.
	MaxRead = 1 << 20
	// drainTime bounds the reading of an answer's body, after its status.
	drainTime = time.Second
	// maxReason bounds the text of an error in bytes. It may quote a line of the answer, and is stored and logged.
	maxReason = 500
)

// Options configure a [Client].
type Options struct {
	Guard Guard
	// Roots are the trusted certificate authorities; the system's if nil.
	Roots *x509.CertPool
	// Resolver resolves names; the system's if nil.
	Resolver *net.Resolver
}

// Client posts to addresses chosen by users. It is safe for concurrent use.
type Client struct {
	https, http *http.Client
	// secure and plain connect for connections with TLS and without.
	secure, plain *net.Dialer
	tls           *tls.Config
	idle          []*http.Transport
}

// New returns a client. Close closes its idle connections.
func New(options Options) *Client {
	c := &Client{
		secure: dialer(options, false), plain: dialer(options, true), tls: &tls.Config{RootCAs: options.Roots, MinVersion: tls.VersionTLS12},
	}
	c.https, c.http = c.caller(c.secure), c.caller(c.plain)
	return c
}

func dialer(options Options, plain bool) *net.Dialer {
	return &net.Dialer{
		Timeout: Timeout, Resolver: options.Resolver,
		// Check the resolved address right before connecting, so that a name cannot resolve
		// to another address the second time (DNS rebinding).
		ControlContext: func(ctx context.Context, _, address string, _ syscall.RawConn) error {
			to, err := netip.ParseAddrPort(address)
			if err != nil {
				return fmt.Errorf("%w: %s", ErrRefused, address)
			}
			noteAddress(ctx, to)
			return options.Guard.Check(to.Addr(), plain)
		},
	}
}

func (c *Client) caller(dialer *net.Dialer) *http.Client {
	transport := &http.Transport{
		Proxy: nil, DialContext: dialer.DialContext, ForceAttemptHTTP2: true, DisableCompression: true,
		TLSClientConfig:     c.tls.Clone(),
		TLSHandshakeTimeout: Timeout, ResponseHeaderTimeout: Timeout, MaxResponseHeaderBytes: maxAnswerHeader,
		MaxIdleConns: 64, MaxIdleConnsPerHost: 4, IdleConnTimeout: 30 * time.Second,
	}
	c.idle = append(c.idle, transport)
	return &http.Client{
		Transport: transport,
		// A redirect would lead to a server that was not configured.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Close closes idle connections.
func (c *Client) Close() {
	for _, transport := range c.idle {
		transport.CloseIdleConnections()
	}
}

// Dial connects without TLS, for protocols other than HTTP.
func (c *Client) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	return c.plain.DialContext(ctx, network, address)
}

// DialTLS connects with TLS, for protocols other than HTTP. The protocol is chosen as for HTTP/1.1.
func (c *Client) DialTLS(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	return (&tls.Dialer{NetDialer: c.secure, Config: c.tls.Clone()}).DialContext(ctx, network, address)
}

// Do sends a request and returns the answer with up to [MaxRead] of its body, whatever its status. It ends
// after [Timeout]. Errors are as of [Client.Send].
func (c *Client) Do(request *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(request.Context(), Timeout)
	defer cancel()
	response, err := c.send(ctx, request.WithContext(ctx))
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, MaxRead+1))
	switch {
	case err != nil:
		return nil, errors.New("the answer cannot be read")
	case len(body) > MaxRead:
		return nil, fmt.Errorf("the answer has more than %d bytes", MaxRead)
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, nil
}

// Answer is the kept part of an answer.
type Answer struct {
	Status     int
	RetryAfter string // the header as received
	// Body is the beginning of the body: 16 KiB, or less if more did not arrive within a second.
	Body []byte
}

// Taken reports whether the receiver took the request: any status from 200 to 299.
func (a Answer) Taken() bool { return a.Status >= 200 && a.Status <= 299 }

// PauseMs returns for how long the receiver asks not to be called: a number of seconds or a date. 0 is for no pause.
func (a Answer) PauseMs(nowMs int64) int64 {
	if a.RetryAfter == "" {
		return 0
	}
	if seconds, err := strconv.ParseInt(a.RetryAfter, 10, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		return max(min(seconds, math.MaxInt64/1000), 0) * 1000
	}
	if at, err := http.ParseTime(a.RetryAfter); err == nil {
		return max(at.UnixMilli()-nowMs, 0)
	}
	return 0
}

// calledKey is the context key for the address of the last call.
type calledKey struct{}

func noteAddress(ctx context.Context, to netip.AddrPort) {
	if called, is := ctx.Value(calledKey{}).(*atomic.Value); is {
		called.Store(netip.AddrPortFrom(to.Addr().Unmap(), to.Port()))
	}
}

// WithAddress returns a context that records the address to which the receiver's name
// resolves. Call address after the call; the result is invalid if no name was resolved.
func WithAddress(ctx context.Context) (noting context.Context, address func() netip.AddrPort) {
	called := &atomic.Value{}
	noting = httptrace.WithClientTrace(context.WithValue(ctx, calledKey{}, called), &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			if to, err := netip.ParseAddrPort(info.Conn.RemoteAddr().String()); err == nil {
				called.Store(netip.AddrPortFrom(to.Addr().Unmap(), to.Port()))
			}
		},
	})
	return noting, func() netip.AddrPort {
		to, _ := called.Load().(netip.AddrPort)
		return to
	}
}

// Post is Send by the method POST.
func (c *Client) Post(ctx context.Context, address string, header http.Header, body []byte) (Answer, error) {
	return c.Send(ctx, http.MethodPost, address, header, body)
}

// Send sends a body and returns the answer, whatever its status. It ends after [Timeout]. The text of
// an error does not show the URL, whose path and query may be secrets. Errors wrap [ErrRefused] or
// [ErrPlain] when the guard refused the address.
func (c *Client) Send(ctx context.Context, method, address string, header http.Header, body []byte) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return Answer{}, errors.New("the URL cannot be called")
	}
	request.Header = header
	response, err := c.send(ctx, request)
	if err != nil {
		return Answer{}, err
	}
	defer response.Body.Close()
	stop := time.AfterFunc(drainTime, cancel)
	defer stop.Stop()
	beginning, _ := io.ReadAll(io.LimitReader(response.Body, maxAnswer)) // the status is known, whatever the body is
	return Answer{response.StatusCode, response.Header.Get("Retry-After"), beginning}, nil
}

// brief is an error with a bounded text.
type brief struct{ error }

func (b brief) Error() string {
	text := b.error.Error()
	if len(text) > maxReason {
		text = strings.ToValidUTF8(text[:maxReason], "") + "…"
	}
	return text
}

func (b brief) Unwrap() error { return b.error }

// send sends a request, which has the context.
func (c *Client) send(ctx context.Context, request *http.Request) (*http.Response, error) {
	caller := c.https
	if request.URL.Scheme == "http" {
		caller = c.http
	}
	response, err := caller.Do(request)
	if err != nil {
		if failed, ok := errors.AsType[*url.Error](err); ok {
			err = failed.Err
		}
		if ctx.Err() != nil && errors.Is(err, context.DeadlineExceeded) {
			err = errors.New("no answer in time")
		}
		return nil, brief{err}
	}
	return response, nil
}
