package httpapi_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
)

// How long a test waits, and how often it polls.
const (
	patience     = time.Minute
	patienceStep = 5 * time.Millisecond
)

// bearer sends a token.
func bearer(secret string) option { return header("Authorization", "Bearer "+secret) }

// closed starts the service on a fresh store of the rig's engine so that it asks for tokens.
func closed(t *testing.T, store runs.Store, contract *contract) (a *rig, keyring *auth.Keyring) {
	t.Helper()
	keyring = newKeyring(store.(auth.Tokens), auth.Required)
	return closedWith(t, store, contract, keyring), keyring
}

// closedWith starts another replica that asks for the tokens of a keyring.
func closedWith(t *testing.T, store runs.Store, contract *contract, keyring *auth.Keyring, change ...func(*httpapi.Options)) *rig {
	t.Helper()
	asks := func(o *httpapi.Options) { o.Keyring, o.Hosts = keyring, []string{"holdpoint.example"} }
	return serve(t, store, contract, append([]func(*httpapi.Options){asks}, change...)...)
}

// token creates a token without HTTP and returns its id and secret.
func token(t *testing.T, keyring *auth.Keyring, body api.CreateTokenBody) (tokenID, secret string) {
	t.Helper()
	made, _, err := keyring.Create(t.Context(), &body, "user:test", "")
	require.NoError(t, err)
	return made.Token.TokenID, made.Secret
}

// ofRole creates a token with a role.
func ofRole(t *testing.T, keyring *auth.Keyring, role api.Role) (secret string) {
	t.Helper()
	_, secret = token(t, keyring, api.CreateTokenBody{Name: "the-" + string(role), Role: role})
	return secret
}

func testTokens(t *testing.T, a *rig) {
	parallel(t, "a secret is shown once", func(t *testing.T) {
		made := a.post(t, "/v1/tokens", `{"name":"once","role":"agent","groups":["g@x"]}`, key("once")).want(http.StatusCreated)
		secret, tokenID := made.textAt("secret"), made.textAt("token", "token_id")
		require.True(t, auth.WellFormed(secret))
		require.Equal(t, "agent:once", made.at("token", "principal"))
		require.Equal(t, auth.HintOf(secret), made.at("token", "hint"))
		require.Equal(t, "user:local", made.at("token", "created_by"))
		require.Equal(t, "no-store", made.header.Get("Cache-Control"))
		require.Equal(t, "/v1/tokens/"+tokenID, made.header.Get("Location"))

		again := a.post(t, "/v1/tokens", `{"name":"once","role":"agent","groups":["g@x"]}`, key("once")).want(http.StatusCreated)
		require.Equal(t, "true", again.header.Get("Idempotency-Replayed"))
		require.Equal(t, true, again.at("secret_shown"))
		require.Nil(t, again.at("secret"))
		require.Equal(t, tokenID, again.at("token", "token_id"))
		a.post(t, "/v1/tokens", `{"name":"once","role":"admin"}`, key("once")).refused(api.CodeIdempotencyConflict)

		shown := a.get(t, "/v1/tokens/"+tokenID).want(http.StatusOK)
		require.NotContains(t, shown.text, secret)
		require.NotContains(t, shown.text, auth.HashOf(secret))
		require.Equal(t, made.at("token"), shown.body)
	})
	parallel(t, "bodies", func(t *testing.T) {
		for _, bad := range []struct{ body, pointer string }{
			{`{"role":"agent"}`, "/name"},
			{`{"name":"x\n","role":"operator"}`, "/name"},
			{`{"name":"x\u0000","role":"operator"}`, "/name"},
			{`{"name":"a\tb","role":"operator","principal":"user:ab"}`, "/name"},
			{`{"name":"x","role":"root"}`, "/role"},
			{`{"name":"x","role":"agent","principal":"nobody"}`, "/principal"},
			{`{"name":"x","role":"agent","principal":"user:"}`, "/principal"},
			{`{"name":"x","role":"agent","session_prefixes":[]}`, "/session_prefixes"},
			{`{"name":"x","role":"agent","agent_ids":[]}`, "/agent_ids"},
			{`{"name":"x","role":"agent","agent_ids":["a b"]}`, "/agent_ids/0"},
			{`{"name":"x","role":"agent","session_prefixes":["a","b","c d","e"]}`, "/session_prefixes/2"},
			{`{"name":"x","role":"agent","groups":["a@b",""]}`, "/groups/1"},
			{`{"name":"x","role":"agent","session_prefix":["a"]}`, "/session_prefix"},
			{`{"name":"x","role":"agent","expires_ms":1}`, "/expires_ms"},
			{`{"name":"x","role":"agent","expires_at_ms":253402300800000}`, "/expires_at_ms"},
			{`{"name":"x","role":"agent","on_behalf_of":"agent:y"}`, "/on_behalf_of"},
			{`{"name":"x","role":"agent","on_behalf_of":"ada"}`, "/on_behalf_of"},
			{`{"name":"x","role":"agent","on_behalf_of":"user:a b"}`, "/on_behalf_of"},
		} {
			got := a.post(t, "/v1/tokens", bad.body).refused(api.CodeInvalidRequest).pointer(bad.pointer)
			require.Len(t, got.list("errors"), 1, got.text)
		}
		for _, bad := range []struct{ body, pointer string }{
			{`{"name":"Ann Lee","role":"operator"}`, "/principal"},
			{`{"name":"` + strings.Repeat("é", 101) + `","role":"operator"}`, "/name"},
			{`{"name":"x","role":"operator","session_prefixes":["` + strings.Repeat("a", 101) + `"]}`, "/session_prefixes/0"},
			{`{"name":"x","role":"admin","agent_ids":["a"]}`, "/agent_ids"},
			{`{"name":"x","role":"admin","session_prefixes":["a"]}`, "/session_prefixes"},
			{`{"name":"x","role":"agent","may_always":true}`, "/may_always"},
			{`{"name":"x","role":"agent","expires_at_ms":1}`, "/expires_at_ms"},
			{`{"name":"x","role":"agent","expires_after_ms":253402300799999}`, "/expires_after_ms"},
			{`{"name":"x","role":"operator","on_behalf_of":"user:x"}`, "/on_behalf_of"},
			{`{"name":"x","role":"agent","on_behalf_of":"user:ada","may_act_for":true}`, "/on_behalf_of"},
			{`{"name":"x","role":"agent","expires_at_ms":9000000000000,"expires_after_ms":1}`, "/expires_after_ms"},
		} {
			got := a.post(t, "/v1/tokens", bad.body, expecting(semantic)).refused(api.CodeInvalidRequest).pointer(bad.pointer)
			require.Len(t, got.list("errors"), 1, got.text)
		}
		a.post(t, "/v1/tokens", `{"name":"Ann Lee","role":"operator","principal":"user:ann@lee.example"}`).want(http.StatusCreated)
		a.post(t, "/v1/tokens", `{"name":"x","role":"agent"}`, key(" "), expecting(semantic)).refused(api.CodeInvalidIdempotencyKey)
	})
	parallel(t, "lists", func(t *testing.T) {
		one := a.post(t, "/v1/tokens", `{"name":"listed","role":"observer","expires_after_ms":1}`).want(http.StatusCreated).textAt("token", "token_id")
		two := a.post(t, "/v1/tokens", `{"name":"listed","role":"observer"}`).want(http.StatusCreated).textAt("token", "token_id")
		three := a.post(t, "/v1/tokens", `{"name":"listed","role":"observer"}`).want(http.StatusCreated).textAt("token", "token_id")
		a.do(t, http.MethodDelete, "/v1/tokens/"+three, "").want(http.StatusNoContent)
		a.do(t, http.MethodDelete, "/v1/tokens/"+three, "").want(http.StatusNoContent)
		in := func(state string) map[string]bool {
			found := map[string]bool{}
			for cursor := ""; ; {
				page := a.get(t, "/v1/tokens?limit=2&state="+state+cursor, lenientState(state)).want(http.StatusOK)
				for i := range page.list("data") {
					id := page.textAt("data", i, "token_id")
					require.False(t, found[id], "a row comes once")
					found[id] = true
				}
				if page.at("next_cursor") == nil {
					return found
				}
				cursor = "&cursor=" + url.QueryEscape(page.textAt("next_cursor"))
			}
		}
		require.Eventually(t, func() bool { return in("expired")[one] }, patience, patienceStep)
		require.True(t, in("active")[two])
		require.True(t, in("revoked")[three])
		for state, not := range map[string]string{"active": three, "revoked": one, "expired": two} {
			require.False(t, in(state)[not], state)
		}
		a.get(t, "/v1/tokens?state=lost").refused(api.CodeBadRequest)
		a.get(t, "/v1/tokens?limit=0").refused(api.CodeInvalidLimit)
		a.get(t, "/v1/tokens?cursor=x", expecting(semantic)).refused(api.CodeInvalidCursor)
	})
	parallel(t, "who am I, where nobody is asked", func(t *testing.T) {
		me := a.get(t, "/v1/me").want(http.StatusOK)
		require.Equal(t, `{"principal":"user:local","role":"admin","groups":[],"via":"open"}`, me.text)
		require.Equal(t, "ada", a.get(t, "/v1/me", header("X-Actor", "ada")).want(http.StatusOK).at("principal"))
		a.get(t, "/v1/me", header("X-Actor", "")).refused(api.CodeBadRequest)
	})
}

func lenientState(state string) option {
	return func(r *http.Request) *http.Request {
		if state == "" {
			return expecting(lenient)(r)
		}
		return r
	}
}

// testClosed runs on one service, whose tests do not disturb each other but for the last.
func testClosed(t *testing.T, store runs.Store, contract *contract) {
	a, keyring := closed(t, store, contract)
	admin := ofRole(t, keyring, api.RoleAdmin)
	wrong := admin[:len(admin)-1] + "!"
	mistyped := "holdpoint_" + strings.Repeat("0", 43) + "000000"
	unknown := auth.NewSecret()

	t.Run("no credential, on every operation", func(t *testing.T) {
		others := []operation{{method: "GET", path: "/version"}, {method: "GET", path: "/openapi.yaml"}, {method: "GET", path: "/openapi.json"}, {method: "GET", path: "/v1/me"}, {method: "POST", path: "/v1/logout"}, {method: "GET", path: "/v1/stream"}}
		for _, o := range append(others, operations(t)...) {
			got := a.do(t, o.method, o.path, o.body).refused(api.CodeUnauthenticated)
			require.Equal(t, `Bearer realm="holdpoint"`, got.header.Get("WWW-Authenticate"))
			got = a.do(t, o.method, o.path, o.body, bearer(unknown)).refused(api.CodeInvalidToken)
			require.Equal(t, `Bearer realm="holdpoint", error="invalid_token"`, got.header.Get("WWW-Authenticate"))
		}
		for _, secret := range []string{wrong, mistyped, "x"} {
			require.Equal(t, a.get(t, "/v1/me", bearer(unknown)).text, a.get(t, "/v1/me", bearer(secret)).refused(api.CodeInvalidToken).text)
		}
		for _, unreadable := range []string{"Basic eDp5", admin, "Bearer", "Bearer ", "bearer"} {
			a.get(t, "/v1/me", header("Authorization", unreadable)).refused(api.CodeUnauthenticated)
		}
		a.get(t, "/v1/me", bearer(admin), bearer(admin)).refused(api.CodeUnauthenticated)
		a.get(t, "/v1/me", header("Authorization", "bearer  "+admin)).want(http.StatusOK)
		for _, probe := range []string{"/livez", "/readyz"} {
			a.get(t, probe).want(http.StatusOK)
		}
		require.Equal(t, http.StatusUnauthorized, a.do(t, http.MethodHead, "/v1/runs", "").status)
		a.get(t, "/nowhere").refused(wire.CodeRouteNotFound)
	})
	t.Run("every operation by every role", func(t *testing.T) { testRoles(t, a, keyring) })
	t.Run("what a token reaches", func(t *testing.T) { testScopes(t, a, keyring) })
	t.Run("what a token decides in a session", func(t *testing.T) { testSessionRoutesInScope(t, a, keyring) })
	t.Run("why something waits", func(t *testing.T) { testExplainPeople(t, a, keyring) })
	t.Run("the rules about a pending approval", func(t *testing.T) { testExplainRulesWithin(t, a, keyring) })
	t.Run("who looks at a request", func(t *testing.T) { testAcknowledgementPeople(t, a, keyring) })
	t.Run("who has a request open", func(t *testing.T) {
		polls := func(o *httpapi.Options) { o.PollInterval = 20 * time.Millisecond } // it waits for the polls of streams
		testViewing(t, closedWith(t, store, contract, keyring, polls), keyring)
	})
	t.Run("who asked does not allow", func(t *testing.T) { testRequesters(t, a, keyring) })
	t.Run("a token of a person", func(t *testing.T) { testOnBehalfOf(t, a, keyring) })
	t.Run("what an agent without bounds reaches", func(t *testing.T) { testOwn(t, a, keyring) })
	t.Run("browsers", func(t *testing.T) { testSignIn(t, a, keyring, store) })
	t.Run("the audit's own log", func(t *testing.T) { testAuditLog(t, a, keyring) })
	t.Run("addresses of bound tokens", func(t *testing.T) { testAddressesOfBounds(t, a, keyring, store) })
	t.Run("tickets", func(t *testing.T) { testTickets(t, a, keyring) })
	t.Run("who decided", func(t *testing.T) {
		operator := ofRole(t, keyring, api.RoleOperator)
		_, gateway := token(t, keyring, api.CreateTokenBody{Name: "chat", Role: api.RoleOperator, Principal: "service:chat", MayActFor: true})
		decide := func(id string, options ...option) *reply {
			run := a.name("run")
			a.post(t, "/v1/runs", fmt.Sprintf(`{"run_id":%q,"session_id":%q,"input":1,"suspend":{"approvals":[%s]}}`, run, a.name("session"), approval(id)), bearer(admin)).want(http.StatusAccepted)
			got := a.post(t, "/v1/runs/"+run+"/approvals", allow(id), options...).want(http.StatusAccepted)
			got.body = a.post(t, "/v1/runs/"+run+"/approvals", deny(id), options...).refused(api.CodeApprovalStateConflict).at("recorded_decision")
			return got
		}
		plain := decide("a", bearer(operator), header("X-Actor", "somebody else"))
		require.Equal(t, "user:the-operator", plain.at("resolved_by"), "a header is a name, not a proof")
		require.Nil(t, plain.at("via_principal"))
		require.Contains(t, plain.header.Get("Warning"), "X-Actor was ignored")
		named := decide("a", bearer(gateway), header("X-Actor", "ada"))
		require.Equal(t, "ada", named.at("resolved_by"))
		require.Equal(t, "service:chat", named.at("via_principal"))
		require.Empty(t, named.header.Get("Warning"))
		itself := decide("a", bearer(gateway))
		require.Equal(t, "service:chat", itself.at("resolved_by"))
	})
	t.Run("rotation", func(t *testing.T) {
		tokenID, first := token(t, keyring, api.CreateTokenBody{Name: "rotated", Role: api.RoleObserver})
		second := a.post(t, "/v1/tokens/"+tokenID+"/rotate", `{"grace_ms":600000}`, bearer(admin)).want(http.StatusOK).textAt("secret")
		for _, secret := range []string{first, second} {
			require.Equal(t, tokenID, a.get(t, "/v1/me", bearer(secret)).want(http.StatusOK).at("token_id"))
		}
		third := a.post(t, "/v1/tokens/"+tokenID+"/rotate", `{"grace_ms":600000}`, bearer(admin)).want(http.StatusOK).textAt("secret")
		a.get(t, "/v1/me", bearer(first)).refused(api.CodeInvalidToken)
		for _, secret := range []string{second, third} {
			a.get(t, "/v1/me", bearer(secret)).want(http.StatusOK)
		}
		last := a.post(t, "/v1/tokens/"+tokenID+"/rotate", "", bearer(admin)).want(http.StatusOK)
		require.Equal(t, auth.HintOf(last.textAt("secret")), last.at("token", "hint"))
		for _, secret := range []string{first, second, third} {
			a.get(t, "/v1/me", bearer(secret)).refused(api.CodeInvalidToken)
		}
		a.get(t, "/v1/me", bearer(last.textAt("secret"))).want(http.StatusOK)
		a.post(t, "/v1/tokens/"+tokenID+"/rotate", `{"grace_ms":604800001}`, bearer(admin)).refused(api.CodeInvalidRequest).pointer("/grace_ms")
		a.do(t, http.MethodDelete, "/v1/tokens/"+tokenID, "", bearer(admin)).want(http.StatusNoContent)
		a.get(t, "/v1/me", bearer(last.textAt("secret"))).refused(api.CodeInvalidToken)
		a.post(t, "/v1/tokens/"+tokenID+"/rotate", `{}`, bearer(admin)).refused(api.CodeTokenStateConflict)
	})
	t.Run("a held call and a stream end with their token", func(t *testing.T) {
		tokenID, secret := token(t, keyring, api.CreateTokenBody{Name: "holder", Role: api.RoleObserver})
		run := a.post(t, "/v1/runs", `{"input":1}`, bearer(admin)).want(http.StatusAccepted).textAt("run_id")
		stream, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.server.URL+"/v1/stream", nil)
		require.NoError(t, err)
		stream.Header.Set("Authorization", "Bearer "+secret)
		open, err := http.DefaultClient.Do(stream)
		require.NoError(t, err)
		defer open.Body.Close()
		require.Equal(t, http.StatusOK, open.StatusCode)
		begun := make(chan struct{})
		held := make(chan *reply, 1)
		go func() {
			close(begun)
			answer, err := a.try(t, http.MethodGet, "/v1/runs/"+run+"?until=terminal", "", bearer(secret), wait(60))
			if err == nil {
				held <- answer
			}
			close(held)
		}()
		<-begun
		require.Eventually(t, func() bool { return keyring.Calls() >= 2 }, patience, patienceStep, "both are under way")

		// Another replica revokes it: this one hears of it when it looks.
		other := newKeyring(store.(auth.Tokens), auth.Required)
		require.NoError(t, other.Revoke(t.Context(), tokenID, true))
		keyring.Look(t.Context())
		answer, there := <-held
		require.True(t, there)
		answer.refused(api.CodeInvalidToken)
		_, _ = io.Copy(io.Discard, open.Body) // the stream ends, in whatever way
		require.Eventually(t, func() bool { return keyring.Calls() == 0 }, patience, patienceStep)
	})
	t.Run("the last admin", func(t *testing.T) {
		adminID := a.get(t, "/v1/me", bearer(admin)).want(http.StatusOK).textAt("token_id")
		for query := "?state=active&limit=100"; query != ""; {
			active := a.get(t, "/v1/tokens"+query, bearer(admin)).want(http.StatusOK)
			for i := range active.list("data") {
				if id := active.textAt("data", i, "token_id"); active.at("data", i, "role") == "admin" && id != adminID {
					a.do(t, http.MethodDelete, "/v1/tokens/"+id, "", bearer(admin)).want(http.StatusNoContent)
				}
			}
			query = ""
			if active.at("next_cursor") != nil {
				query = "?state=active&limit=100&cursor=" + url.QueryEscape(active.textAt("next_cursor"))
			}
		}
		_, expiring := token(t, keyring, api.CreateTokenBody{Name: "soon", Role: api.RoleAdmin, ExpiresAfterMs: new(int64(1))})
		require.Eventually(t, func() bool { return a.get(t, "/v1/me", bearer(expiring)).status == http.StatusUnauthorized }, patience, patienceStep)
		a.do(t, http.MethodDelete, "/v1/tokens/"+adminID, "", bearer(admin)).refused(api.CodeLastAdminToken)
		rotated := a.post(t, "/v1/tokens/"+adminID+"/rotate", `{}`, bearer(admin)).want(http.StatusOK).textAt("secret")
		second, secondSecret := token(t, keyring, api.CreateTokenBody{Name: "second", Role: api.RoleAdmin})
		a.do(t, http.MethodDelete, "/v1/tokens/"+adminID, "", bearer(rotated)).want(http.StatusNoContent)
		a.do(t, http.MethodDelete, "/v1/tokens/"+second, "", bearer(secondSecret)).refused(api.CodeLastAdminToken)
	})
}

// If two callers concurrently revoke the last two admins, one remains.
func TestTheLastTwoAdminsAtOnce(t *testing.T) {
	onEngines(t, func(t *testing.T, store runs.Store) {
		keyring := newKeyring(store.(auth.Tokens), auth.Required)
		for range 20 {
			var ids []string
			for range 2 {
				id, _ := token(t, keyring, api.CreateTokenBody{Name: "a", Role: api.RoleAdmin})
				ids = append(ids, id)
			}
			errs := make(chan error, 2)
			for _, id := range ids {
				go func() { errs <- keyring.Revoke(context.WithoutCancel(t.Context()), id, true) }()
			}
			refused := 0
			for range ids {
				if err := <-errs; err != nil {
					refused++
				}
			}
			require.Equal(t, 1, refused)
			for _, id := range ids {
				require.NoError(t, keyring.Revoke(t.Context(), id, false))
			}
		}
	})
}

// The last use of a token is accurate to the minute, never before its creation, and seen at once. It is
// stored in the background, for the other replicas.
func TestTheLastUseOfAToken(t *testing.T) {
	onEngines(t, func(t *testing.T, store runs.Store) {
		const minute, seconds = 60_000, 25_000
		var nowMs int64 = 1_750_000_020_000 + seconds
		replica := func() (*auth.Keyring, *rig) {
			keyring := auth.NewKeyring(auth.Options{Tokens: store.(auth.Tokens), Mode: auth.Required, NewID: runs.NewID, NowMs: func() int64 { return nowMs }})
			return keyring, serve(t, store, newContract(t), func(o *httpapi.Options) { o.Keyring = keyring })
		}
		keyring, a := replica()
		_, other := replica()
		admin := ofRole(t, keyring, api.RoleAdmin)
		tokenID, secret := token(t, keyring, api.CreateTokenBody{Name: "used", Role: api.RoleObserver})
		shown := func(at *rig) any {
			listed := at.get(t, "/v1/tokens", bearer(admin)).want(http.StatusOK)
			one := at.get(t, "/v1/tokens/"+tokenID, bearer(admin)).want(http.StatusOK).at("last_used_at_ms")
			for i := 0; ; i++ {
				if listed.textAt("data", i, "token_id") == tokenID {
					require.Equal(t, one, listed.at("data", i, "last_used_at_ms"))
					return one
				}
			}
		}
		stored := func() {
			stopped, stop := context.WithCancel(t.Context())
			stop()
			require.NoError(t, keyring.Run(stopped)) // Run stores the rest when it stops
		}
		require.Nil(t, shown(a))

		a.get(t, "/v1/me", bearer(secret)).want(http.StatusOK)
		require.InDelta(t, nowMs, shown(a), 0, "not before the creation")
		require.Nil(t, shown(other))
		stored()
		require.InDelta(t, nowMs, shown(other), 0)

		nowMs += minute
		a.get(t, "/v1/me", bearer(secret)).want(http.StatusOK)
		require.InDelta(t, nowMs-nowMs%minute, shown(a), 0)
		nowMs += 3 * minute
		a.get(t, "/v1/tokens", bearer(secret)).refused(api.CodeForbidden)
		require.InDelta(t, nowMs-nowMs%minute, shown(a), 0, "what was refused is a use")
		stored()
		require.InDelta(t, nowMs-nowMs%minute, shown(other), 0)
	})
}

// A replica that knows a token refuses it half a second after another one has revoked it, or once its clock was
// set back.
func TestARevokedTokenEndsAtEveryReplica(t *testing.T) {
	t.Parallel()
	store := openPostgres(t)
	for name, passedMs := range clockChanges {
		parallel(t, name, func(t *testing.T) {
			var nowMs int64 = 1_750_000_000_000
			keyring := auth.NewKeyring(auth.Options{Tokens: store.(auth.Tokens), Mode: auth.Required, NewID: runs.NewID, NowMs: func() int64 { return nowMs }})
			other := newKeyring(store.(auth.Tokens), auth.Required)
			id, secret := token(t, other, api.CreateTokenBody{Name: "x", Role: api.RoleObserver})
			_, err := keyring.Authenticate(t.Context(), secret)
			require.NoError(t, err)
			require.NoError(t, other.Revoke(t.Context(), id, true))
			nowMs += passedMs
			_, err = keyring.Authenticate(t.Context(), secret)
			require.ErrorIs(t, err, auth.Invalid())
		})
	}
}

// A decision that was on its way when its token was revoked or rotated, or its browser signed out, at another replica is
// refused: the token and the sign-in are read again under the lock of the session.
func TestARevokedTokenDecidesNothing(t *testing.T) {
	onEngines(t, func(t *testing.T, store runs.Store) {
		// Time does not pass at this replica, so it trusts its cache.
		const nowMs = 1_750_000_000_000
		keyring := auth.NewKeyring(auth.Options{Tokens: store.(auth.Tokens), Mode: auth.Required, NewID: runs.NewID, NowMs: func() int64 { return nowMs }})
		other := newKeyring(store.(auth.Tokens), auth.Required)
		a := serve(t, store, newContract(t), func(o *httpapi.Options) { o.Keyring = keyring })
		admin := ofRole(t, other, api.RoleAdmin)
		a.post(t, "/v1/runs", `{"run_id":"r","session_id":"s","input":1,"suspend":{"approvals":[`+approval("a")+`],"questions":[{"id":"q","tool_call_id":"q","response_schema":{}}]}}`, bearer(admin)).want(http.StatusAccepted)
		for name, end := range map[string]func(id, cookie string) error{
			"revoked": func(id, _ string) error { return other.Revoke(t.Context(), id, true) },
			"rotated": func(id, _ string) error {
				_, err := other.Rotate(t.Context(), id, 0)
				return err
			},
			"signed-out": func(_, cookie string) error { return other.SignOut(t.Context(), cookie) },
		} {
			id, secret := token(t, other, api.CreateTokenBody{Name: name, Role: api.RoleOperator, MayAlways: true})
			login := a.do(t, http.MethodPost, "/v1/login", "", bearer(secret)).want(http.StatusOK)
			signedIn := login.sessionOf()
			rule := a.post(t, "/v1/rules", `{"match":{"pattern_keys":["`+name+`"]}}`, bearer(secret)).want(http.StatusCreated).textAt("rule_id")
			a.get(t, "/v1/me", signedIn).want(http.StatusOK)
			require.NoError(t, end(id, login.textAt("session")))
			a.get(t, "/v1/me", bearer(secret)).want(http.StatusOK)
			a.get(t, "/v1/me", signedIn).want(http.StatusOK)
			credentials := [][]option{{signedIn, sameOrigin()}}
			if name != "signed-out" {
				credentials = append(credentials, []option{bearer(secret)})
			}
			for _, credential := range credentials {
				for _, call := range [][2]string{
					{"/v1/runs/r/approvals", allow("a")},
					{"/v1/sessions/s/approvals", allow("a")},
					{"/v1/runs/r/questions", `{"resolution":{"request_id":"q","value":1}}`},
					{"/v1/runs/r/questions/q/cancel", `{}`},
					{"/v1/runs/r/cancel", `{}`},
					{"/v1/sessions/s/interrupt", `{}`},
					{"/v1/sessions/s/end", `{}`},
					{"/v1/rules", `{"match":{"pattern_keys":["k"]}}`},
				} {
					got := a.post(t, call[0], call[1], append(credential, key("k"))...)
					require.Equal(t, http.StatusUnauthorized, got.status, "%s %s: %s", name, call[0], got.text)
					require.NotEmpty(t, got.header.Get("WWW-Authenticate"))
				}
				a.do(t, http.MethodDelete, "/v1/rules/"+rule, "", credential...).refused(api.CodeInvalidToken)
			}
		}
		run := a.get(t, "/v1/runs/r", bearer(admin)).want(http.StatusOK)
		require.Equal(t, "waiting_for_user_question", run.at("status"))
		require.Len(t, run.list("pending_approvals"), 1)
		require.Len(t, a.get(t, "/v1/rules", bearer(admin)).want(http.StatusOK).body, 3)
		a.post(t, "/v1/runs/r/approvals", allow("a"), bearer(admin), key("k")).want(http.StatusAccepted)
	})
}
