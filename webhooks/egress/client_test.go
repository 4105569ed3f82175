package egress

import (
	"bufio"
	"context"
	"crypto/x509"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

var loopback = Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}

func client(t *testing.T, options Options) *Client {
	t.Helper()
	c := New(options)
	t.Cleanup(c.Close)
	return c
}

func TestRedirectIsAnAnswerAndNotFollowed(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer inside.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		to := httptest.NewServer(http.RedirectHandler(inside.URL+"/latest/meta-data", status))
		answer, err := client(t, Options{Guard: loopback}).Post(t.Context(), to.URL, http.Header{}, []byte(`{}`))
		to.Close()
		require.NoError(t, err)
		require.Equal(t, status, answer.Status)
	}
	require.Zero(t, asked.Load())
}

func TestAddressIsLookedAtWhenItIsDialed(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer server.Close()
	_, err := client(t, Options{}).Post(t.Context(), server.URL, http.Header{}, nil)
	require.ErrorIs(t, err, ErrRefused)
	require.NotContains(t, err.Error(), "https://", "the URL may hold a secret")
	require.Zero(t, asked.Load())
}

// names is a resolver that answers with each item of a list in turn, and then repeats the
// last.
func names(t *testing.T, answers ...string) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	var next atomic.Int32
	go func() {
		packet := make([]byte, 512)
		for {
			n, from, err := conn.ReadFrom(packet)
			if err != nil {
				return
			}
			question := packet[:n]
			end := 12
			for question[end] != 0 {
				end += int(question[end]) + 1
			}
			end += 5
			reply := append([]byte{}, question[:end]...)
			binary.BigEndian.PutUint16(reply[2:], 0x8180)
			clear(reply[6:12])
			if binary.BigEndian.Uint16(question[end-4:]) == 1 {
				address := netip.MustParseAddr(answers[min(int(next.Add(1))-1, len(answers)-1)]).As4()
				reply[7] = 1
				reply = append(reply, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
				reply = append(reply, address[:]...)
			}
			_, _ = conn.WriteTo(reply, from)
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var dialer net.Dialer
		return dialer.DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

func TestNameThatIsBoundToAnotherAddressLaterGainsNothing(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer server.Close()
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	require.NoError(t, err)
	// The first address is allowed. The second, to which the name resolves later, is not.
	only := Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}
	c := client(t, Options{Guard: only, Resolver: names(t, "127.0.0.1", "127.0.0.2")})
	url := "http://rebound.example.com:" + port + "/"
	_, err = c.Post(t.Context(), url, http.Header{}, nil)
	require.NoError(t, err)
	c.Close() // force a new connection
	_, err = c.Post(t.Context(), url, http.Header{}, nil)
	require.ErrorIs(t, err, ErrPlain)
	_, err = c.Post(t.Context(), "https://rebound.example.com:"+port+"/", http.Header{}, nil)
	require.ErrorIs(t, err, ErrRefused)
	require.EqualValues(t, 1, asked.Load())
}

// Callers know a receiver by its address, however a URL names it, and whether it answers or not.
func TestAddressOfEachSpelling(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	want := netip.MustParseAddrPort(server.Listener.Addr().String())
	c := client(t, Options{Guard: loopback, Resolver: names(t, "127.0.0.1")})
	for scheme, answers := range map[string]bool{"http": true, "https": false} { // the server has no TLS
		for _, host := range []string{"127.0.0.1", "receiver.example.com", "other.example.com", "[::ffff:127.0.0.1]"} {
			for range 2 { // a connection that is kept connects to no address again
				ctx, address := WithAddress(t.Context())
				require.False(t, address().IsValid())
				_, err := c.Post(ctx, fmt.Sprintf("%s://%s:%d/", scheme, host, want.Port()), http.Header{}, nil)
				require.Equal(t, answers, err == nil, "%s: %v", host, err)
				require.Equal(t, want, address(), host)
			}
		}
	}
	ctx, address := WithAddress(t.Context())
	_, err := c.Post(ctx, "http://192.0.2.1:1/", http.Header{}, nil)
	require.ErrorIs(t, err, ErrPlain)
	require.Equal(t, netip.MustParseAddrPort("192.0.2.1:1"), address(), "an address that is refused")
}

func TestHostileAnswersCostLittle(t *testing.T) {
	t.Parallel()
	stop := make(chan struct{})
	endless := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.URL.Path == "/head" {
			for range 100_000 {
				w.Header().Add("X-Filler", strings.Repeat("x", 1000))
				if len(w.Header()["X-Filler"]) > 200 {
					break
				}
			}
			return
		}
		w.Header().Set("Content-Length", "1073741824")
		w.WriteHeader(http.StatusOK)
		filler := make([]byte, 32<<10)
		for range 32 << 10 {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := w.Write(filler); err != nil {
				return
			}
			if r.URL.Path == "/drip" {
				w.(http.Flusher).Flush()
				select {
				case <-r.Context().Done():
					return
				case <-stop:
					return
				}
			}
		}
	}))
	t.Cleanup(endless.Close)
	t.Cleanup(func() { close(stop) })
	c := client(t, Options{Guard: loopback})
	answer, err := c.Post(t.Context(), endless.URL+"/gigabyte", http.Header{}, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, answer.Status)
	answer, err = c.Post(t.Context(), endless.URL+"/drip", http.Header{}, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, answer.Status)
	_, err = c.Post(t.Context(), endless.URL+"/head", http.Header{}, nil)
	require.Error(t, err, "a head that is too long does not count as an answer")
	require.Less(t, drainTime, Timeout/2, "nobody waits for the end of an answer")
}

func TestEndpointThatNeverAnswersIsLeft(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		if _, err := http.ReadRequest(bufio.NewReader(conn)); err != nil { // the client ignores an answer before the request
			return
		}
		_, _ = conn.Write([]byte("HTTP/1.1 200 OK\r\nX-Slow: ")) // without the end of the headers
		cancel()
		<-t.Context().Done()
	}()
	_, err = client(t, Options{Guard: loopback}).Post(ctx, "http://"+listener.Addr().String(), http.Header{}, nil)
	require.ErrorIs(t, err, context.Canceled)
	require.Less(t, Timeout, 25*time.Second, "the lease of a delivery is longer")
}

func TestCertificateIsVerified(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.Config.ErrorLog = nil
	defer server.Close()
	_, err := client(t, Options{Guard: loopback}).Post(t.Context(), server.URL, http.Header{}, nil)
	require.ErrorContains(t, err, "certificate")
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	answer, err := client(t, Options{Guard: loopback, Roots: roots}).Post(t.Context(), server.URL, http.Header{}, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, answer.Status)
}

func TestPausesThatReceiversAskFor(t *testing.T) {
	t.Parallel()
	for asked, pauseMs := range map[string]int64{
		"": 0, "120": 120_000, "0": 0, "-5": 0, "soon": 0, "31536000": 31_536_000_000, "99999999999999999999": math.MaxInt64 / 1000 * 1000,
		"-99999999999999999999": 0, "Thu, 01 Jan 1970 00:01:00 GMT": 50_000, "Thu, 01 Jan 1970 00:00:01 GMT": 0,
	} {
		require.Equal(t, pauseMs, Answer{RetryAfter: asked}.PauseMs(10_000), asked)
	}
}

// The text of an error is stored and logged, and a receiver must not choose how long it is.
func TestAnErrorQuotesLittleOfTheAnswer(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_, _ = conn.Write([]byte(strings.Repeat("ä", 10_000) + "\r\n\r\n")) // the client may have gone
			_ = conn.Close()
		}
	}))
	t.Cleanup(server.Close)
	_, err := client(t, Options{Guard: loopback}).Post(t.Context(), server.URL, http.Header{}, nil)
	require.ErrorContains(t, err, "malformed HTTP response")
	require.LessOrEqual(t, len(err.Error()), maxReason+len("…"))
	require.True(t, utf8.ValidString(err.Error()))
}

func TestProxyOfTheEnvironmentIsNotUsed(t *testing.T) {
	var asked atomic.Int32
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer proxy.Close()
	t.Setenv("HTTP_PROXY", proxy.URL)
	t.Setenv("HTTPS_PROXY", proxy.URL)
	t.Setenv("NO_PROXY", "")
	_, err := client(t, Options{Guard: loopback, Resolver: names(t, "10.0.0.1")}).Post(t.Context(), "http://inside.example.com/", http.Header{}, nil)
	require.ErrorIs(t, err, ErrPlain)
	require.Zero(t, asked.Load())
}

// Answers that are read and other connections pass the same guard, and an answer has a limit.
func TestOtherConnectionsAreGuarded(t *testing.T) {
	t.Parallel()
	var size atomic.Int64
	size.Store(10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(strings.Repeat("a", int(size.Load())))) // the client may have gone
	}))
	t.Cleanup(server.Close)
	address := strings.TrimPrefix(server.URL, "http://")
	call := func(c *Client) (string, error) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)
		require.NoError(t, err)
		answer, err := c.Do(request)
		if err != nil {
			return "", err
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		return string(text), err
	}
	strict := client(t, Options{})
	_, err := call(strict)
	require.ErrorIs(t, err, ErrPlain)
	_, err = strict.Dial(t.Context(), "tcp", address)
	require.ErrorIs(t, err, ErrPlain)
	_, err = strict.DialTLS(t.Context(), "tcp", address)
	require.ErrorIs(t, err, ErrRefused)

	open := client(t, Options{Guard: loopback})
	text, err := call(open)
	require.NoError(t, err)
	require.Equal(t, "aaaaaaaaaa", text)
	conn, err := open.Dial(t.Context(), "tcp", address)
	require.NoError(t, err)
	require.NoError(t, conn.Close())
	size.Store(MaxRead + 1)
	_, err = call(open)
	require.ErrorContains(t, err, "more than")
}
