package multiplex_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/holdpoint/holdpoint/internal/multiplex"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// service answers plain calls and calls over connections, and counts both.
type service struct {
	*httptest.Server
	single, multiplexed, opened atomic.Int64
	drain                       context.CancelFunc
	panicked                    atomic.Value
	// entered receives a value when a call starts to be held; release ends held calls.
	entered, cancelled chan struct{}
	release            chan struct{}
	serving            sync.WaitGroup
	// revoke cancels the requests that opened connections.
	revoke context.CancelFunc
	// sockets are the sockets under the callers' connections.
	sockets struct {
		sync.Mutex
		open []net.Conn
	}
}

// cut breaks the connections of all callers.
func (s *service) cut() {
	s.sockets.Lock()
	defer s.sockets.Unlock()
	for _, socket := range s.sockets.open {
		_ = socket.Close()
	}
}

func (s *service) dial(ctx context.Context, network, address string) (net.Conn, error) {
	var dialer net.Dialer
	socket, err := dialer.DialContext(ctx, network, address)
	s.sockets.Lock()
	defer s.sockets.Unlock()
	s.sockets.open = append(s.sockets.open, socket)
	return socket, err
}

func serve(t *testing.T) *service { t.Helper(); return serveWith(t, 0) }

// serveWith is serve with a write timeout for slow clients.
func serveWith(t *testing.T, patience time.Duration) *service {
	t.Helper()
	s := &service{entered: make(chan struct{}, 4096), cancelled: make(chan struct{}, 4096), release: make(chan struct{})}
	draining, drain := context.WithCancel(context.Background())
	s.drain = drain
	valid, revoke := context.WithCancel(context.Background())
	s.revoke = revoke
	answer := http.HandlerFunc(s.answer)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(multiplex.Advert, multiplex.Path)
		if r.URL.Path != multiplex.Path {
			s.single.Add(1)
			answer(w, r)
			return
		}
		s.serving.Add(1)
		defer s.serving.Done()
		s.opened.Add(1)
		err := multiplex.Serve(w, r.WithContext(valid), multiplex.Options{
			Draining: draining, Patience: patience, Leaving: 20 * time.Millisecond,
			Panicked: func(cause any, _ []byte) { s.panicked.Store(fmt.Sprint(cause)) },
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				s.multiplexed.Add(1)
				answer(w, r)
			}),
			Refuse: func(w http.ResponseWriter, _ *http.Request, tooMany bool, message string) {
				http.Error(w, message, map[bool]int{true: http.StatusTooManyRequests, false: http.StatusBadRequest}[tooMany])
			},
		})
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
	}))
	t.Cleanup(func() {
		drain()
		revoke()
		s.serving.Wait()
		s.Close()
	})
	return s
}

// answer echoes the request, unless the path says otherwise.
func (s *service) answer(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/v1/held":
		s.entered <- struct{}{}
		select {
		case <-s.release:
		case <-r.Context().Done():
			s.cancelled <- struct{}{}
		}
	case "/v1/large":
		for range 40 {
			_, _ = w.Write(bytes.Repeat([]byte("x"), 30_000))
		}
	case "/v1/panic":
		panic("a defect")
	case "/v1/aborted":
		_, _ = w.Write([]byte("half"))
		panic(http.ErrAbortHandler)
	default:
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Link", `</v1/next>; rel="next"`)
		w.WriteHeader(http.StatusAccepted)
		fmt.Fprintf(w, "%s %s key=%s actor=%s token=%s host=%t length=%d %s", r.Method, r.RequestURI, r.Header.Get("Idempotency-Key"),
			r.Header.Get("X-Actor"), r.Header.Get("Authorization"), r.Host != "", r.ContentLength, body)
	}
}

// caller is a client of the service.
func (s *service) caller(t *testing.T) *http.Client {
	t.Helper()
	plain, opener := &http.Transport{MaxIdleConnsPerHost: 100}, &http.Transport{DialContext: s.dial}
	transport := &multiplex.Transport{
		Plain: plain, Opener: &http.Client{Transport: opener}, BaseURL: s.URL, MaxReplyBytes: 1 << 21,
		Header: http.Header{"Authorization": {"Bearer secret"}, "User-Agent": {"test"}, "X-Actor": {"ana"}},
	}
	transport.PauseAtLeast(2 * time.Hour)
	t.Cleanup(func() {
		transport.CloseIdle()
		plain.CloseIdleConnections()
		opener.CloseIdleConnections()
	})
	return &http.Client{Transport: transport}
}

func get(ctx context.Context, c *http.Client, url string) (status int, text string, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, "", err
	}
	r.Header.Set("Authorization", "Bearer secret")
	r.Header.Set("User-Agent", "test")
	r.Header.Set("X-Actor", "ana")
	reply, err := c.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer reply.Body.Close()
	body, err := io.ReadAll(reply.Body)
	return reply.StatusCode, string(body), err
}

// crowd holds enough calls at once to make a connection worthwhile, then releases them.
func (s *service) crowd(t *testing.T, c *http.Client, calls int) {
	t.Helper()
	var group sync.WaitGroup
	for range calls {
		group.Go(func() {
			_, _, err := get(t.Context(), c, s.URL+"/v1/held")
			assert.NoError(t, err)
		})
	}
	for range calls {
		<-s.entered
	}
	for range calls {
		s.release <- struct{}{}
	}
	group.Wait()
}

// connect makes the client open a connection.
func (s *service) connect(t *testing.T, c *http.Client) {
	t.Helper()
	for before := s.multiplexed.Load(); s.multiplexed.Load() == before; {
		s.crowd(t, c, 20)
		_, _, err := get(t.Context(), c, s.URL+"/v1/probe")
		require.NoError(t, err)
	}
}

func TestFewCallsOpenNoConnection(t *testing.T) {
	t.Parallel()
	s := serve(t)
	c := s.caller(t)
	for range 50 {
		s.crowd(t, c, 2)
	}
	require.Zero(t, s.opened.Load())
}

func TestCallsOverAConnectionAreAnsweredAsByThemselves(t *testing.T) {
	t.Parallel()
	s := serve(t)
	c := s.caller(t)
	s.connect(t, c)
	require.Equal(t, int64(1), s.opened.Load())

	ask := func(client *http.Client) string {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/v1/runs/a%2Fb?x=1&y=%2F", strings.NewReader(`{"a":1}`))
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer secret")
		r.Header.Set("User-Agent", "test")
		r.Header.Set("Idempotency-Key", "k")
		r.Header.Set("X-Actor", "ana")
		reply, err := client.Do(r)
		require.NoError(t, err)
		defer reply.Body.Close()
		body, err := io.ReadAll(reply.Body)
		require.NoError(t, err)
		return fmt.Sprint(reply.StatusCode, reply.Header["Link"], reply.Header["Content-Type"], string(body))
	}
	plain := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	single := ask(plain)
	before := s.multiplexed.Load()
	require.Equal(t, strings.Replace(single, "[text/plain; charset=utf-8]", "[]", 1), ask(c))
	require.Equal(t, before+1, s.multiplexed.Load())
	require.Contains(t, single, "POST /v1/runs/a%2Fb?x=1&y=%2F key=k actor=ana token=Bearer secret host=true length=7 {\"a\":1}")

	status, body, err := get(t.Context(), c, s.URL+"/v1/large")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, strings.Repeat("x", 1_200_000), body)

	// Calls with other credentials than the connection's, and calls that do not fit, go by
	// plain HTTP.
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/v1/x", http.NoBody)
	require.NoError(t, err)
	r.Header.Set("X-Actor", "bob")
	before = s.single.Load()
	reply, err := c.Do(r)
	require.NoError(t, err)
	require.NoError(t, reply.Body.Close())
	require.Equal(t, before+1, s.single.Load())
	r, err = http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/v1/x", bytes.NewReader(make([]byte, multiplex.MaxCallBytes)))
	require.NoError(t, err)
	before = s.single.Load()
	reply, err = c.Do(r)
	require.NoError(t, err)
	require.NoError(t, reply.Body.Close())
	require.Equal(t, before+1, s.single.Load())
}

func TestAHeldCallHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	s := serve(t)
	c := s.caller(t)
	s.connect(t, c)
	ctx, cancel := context.WithCancel(t.Context())
	var held sync.WaitGroup
	for range 100 {
		held.Go(func() {
			_, _, err := get(ctx, c, s.URL+"/v1/held")
			assert.ErrorIs(t, err, context.Canceled)
		})
	}
	for range 100 {
		<-s.entered
	}
	before := s.multiplexed.Load()
	_, _, err := get(t.Context(), c, s.URL+"/v1/x")
	require.NoError(t, err)
	require.Equal(t, before+1, s.multiplexed.Load())
	// The service learns that the caller has gone, and the connection stays open.
	cancel()
	held.Wait()
	for range 100 {
		<-s.cancelled
	}
	_, _, err = get(t.Context(), c, s.URL+"/v1/x")
	require.NoError(t, err)
	require.Equal(t, int64(1), s.opened.Load())
}

func TestAReplyThatIsGivenUpFailsItsCallAlone(t *testing.T) {
	t.Parallel()
	s := serve(t)
	c := s.caller(t)
	s.connect(t, c)
	for _, path := range []string{"/v1/aborted", "/v1/panic"} {
		_, _, err := get(t.Context(), c, s.URL+path)
		require.ErrorContains(t, err, "broke before the reply")
	}
	require.Equal(t, "a defect", s.panicked.Load())
	before := s.multiplexed.Load()
	_, _, err := get(t.Context(), c, s.URL+"/v1/x")
	require.NoError(t, err)
	require.Equal(t, before+1, s.multiplexed.Load())
}

func TestALargeReplyIsBounded(t *testing.T) {
	t.Parallel()
	s := serve(t)
	c := s.caller(t)
	c.Transport.(*multiplex.Transport).MaxReplyBytes = 1 << 20
	s.connect(t, c)
	_, _, err := get(t.Context(), c, s.URL+"/v1/large")
	require.ErrorContains(t, err, "more than 1048576 bytes")
	_, _, err = get(t.Context(), c, s.URL+"/v1/x")
	require.NoError(t, err)
}

func TestAConnectionThatBreaksFailsItsCallsOnce(t *testing.T) {
	t.Parallel()
	s := serve(t)
	c := s.caller(t)
	s.connect(t, c)
	failed := make(chan error, 1)
	go func() {
		_, _, err := get(t.Context(), c, s.URL+"/v1/held")
		failed <- err
	}()
	<-s.entered
	single := s.single.Load()
	s.cut()
	require.ErrorContains(t, <-failed, "broke before the reply")
	require.Equal(t, single, s.single.Load(), "it is not made again")
	<-s.cancelled
	s.crowd(t, c, 20)
	s.crowd(t, c, 20)
	require.Equal(t, single+40, s.single.Load())
	require.Equal(t, int64(1), s.opened.Load(), "what cuts one may cut the next: none is opened for a while")
}

func TestAServiceThatLeavesAnswersWhatItHasTaken(t *testing.T) {
	t.Parallel()
	s := serve(t)
	c := s.caller(t)
	s.connect(t, c)
	answered := make(chan error, 1)
	go func() {
		_, _, err := get(t.Context(), c, s.URL+"/v1/held")
		answered <- err
	}()
	<-s.entered
	s.drain()
	// Soon new calls go by plain HTTP, and the connection stays open until its calls are
	// answered.
	for before := s.single.Load(); s.single.Load() == before; {
		_, _, err := get(t.Context(), c, s.URL+"/v1/x")
		require.NoError(t, err)
	}
	s.release <- struct{}{}
	require.NoError(t, <-answered)
	s.serving.Wait() // the client has left
}

func TestWithoutWebSocketsCallsGoByThemselves(t *testing.T) {
	t.Parallel()
	s := serve(t)
	c := s.caller(t)
	var refused atomic.Int64
	c.Transport.(*multiplex.Transport).Opener = &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
		refused.Add(1)
		return &http.Response{StatusCode: http.StatusBadGateway, Body: http.NoBody}, nil
	})}
	for range 5 {
		s.crowd(t, c, 20)
	}
	for refused.Load() == 0 {
		s.crowd(t, c, 20)
	}
	s.crowd(t, c, 20)
	require.Equal(t, int64(1), refused.Load(), "it is tried again after a while")
	require.Zero(t, s.multiplexed.Load())
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestRequestsThatOpenNoConnection(t *testing.T) {
	t.Parallel()
	s := serve(t)
	open := map[string]string{"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Protocol": multiplex.Subprotocol}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for name, change := range map[string][2]string{
		"no WebSocket":     {"Upgrade", ""},
		"other frames":     {"Sec-WebSocket-Protocol", "chat"},
		"a page's":         {"Origin", s.URL},
		"a browser's":      {"Cookie", "holdpoint=x"},
		"an older version": {"Sec-WebSocket-Version", "8"},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+multiplex.Path, nil)
		require.NoError(t, err)
		for header, value := range open {
			r.Header.Set(header, value)
		}
		if r.Header.Set(change[0], change[1]); change[1] == "" {
			r.Header.Del(change[0])
		}
		reply, err := client.Do(r)
		require.NoError(t, err)
		require.Equal(t, http.StatusBadRequest, reply.StatusCode, name)
		require.NoError(t, reply.Body.Close())
	}
}

// hostile is a client that writes raw messages.
func (s *service) hostile(t *testing.T) *websocket.Conn {
	t.Helper()
	transport := &http.Transport{}
	conn, _, err := websocket.Dial(t.Context(), s.URL+multiplex.Path, &websocket.DialOptions{
		Subprotocols: []string{multiplex.Subprotocol}, HTTPClient: &http.Client{Transport: transport},
	})
	require.NoError(t, err)
	conn.SetReadLimit(-1)
	t.Cleanup(func() {
		_ = conn.CloseNow()
		transport.CloseIdleConnections()
	})
	return conn
}

// callOf returns the frame of a GET.
func callOf(id byte, target string) []byte {
	payload := append([]byte{3, 'G', 'E', 'T', byte(len(target))}, target...)
	payload = append(payload, 0)
	return append([]byte{1, id, byte(len(payload))}, payload...)
}

// callWith returns the frame of a GET with a header.
func callWith(id byte, name, value string) []byte {
	payload := append([]byte{3, 'G', 'E', 'T', 5}, "/v1/x"...)
	payload = append(append(payload, 1, byte(len(name))), name...)
	payload = append(append(payload, byte(len(value))), value...)
	return append([]byte{1, id, byte(len(payload))}, payload...)
}

func TestMalformedMessagesEndTheirConnection(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for name, message := range map[string][]byte{
		"noise":              []byte("GET / HTTP/1.1\r\n\r\n"),
		"a kind of no frame": {9, 1, 0},
		"a reply":            {4, 1, 2, 200, 0},
		"a call twice":       append(callOf(1, "/v1/held"), callOf(1, "/v1/held")...),
		"a frame cut off":    callOf(1, "/v1/x")[:6],
		"another name":       callWith(1, "X-Actor", "ceo"),
		"another way":        callWith(1, "X-Via", "inbox"),
		"another secret":     callWith(1, "Authorization", "Bearer x"),
		"a call too large":   append([]byte{1, 1, 0x80, 0x80, 8}, make([]byte, 128<<10)...),
	} {
		conn := s.hostile(t)
		require.NoError(t, conn.Write(t.Context(), websocket.MessageBinary, message))
		_, _, err := conn.Read(t.Context())
		require.Equal(t, websocket.StatusProtocolError, websocket.CloseStatus(err), name)
	}
	conn := s.hostile(t)
	_ = conn.Write(t.Context(), websocket.MessageBinary, make([]byte, 1<<20))
	_, _, err := conn.Read(t.Context())
	require.Equal(t, websocket.StatusMessageTooBig, websocket.CloseStatus(err))
}

func TestCallsThatAreMadeElsewhere(t *testing.T) {
	t.Parallel()
	s := serve(t)
	conn := s.hostile(t)
	for i, target := range []string{"/readyz", "/", "", multiplex.Path, "http://evil.example/v1/x", "/v1/%zz"} {
		require.NoError(t, conn.Write(t.Context(), websocket.MessageBinary, callOf(byte(i), target)))
		_, message, err := conn.Read(t.Context())
		require.NoError(t, err)
		require.Equal(t, []byte{4, byte(i)}, message[:2])
		require.Contains(t, string(message), "\x90\x03", target) // 400
	}
	require.Zero(t, s.multiplexed.Load())
}

func TestCallsOfOneConnectionAreBounded(t *testing.T) {
	t.Parallel()
	s := serve(t)
	conn := s.hostile(t)
	for id := range multiplex.MaxCalls {
		frame := callOf(0, "/v1/held")
		numbered := append([]byte{1, byte(id&0x7f) | 0x80, byte(id >> 7)}, frame[2:]...)
		require.NoError(t, conn.Write(t.Context(), websocket.MessageBinary, numbered))
	}
	for range multiplex.MaxCalls {
		<-s.entered
	}
	over := append([]byte{1, 0x80, 0x80, 1}, callOf(0, "/v1/held")[2:]...)
	require.NoError(t, conn.Write(t.Context(), websocket.MessageBinary, over))
	_, message, err := conn.Read(t.Context())
	require.NoError(t, err)
	require.Contains(t, string(message), "\xad\x03") // 429
	require.NoError(t, conn.CloseNow())
	for range multiplex.MaxCalls {
		<-s.cancelled // the calls end with their connection
	}
}

func TestWhoReadsNothingLosesTheConnection(t *testing.T) {
	t.Parallel()
	s := serveWith(t, 100*time.Millisecond)
	conn := s.hostile(t)
	for id := range byte(100) {
		if conn.Write(t.Context(), websocket.MessageBinary, callOf(id, "/v1/large")) != nil {
			break
		}
	}
	s.serving.Wait()
}
