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
	// Timeout bounds a call, from the look-up of the name to the end of the answer's head.
	Timeout = 15 * time.Second
	// maxAnswer is how much of an answer's body is read, so that the connection can be used again. It
	// is not kept.
	maxAnswer       = 16 << 10
	maxAnswerHeader = 32 << 10
	// drainTime bounds the reading of an answer's body, whose status is known by then.
	drainTime = time.Second
)

// Options set up a [Client].
type Options struct {
	Guard Guard
	// Roots are whom certificates are believed from, those of the system when nil.
	Roots *x509.CertPool
	// Resolver looks names up, the system's when nil.
	Resolver *net.Resolver
}

// Client posts to addresses that others chose. It is safe for concurrent use.
type Client struct {
	https, http *http.Client
	idle        []*http.Transport
}

// New returns a client. Close ends its idle connections.
func New(options Options) *Client {
	c := &Client{}
	c.https, c.http = c.caller(options, false), c.caller(options, true)
	return c
}

func (c *Client) caller(options Options, plain bool) *http.Client {
	dialer := &net.Dialer{
		Timeout: Timeout, Resolver: options.Resolver,
		// The address is looked at once it is resolved and before it is connected to, so a name
		// that resolves to another address the second time gains nothing.
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
		// Whoever redirects is not the one that was configured.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Close ends the connections that are not in use.
func (c *Client) Close() {
	for _, transport := range c.idle {
		transport.CloseIdleConnections()
	}
}

// Answer is what is kept of an answer.
type Answer struct {
	Status     int
	RetryAfter string // the header, as it came
}

// calledKey is the key of the address that a call went to last.
type calledKey struct{}

func noteAddress(ctx context.Context, to netip.AddrPort) {
	if called, is := ctx.Value(calledKey{}).(*atomic.Value); is {
		called.Store(netip.AddrPortFrom(to.Addr().Unmap(), to.Port()))
	}
}

// WithAddress returns a context whose calls note the address that the name of the receiver resolved to.
// Read it from address when the call has ended; it is not valid if no name was resolved.
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
			err = fmt.Errorf("no answer within %s", Timeout)
		}
		return Answer{}, err
	}
	defer response.Body.Close()
	stop := time.AfterFunc(drainTime, cancel)
	defer stop.Stop()
	_, _ = io.CopyN(io.Discard, response.Body, maxAnswer) // see maxAnswer; the status is known
	return Answer{response.StatusCode, response.Header.Get("Retry-After")}, nil
}
