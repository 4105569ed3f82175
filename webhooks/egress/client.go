package egress

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"sync/atomic"
	"syscall"
	"time"
)

// Limits of one call.
const (
	// Timeout bounds a call, from the DNS look-up to the headers of the answer.
	Timeout = 15 * time.Second
	// maxAnswer is how much of an answer's body is read and discarded, so that the
	// connection can be reused.
	maxAnswer       = 16 << 10
	maxAnswerHeader = 32 << 10
	// drainTime bounds the reading of an answer's body, after its status.
	drainTime = time.Second
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
	idle        []*http.Transport
}

// New returns a client. Close closes its idle connections.
func New(options Options) *Client {
	c := &Client{}
	c.https, c.http = c.caller(options, false), c.caller(options, true)
	return c
}

func (c *Client) caller(options Options, plain bool) *http.Client {
	dialer := &net.Dialer{
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
	transport := &http.Transport{
		Proxy: nil, DialContext: dialer.DialContext, ForceAttemptHTTP2: true, DisableCompression: true,
		TLSClientConfig:     &tls.Config{RootCAs: options.Roots, MinVersion: tls.VersionTLS12},
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

// Answer is the kept part of an answer.
type Answer struct {
	Status     int
	RetryAfter string // the header as received
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
	response, err := c.call(ctx, method, address, header, body)
	if err != nil {
		return Answer{}, err
	}
	defer response.Body.Close()
	stop := time.AfterFunc(drainTime, cancel)
	defer stop.Stop()
	_, _ = io.CopyN(io.Discard, response.Body, maxAnswer) // see maxAnswer; the status is known
	return Answer{response.StatusCode, response.Header.Get("Retry-After")}, nil
}

// Get returns the body of an answer with status 200, of at most limit bytes. Another status and a longer
// body are errors, as are those of Send.
func (c *Client) Get(ctx context.Context, address string, header http.Header, limit int) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	response, err := c.call(ctx, http.MethodGet, address, header, nil)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %d", response.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, int64(limit)+1))
	switch {
	case err != nil:
		return nil, errors.New("the answer ended early")
	case len(body) > limit:
		return nil, fmt.Errorf("the answer is longer than %d bytes", limit)
	}
	return body, nil
}

// call sends a request and returns the answer, whose body the caller closes.
func (c *Client) call(ctx context.Context, method, address string, header http.Header, body []byte) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("the URL cannot be called")
	}
	request.Header = header
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
		return nil, err
	}
	return response, nil
}
