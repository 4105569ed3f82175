package httpapi_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/internal/multiplex"
)

// connected returns a client whose calls go over one connection, opened with a token.
func connected(t *testing.T, a *rig, secret string) *http.Client {
	t.Helper()
	plain, opener := &http.Transport{MaxIdleConnsPerHost: 64}, &http.Transport{}
	counted := &countingTransport{next: plain}
	transport := &multiplex.Transport{
		Plain: counted, Opener: &http.Client{Transport: opener}, BaseURL: a.server.URL, MaxReplyBytes: 1 << 20,
		Header: http.Header{"Authorization": {"Bearer " + secret}},
	}
	t.Cleanup(func() {
		transport.CloseIdle()
		plain.CloseIdleConnections()
		opener.CloseIdleConnections()
	})
	c := &http.Client{Transport: transport}
	// Many concurrent polls that find nothing make a connection worthwhile.
	for connected := false; !connected; {
		var polls sync.WaitGroup
		for range 30 {
			polls.Go(func() { poll(t, a, c, secret, 50) })
		}
		polls.Wait()
		before := counted.calls()
		askOver(t, a, c, secret, http.MethodGet, "/v1/me", "")
		connected = counted.calls() == before
	}
	return c
}

// countingTransport counts the calls over plain HTTP.
type countingTransport struct {
	next http.RoundTripper
	mu   sync.Mutex
	made int
}

func (c *countingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	c.made++
	c.mu.Unlock()
	return c.next.RoundTrip(r)
}

func (c *countingTransport) calls() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.made
}

// poll asks for runs of which there are none, and returns the status of the reply.
func poll(t *testing.T, a *rig, c *http.Client, secret string, waitMs int) int {
	t.Helper()
	status, _, err := askedOver(context.WithoutCancel(t.Context()), a, c, secret, http.MethodPost, "/v1/runs/claim",
		fmt.Sprintf(`{"worker_id":"w","agent_ids":["nobody"],"wait_ms":%d}`, waitMs))
	assert.NoError(t, err)
	return status
}

// askOver calls with a token and returns the status and the text of the reply.
func askOver(t *testing.T, a *rig, c *http.Client, secret, method, path, body string, headers ...string) (status int, text string) {
	t.Helper()
	status, text, err := askedOver(t.Context(), a, c, secret, method, path, body, headers...)
	require.NoError(t, err)
	return status, text
}

func askedOver(ctx context.Context, a *rig, c *http.Client, secret, method, path, body string, headers ...string) (status int, text string, err error) {
	r, err := http.NewRequestWithContext(ctx, method, a.server.URL+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	r.Header.Set("Authorization", "Bearer "+secret)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	reply, err := c.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer reply.Body.Close()
	all, err := io.ReadAll(reply.Body)
	return reply.StatusCode, string(all), err
}

func TestCallsOverOneConnection(t *testing.T) {
	t.Parallel()
	store := openSQLite(t)
	a, keyring := closed(t, store, newContract(t))
	tokenID, agent := token(t, keyring, api.CreateTokenBody{Name: "coder", Role: api.RoleAgent})
	c := connected(t, a, agent)

	// Each call is held to its own row of the table of routes, to its own body and its own key.
	status, text := askOver(t, a, c, agent, http.MethodPost, "/v1/runs", `{"run_id":"r","input":1,"claim":{"worker_id":"w"},`+
		`"suspend":{"approvals":[{"id":"a","tool_call_id":"a","tool_name":"bash","input":{"command":"ls"}}]}}`, "Idempotency-Key", "k")
	require.Equal(t, http.StatusAccepted, status, text)
	status, again := askOver(t, a, c, agent, http.MethodPost, "/v1/runs", `{"run_id":"r","input":2}`, "Idempotency-Key", "k")
	require.Equal(t, http.StatusConflict, status)
	require.Contains(t, again, `"idempotency_conflict"`)
	for _, refused := range []struct {
		method, path, body string
		status             int
		code               string
	}{
		{http.MethodPost, "/v1/runs/r/approvals", allow("a"), http.StatusForbidden, `"forbidden"`},
		{http.MethodPost, "/v1/tokens", `{"name":"x","role":"admin"}`, http.StatusForbidden, `"forbidden"`},
		{http.MethodPost, "/v1/runs", `{"input":`, http.StatusBadRequest, `"bad_request"`},
		{http.MethodGet, "/v1/runs/nobody", "", http.StatusNotFound, `"run_not_found"`},
		{http.MethodGet, "/v1/nothing", "", http.StatusNotFound, `"route_not_found"`},
		{http.MethodGet, "/v1/stream", "", http.StatusBadRequest, `"bad_request"`},
		{http.MethodGet, "/v1/runs/r/stream", "", http.StatusBadRequest, `"bad_request"`},
		{http.MethodGet, "/v1/calls", "", http.StatusBadRequest, `"bad_request"`},
	} {
		status, text := askOver(t, a, c, agent, refused.method, refused.path, refused.body)
		require.Equal(t, refused.status, status, refused.path+text)
		require.Contains(t, text, refused.code, refused.path)
	}

	// Revoking a token ends its held calls and refuses further ones.
	held := make(chan int, 1)
	go func() { held <- poll(t, a, c, agent, 60_000) }()
	require.NoError(t, keyring.Revoke(t.Context(), tokenID, true))
	require.Equal(t, http.StatusUnauthorized, <-held)
	status, text = askOver(t, a, c, agent, http.MethodGet, "/v1/me", "")
	require.Equal(t, http.StatusUnauthorized, status, text)
	require.Contains(t, text, `"invalid_token"`)
}

func TestWhoMayOpenAConnection(t *testing.T) {
	t.Parallel()
	a, keyring := closed(t, openSQLite(t), newContract(t))
	plain := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	status, text := askOver(t, a, plain, "holdpoint_unknown", http.MethodGet, multiplex.Path, "")
	require.Equal(t, http.StatusUnauthorized, status, text)
	for _, role := range []api.Role{api.RoleAgent, api.RoleOperator, api.RoleObserver, api.RoleAdmin} {
		secret := ofRole(t, keyring, role)
		status, text = askOver(t, a, plain, secret, http.MethodGet, multiplex.Path, "")
		require.Equal(t, http.StatusBadRequest, status, "it is not a WebSocket: "+text)
		status, text = askOver(t, a, plain, secret, http.MethodGet, multiplex.Path, "", "Connection", "Upgrade", "Upgrade", "websocket",
			"Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Protocol", multiplex.Subprotocol, "Origin", a.server.URL)
		require.Equal(t, http.StatusBadRequest, status, "a page opens none, of whatever origin: "+text)
	}
}

func TestAServiceThatDrainsAnswersHeldCallsOfConnections(t *testing.T) {
	t.Parallel()
	a, keyring := closed(t, openSQLite(t), newContract(t))
	agent := ofRole(t, keyring, api.RoleAgent)
	c := connected(t, a, agent)
	held := make(chan int, 1)
	go func() { held <- poll(t, a, c, agent, 60_000) }()
	a.handler.Drain()
	require.Equal(t, http.StatusOK, <-held)
	require.NoError(t, a.handler.WaitConnections(t.Context()), "the client leaves a connection that has no calls")
}

func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	a, keyring := closed(t, openSQLite(t), newContract(t))
	agents := make([]string, httpapi.MaxConnections/httpapi.MaxConnectionsOfPrincipal+1)
	for i := range agents {
		_, agents[i] = token(t, keyring, api.CreateTokenBody{Name: "agent", Role: api.RoleAgent, Principal: fmt.Sprintf("agent:%d", i)})
	}
	opener := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	open := func(agent string) (*websocket.Conn, *http.Response, error) {
		return websocket.Dial(t.Context(), a.server.URL+multiplex.Path, &websocket.DialOptions{
			HTTPClient: opener, HTTPHeader: http.Header{"Authorization": {"Bearer " + agent}}, Subprotocols: []string{multiplex.Subprotocol},
		})
	}
	conns := make([]*websocket.Conn, httpapi.MaxConnections)
	var opening errgroup.Group
	opening.SetLimit(16)
	for i := range conns {
		opening.Go(func() error {
			var err error
			conns[i], _, err = open(agents[i/httpapi.MaxConnectionsOfPrincipal])
			return err
		})
	}
	require.NoError(t, opening.Wait())
	require.Equal(t, httpapi.MaxConnections, a.handler.Connections())
	require.InDelta(t, 1, a.handler.ConnectionUse(), 0)

	refuse := func(agent, why string) {
		_, reply, err := open(agent)
		require.Error(t, err)
		require.Equal(t, http.StatusTooManyRequests, reply.StatusCode)
		text, err := io.ReadAll(reply.Body)
		require.NoError(t, err)
		require.Contains(t, string(text), `"too_many_calls"`)
		require.Contains(t, string(text), why)
	}
	refuse(agents[len(agents)-1], "1000 connections")
	require.NoError(t, conns[len(conns)-1].CloseNow())
	require.Eventually(t, func() bool { return a.handler.Connections() == httpapi.MaxConnections-1 }, time.Minute, 5*time.Millisecond)
	refuse(agents[0], "agent:0 has 250 connections")
	agent := agents[0]
	plain := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	status, _ := askOver(t, a, plain, agent, http.MethodGet, "/v1/me", "")
	require.Equal(t, http.StatusOK, status, "calls by themselves go on")

	for _, conn := range conns[:len(conns)-1] {
		require.NoError(t, conn.CloseNow())
	}
	require.Eventually(t, func() bool { return a.handler.Connections() == 0 }, time.Minute, 5*time.Millisecond, "who leaves makes room")
}
