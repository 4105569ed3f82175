package httpapi_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/audit/journal"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
)

// A first token closes the service that was open, at this replica and another, and ends the calls that were open.
func TestTheFirstTokenClosesTheService(t *testing.T) {
	t.Parallel()
	for name, passedMs := range clockChanges {
		parallel(t, name, func(t *testing.T) { testFirstToken(t, passedMs) })
	}
}

// clockChanges are changes of a clock after which nothing is taken from a cache.
var clockChanges = map[string]int64{"half a second later": 500, "the clock is set back": -3_600_000}

func testFirstToken(t *testing.T, passedMs int64) {
	t.Helper()
	store := openSQLite(t)
	var nowMs int64 = 1_750_000_000_000
	keyrings := make([]*auth.Keyring, 2)
	rigs := make([]*rig, 2)
	for i := range keyrings {
		keyrings[i] = auth.NewKeyring(auth.Options{Tokens: store.(auth.Tokens), Mode: auth.Auto, NewID: runs.NewID, NowMs: func() int64 { return nowMs }})
		rigs[i] = serve(t, store, newContract(t), func(o *httpapi.Options) { o.Keyring, o.KeepAlive = keyrings[i], time.Hour })
		rigs[i].get(t, "/v1/runs").want(http.StatusOK)
	}
	var streams []*reader
	var held []<-chan *reply
	for i, a := range rigs {
		require.Eventually(t, func() bool { return keyrings[i].Calls() == 0 }, patience, patienceStep)
		streams = append(streams, a.follow(t, "/v1/stream"))
		streams[i].snapshot()
		held = append(held, later(func() *reply { return a.post(t, "/v1/runs/claim", `{"worker_id":"w","wait_ms":60000}`) }))
		require.Eventually(t, func() bool { return keyrings[i].Calls() == 2 }, patience, patienceStep)
		keyrings[i].Look(t.Context())
		require.Equal(t, 2, keyrings[i].Calls(), "there is no token yet")
	}
	secret := rigs[0].post(t, "/v1/tokens", `{"name":"first","role":"admin"}`).want(http.StatusCreated).textAt("secret")
	rigs[0].get(t, "/v1/runs").refused(api.CodeUnauthenticated)
	streams[0].ends()
	soon(t, held[0]).refused(wire.CodeServiceUnavailable)
	keyrings[1].Look(t.Context())
	streams[1].ends()
	soon(t, held[1]).refused(wire.CodeServiceUnavailable)
	nowMs += passedMs
	for _, a := range rigs {
		a.get(t, "/v1/runs").refused(api.CodeUnauthenticated)
		a.get(t, "/v1/runs", bearer(secret)).want(http.StatusOK)
	}
	// Revoked is not the same as never made.
	id := rigs[0].get(t, "/v1/me", bearer(secret)).want(http.StatusOK).textAt("token_id")
	require.NoError(t, keyrings[0].Revoke(t.Context(), id, false))
	again := auth.NewKeyring(auth.Options{Tokens: store.(auth.Tokens), Mode: auth.Auto, NewID: runs.NewID, NowMs: func() int64 { return nowMs }})
	open, err := again.Open(t.Context())
	require.NoError(t, err)
	require.False(t, open)
}

// seenFirst has a keyring see a new secret before the database has answered the call that stored it.
type seenFirst struct {
	auth.Tokens
	see func()
}

func (s *seenFirst) AddToken(ctx context.Context, token *auth.Token, entry *journal.Entry) (*auth.Token, error) {
	kept, err := s.Tokens.AddToken(ctx, token, entry)
	return kept, s.answer(ctx, err)
}

func (s *seenFirst) RotateToken(ctx context.Context, tokenID, hash, hint string, previousUntilMs, nowMs int64, entry *journal.Entry) (bool, error) {
	rotated, err := s.Tokens.RotateToken(ctx, tokenID, hash, hint, previousUntilMs, nowMs, entry)
	return rotated, s.answer(ctx, err)
}

// answer returns the error of a call whose answer comes late: the context's, if it ends.
func (s *seenFirst) answer(ctx context.Context, err error) error {
	if s.see == nil || err != nil {
		return err
	}
	s.see()
	if ended := ctx.Done(); ended != nil {
		<-ended // what was seen ends the calls of the old credential
		return runs.ErrUnavailable
	}
	return nil
}

// A new secret that is stored is in the reply, even if it has ended the credential of the call meanwhile.
func TestAStoredSecretIsInTheReply(t *testing.T) {
	t.Parallel()
	tokens := &seenFirst{Tokens: openSQLite(t).(auth.Tokens)}
	keyring := newKeyring(tokens, auth.Auto)
	a := serve(t, tokens.Tokens.(runs.Store), newContract(t), func(o *httpapi.Options) { o.Keyring = keyring })
	tokens.see = func() { keyring.Look(context.WithoutCancel(t.Context())) }
	made := a.post(t, "/v1/tokens", `{"name":"first","role":"admin"}`).want(http.StatusCreated)
	id, first := made.textAt("token", "token_id"), made.textAt("secret")
	second := a.post(t, "/v1/tokens/"+id+"/rotate", `{}`, bearer(first)).want(http.StatusOK).textAt("secret")
	a.get(t, "/v1/me", bearer(first)).refused(api.CodeInvalidToken)
	a.get(t, "/v1/me", bearer(second)).want(http.StatusOK)
}

// A first token that is not an admin's would lock everyone out. Where no call ever needs a token, it locks out nobody.
func TestTheFirstTokenIsAnAdmins(t *testing.T) {
	t.Parallel()
	for _, role := range []api.Role{api.RoleObserver, api.RoleAgent, api.RoleOperator} {
		store := openSQLite(t)
		body := `{"name":"first","role":"` + string(role) + `"}`
		a := serve(t, store, newContract(t), func(o *httpapi.Options) { o.Keyring = newKeyring(store.(auth.Tokens), auth.Auto) })
		a.post(t, "/v1/tokens", body, expecting(semantic)).refused(api.CodeInvalidRequest).pointer("/role")
		a.get(t, "/v1/runs").want(http.StatusOK)
		admin := a.post(t, "/v1/tokens", `{"name":"admin","role":"admin"}`).want(http.StatusCreated).textAt("secret")
		a.post(t, "/v1/tokens", body, bearer(admin)).want(http.StatusCreated)

		store = openSQLite(t)
		open := serve(t, store, newContract(t), func(o *httpapi.Options) { o.Keyring = newKeyring(store.(auth.Tokens), auth.None) })
		open.post(t, "/v1/tokens", body).want(http.StatusCreated)
	}
}

// endedByReading ends a call while its body is read.
type endedByReading struct {
	io.Reader
	end context.CancelFunc
}

func (e *endedByReading) Read(into []byte) (int, error) {
	e.end()
	return e.Reader.Read(into)
}

// A call that has ended before its body was read, such as one that the first token has ended, creates no token.
func TestAnEndedCallCreatesNoToken(t *testing.T) {
	t.Parallel()
	store := openSQLite(t)
	keyring := newKeyring(store.(auth.Tokens), auth.Auto)
	a := serve(t, store, newContract(t), func(o *httpapi.Options) { o.Keyring = keyring })
	ctx, end := context.WithCancel(t.Context())
	defer end()
	body := &endedByReading{strings.NewReader(`{"name":"late","role":"admin"}`), end}
	request := httptest.NewRequestWithContext(ctx, http.MethodPost, a.server.URL+"/v1/tokens", body)
	request.Header.Set("Content-Type", "application/json")
	a.server.Config.Handler.ServeHTTP(httptest.NewRecorder(), request)
	require.Error(t, ctx.Err(), "the body was read")
	tokens, err := keyring.List(t.Context(), auth.TokenQuery{Limit: 1})
	require.NoError(t, err)
	require.Empty(t, tokens)
}
