package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// sameOrigin is the header that a browser sends for a page of the service itself.
func sameOrigin() option { return header("Sec-Fetch-Site", "same-origin") }

// cookieOf returns a reply's cookie and the option that sends it back.
func (r *reply) cookieOf() (sent option, set *http.Cookie) {
	r.t.Helper()
	cookies := (&http.Response{Header: r.header}).Cookies()
	require.Len(r.t, cookies, 1)
	return header("Cookie", cookies[0].Name+"="+cookies[0].Value), cookies[0]
}

// sessionOf returns the headers of a page on a loopback address after a sign-in.
func (r *reply) sessionOf() option {
	r.t.Helper()
	require.Empty(r.t, r.header.Values("Set-Cookie"), "every port of the address would be sent a cookie")
	return header("Authorization", "Session "+r.textAt("session"))
}

// overTLS calls the service by a name, as a browser does through a proxy that ends TLS.
func overTLS() option {
	return func(r *http.Request) *http.Request {
		r.Host = "holdpoint.example"
		return r
	}
}

// testSignIn needs a service that asks for tokens.
func testSignIn(t *testing.T, a *rig, keyring *auth.Keyring, store runs.Store) {
	t.Helper()
	operator := ofRole(t, keyring, api.RoleOperator)
	signIn := func(secret string) option {
		return a.do(t, http.MethodPost, "/v1/login", "", bearer(secret), sameOrigin()).want(http.StatusOK).sessionOf()
	}
	t.Run("a cookie stands for the token", func(t *testing.T) {
		a.do(t, http.MethodPost, "/v1/login", "").refused(api.CodeUnauthenticated)
		a.do(t, http.MethodPost, "/v1/login", "", bearer(auth.NewSecret())).refused(api.CodeInvalidToken)
		got := a.do(t, http.MethodPost, "/v1/login", "", bearer(operator), overTLS(), header("Origin", "https://holdpoint.example")).want(http.StatusOK)
		require.Equal(t, "session", got.at("via"))
		sent, set := got.cookieOf()
		require.Equal(t, "__Host-holdpoint", set.Name)
		require.True(t, set.HttpOnly)
		require.True(t, set.Secure)
		require.Equal(t, http.SameSiteStrictMode, set.SameSite)
		require.Equal(t, 43_200, set.MaxAge)
		require.Equal(t, "/", set.Path)
		require.NotContains(t, got.text, set.Value)
		me := a.get(t, "/v1/me", sent, overTLS()).want(http.StatusOK)
		require.Equal(t, []any{"user:the-operator", "operator", "session"}, []any{me.at("principal"), me.at("role"), me.at("via")})

		// A token does not work as a cookie, nor a cookie as a token. A header takes precedence
		// over a cookie.
		a.get(t, "/v1/me", header("Cookie", "__Host-holdpoint="+operator), overTLS()).refused(api.CodeInvalidToken)
		a.get(t, "/v1/me", bearer(set.Value), overTLS()).refused(api.CodeInvalidToken)
		a.get(t, "/v1/me", sent, bearer(set.Value), overTLS()).refused(api.CodeInvalidToken)
		require.Equal(t, "token", a.get(t, "/v1/me", sent, bearer(operator), overTLS()).want(http.StatusOK).at("via"))
		a.post(t, "/v1/tokens", `{"name":"x","role":"admin"}`, sent, sameOrigin(), overTLS()).refused(api.CodeForbidden)
		// A neighbouring host's page may have set the cookie without the prefix.
		a.get(t, "/v1/me", header("Cookie", "holdpoint="+set.Value), overTLS()).refused(api.CodeUnauthenticated)
		a.do(t, http.MethodPost, "/v1/login", "", bearer(operator), header("Origin", "http://holdpoint.example"), overTLS()).refused(wire.CodeOriginNotAllowed)
	})
	waits := func(t *testing.T) (run string) {
		run = a.name("run")
		a.post(t, "/v1/runs", `{"run_id":"`+run+`","session_id":"`+a.name("s")+`","input":1,"suspend":{"approvals":[`+approval("a")+`]}}`, bearer(ofRole(t, keyring, api.RoleAdmin))).want(http.StatusAccepted)
		return run
	}
	t.Run("only pages of the service change anything", func(t *testing.T) {
		sent, _ := a.do(t, http.MethodPost, "/v1/login", "", bearer(operator), sameOrigin(), overTLS()).want(http.StatusOK).cookieOf()
		run := waits(t)
		decide := func(options ...option) *reply {
			return a.post(t, "/v1/runs/"+run+"/approvals", allow("a"), append(options, sent, overTLS())...)
		}
		own := header("Origin", "https://holdpoint.example")
		for _, options := range [][]option{
			{},
			{header("Sec-Fetch-Site", "same-site")},
			{header("Sec-Fetch-Site", "none")},
			{header("Sec-Fetch-Site", "cross-site"), own},
			{header("Origin", "null")},
			{header("Origin", "https://holdpoint.example:8443")},
			{header("Sec-Fetch-Site", "same-origin"), header("Sec-Fetch-Site", "same-origin")},
		} {
			decide(options...).refused(wire.CodeOriginNotAllowed)
		}
		require.Equal(t, "waiting_for_approval", a.get(t, "/v1/runs/"+run, sent, overTLS()).want(http.StatusOK).at("status"))
		decide(own, sameOrigin()).want(http.StatusAccepted)
		a.do(t, http.MethodPost, "/v1/logout", "", sent, overTLS()).refused(wire.CodeOriginNotAllowed)
		cleared := a.do(t, http.MethodPost, "/v1/logout", "", sent, sameOrigin(), overTLS()).want(http.StatusNoContent)
		require.Contains(t, strings.Join(cleared.header.Values("Set-Cookie"), "\n"), "__Host-holdpoint=; Path=/; Max-Age=0")
	})
	t.Run("no cookie of a loopback address", func(t *testing.T) {
		sent, run := signIn(operator), waits(t)
		secret := strings.TrimPrefix(sent(&http.Request{Header: http.Header{}}).Header.Get("Authorization"), "Session ")
		for _, name := range []string{"holdpoint", "__Host-holdpoint"} {
			cookie := header("Cookie", name+"="+secret)
			a.post(t, "/v1/runs/"+run+"/approvals", allow("a"), cookie, sameOrigin(), header("Origin", a.server.URL)).refused(api.CodeUnauthenticated)
			out := a.do(t, http.MethodPost, "/v1/logout", "", cookie, sameOrigin()).refused(api.CodeUnauthenticated)
			require.Empty(t, out.header.Values("Set-Cookie"))
		}
		a.get(t, "/v1/me", bearer(secret)).refused(api.CodeInvalidToken)
		a.get(t, "/v1/me", header("Authorization", "Session "+operator)).refused(api.CodeInvalidToken)
		require.Equal(t, "session", a.get(t, "/v1/me", sent).want(http.StatusOK).at("via"))
		a.post(t, "/v1/runs/"+run+"/approvals", allow("a"), sent).want(http.StatusAccepted)
	})
	t.Run("signing out", func(t *testing.T) {
		sent, other := signIn(operator), signIn(operator)
		a.do(t, http.MethodPost, "/v1/logout", "", sent).want(http.StatusNoContent)
		refused := a.get(t, "/v1/me", sent).refused(api.CodeInvalidToken)
		require.Equal(t, `Bearer realm="holdpoint", error="invalid_token"`, refused.header.Get("WWW-Authenticate"))
		a.get(t, "/v1/me", other).want(http.StatusOK)
		a.do(t, http.MethodPost, "/v1/logout", "", bearer(operator)).want(http.StatusNoContent)
		a.do(t, http.MethodPost, "/v1/logout", "").refused(api.CodeUnauthenticated)
	})
	t.Run("a sign-in ends with its token", func(t *testing.T) {
		tokenID, secret := token(t, keyring, api.CreateTokenBody{Name: "revoked", Role: api.RoleOperator})
		rotated := signIn(secret)
		made, err := keyring.Rotate(t.Context(), tokenID, 600_000)
		require.NoError(t, err)
		a.get(t, "/v1/me", rotated).refused(api.CodeInvalidToken)
		sent := signIn(made.Secret)
		held := make(chan *reply, 1)
		go func() {
			defer close(held)
			if got, err := a.try(t, http.MethodGet, "/v1/stream", "", sent); err == nil {
				held <- got
			}
		}()
		require.Eventually(t, func() bool { return keyring.Calls() == 1 }, patience, patienceStep)
		// Another replica revokes it: this one hears of it when it looks.
		require.NoError(t, newKeyring(store.(auth.Tokens), auth.Required).Revoke(t.Context(), tokenID, true))
		keyring.Look(t.Context())
		<-held
		require.Eventually(t, func() bool { return keyring.Calls() == 0 }, patience, patienceStep)
		a.get(t, "/v1/me", sent).refused(api.CodeInvalidToken)
	})
}

// A sign-in lasts twelve hours after its last call, and a token has a bounded number of them.
func TestSignInsEnd(t *testing.T) {
	onEngines(t, func(t *testing.T, store runs.Store) {
		var nowMs int64 = 1_750_000_000_000
		keyring := auth.NewKeyring(auth.Options{Tokens: store.(auth.Tokens), Mode: auth.Required, NewID: runs.NewID, NowMs: func() int64 { return nowMs }})
		a := serve(t, store, newContract(t), func(o *httpapi.Options) { o.Keyring, o.Hosts = keyring, []string{"holdpoint.example"} })
		secret := ofRole(t, keyring, api.RoleObserver)
		login := func() option {
			cookie, _ := a.do(t, http.MethodPost, "/v1/login", "", bearer(secret), overTLS()).want(http.StatusOK).cookieOf()
			return func(r *http.Request) *http.Request { return overTLS()(cookie(r)) }
		}
		sent, idle := login(), login()
		nowMs += 9 * 60_000
		require.Empty(t, a.get(t, "/v1/me", sent).want(http.StatusOK).header.Values("Set-Cookie"))
		nowMs += auth.SignInLifetimeMs - 10*60_000
		renewed := a.get(t, "/v1/me", sent).want(http.StatusOK)
		require.Contains(t, renewed.header.Get("Set-Cookie"), "Max-Age=43200")
		nowMs += 60_000
		a.get(t, "/v1/me", idle).refused(api.CodeInvalidToken)
		a.get(t, "/v1/me", sent).want(http.StatusOK)

		for range auth.MaxSignIns - 1 {
			_, _, err := keyring.SignIn(t.Context(), secret)
			require.NoError(t, err)
		}
		nowMs += 600
		a.get(t, "/v1/me", sent).want(http.StatusOK)
		nowMs++
		_, _, err := keyring.SignIn(t.Context(), secret)
		require.NoError(t, err)
		nowMs += 600
		a.get(t, "/v1/me", sent).refused(api.CodeInvalidToken)
	})
}

// A sign-in with a rotated secret ends with the secret's grace, at a replica that has not seen the rotation too. A
// sign-in with the new secret lasts.
func TestASignInWithARotatedSecretEndsWithIt(t *testing.T) {
	t.Parallel()
	const minute = 60_000
	for engine, open := range openers {
		parallel(t, engine, func(t *testing.T) {
			store := open(t)
			var nowMs int64 = 1_750_000_000_000
			replica := func() (*auth.Keyring, *rig) {
				keyring := auth.NewKeyring(auth.Options{Tokens: store.(auth.Tokens), Mode: auth.Required, NewID: runs.NewID, NowMs: func() int64 { return nowMs }})
				return keyring, serve(t, store, newContract(t), func(o *httpapi.Options) { o.Keyring = keyring })
			}
			keyring, a := replica()
			unaware, other := replica()
			for _, graceMs := range []int64{minute, auth.SignInLifetimeMs + 20*minute} {
				tokenID, old := token(t, keyring, api.CreateTokenBody{Name: "leaked", Role: api.RoleAdmin})
				_, err := unaware.Authenticate(t.Context(), old)
				require.NoError(t, err)
				made, err := keyring.Rotate(t.Context(), tokenID, graceMs)
				require.NoError(t, err)
				graceEndsMs := nowMs + graceMs
				login := func(at *rig, secret string) (signedIn option, untilMs any) {
					got := at.do(t, http.MethodPost, "/v1/login", "", bearer(secret)).want(http.StatusOK)
					return got.sessionOf(), got.at("expires_at_ms")
				}
				late, _ := login(other, old)
				early, untilMs := login(a, old)
				require.InDelta(t, nowMs+min(graceMs, auth.SignInLifetimeMs), untilMs, 0)
				for nowMs < graceEndsMs-30*minute {
					nowMs += 30 * minute
					a.get(t, "/v1/me", early).want(http.StatusOK)
					a.get(t, "/v1/me", late).want(http.StatusOK)
				}
				current, _ := login(a, made.Secret)
				nowMs = graceEndsMs + 1000
				a.get(t, "/v1/me", early).refused(api.CodeInvalidToken)
				a.get(t, "/v1/me", late).refused(api.CodeInvalidToken)
				for range 3 {
					nowMs += auth.SignInLifetimeMs - 60*minute
					a.get(t, "/v1/me", current).want(http.StatusOK)
				}
			}
		})
	}
}

// A replica signs no browser in with a secret that its cache alone accepts.
func TestACachedSecretSignsNobodyIn(t *testing.T) {
	onEngines(t, func(t *testing.T, store runs.Store) {
		replica := func() *auth.Keyring {
			return auth.NewKeyring(auth.Options{
				Tokens: store.(auth.Tokens), Mode: auth.Required, NewID: runs.NewID, NowMs: func() int64 { return 1_750_000_000_000 },
			})
		}
		here, other := replica(), replica()
		tokenID, secret := token(t, other, api.CreateTokenBody{Name: "rotated", Role: api.RoleOperator})
		signIn := func(secret string) error {
			_, err := here.Authenticate(t.Context(), secret)
			require.NoError(t, err, "the cache accepts it")
			_, _, err = here.SignIn(t.Context(), secret)
			return err
		}
		require.NoError(t, signIn(secret))
		_, err := other.Rotate(t.Context(), tokenID, 1000)
		require.NoError(t, err)
		require.NoError(t, signIn(secret), "within the grace")
		made, err := other.Rotate(t.Context(), tokenID, 0)
		require.NoError(t, err)
		require.Equal(t, api.CodeInvalidToken, refusal.CodeOf(signIn(secret)))
		require.NoError(t, signIn(made.Secret))
		require.NoError(t, other.Revoke(t.Context(), tokenID, false))
		require.Equal(t, api.CodeInvalidToken, refusal.CodeOf(signIn(made.Secret)))
	})
}

// A replica whose cache still accepts an admin's secret changes nothing for it: what it creates would outlive
// the revocation.
func TestACachedSecretChangesNothing(t *testing.T) {
	onEngines(t, func(t *testing.T, store runs.Store) {
		keyring := auth.NewKeyring(auth.Options{
			Tokens: store.(auth.Tokens), Mode: auth.Required, NewID: runs.NewID, NowMs: func() int64 { return 1_750_000_000_000 },
		})
		other := newKeyring(store.(auth.Tokens), auth.Required)
		a := serve(t, store, newContract(t), func(o *httpapi.Options) { o.Keyring = keyring })
		left, _ := token(t, other, api.CreateTokenBody{Name: "left", Role: api.RoleAdmin})
		id, secret := token(t, other, api.CreateTokenBody{Name: "admin", Role: api.RoleAdmin})
		call := func(path, body string) *reply { return a.post(t, path, body, bearer(secret)) }
		call("/v1/tokens", `{"name":"made","role":"admin"}`).want(http.StatusCreated)
		hook := call("/v1/webhooks", `{"url":"https://example.com","events":["completed"]}`).want(http.StatusCreated).textAt("webhook", "webhook_id")
		require.NoError(t, other.Revoke(t.Context(), id, true))
		a.get(t, "/v1/me", bearer(secret)).want(http.StatusOK)
		call("/v1/tokens", `{"name":"made later","principal":"user:later","role":"admin"}`).refused(api.CodeInvalidToken)
		call("/v1/tokens/"+left+"/rotate", `{}`).refused(api.CodeInvalidToken)
		a.do(t, http.MethodDelete, "/v1/tokens/"+left, "", bearer(secret)).refused(api.CodeInvalidToken)
		call("/v1/webhooks", `{"url":"https://example.com","events":["completed"]}`).refused(api.CodeInvalidToken)
		call("/v1/webhooks/"+hook+"/rotate", `{}`).refused(api.CodeInvalidToken)
		call("/v1/me/addresses", `{"channel":"mail","address":"ada@example.com"}`).refused(api.CodeInvalidToken)
		token, err := other.Token(t.Context(), left)
		require.NoError(t, err)
		require.Zero(t, token.RevokedAtMs)
	})
}

// Neither does one whose cache still accepts a browser's cookie, after a rotation of its token or its sign-out.
func TestACachedCookieChangesNothing(t *testing.T) {
	onEngines(t, func(t *testing.T, store runs.Store) {
		nowMs := func() int64 { return 1_750_000_000_000 }
		replica := func() *auth.Keyring {
			return auth.NewKeyring(auth.Options{Tokens: store.(auth.Tokens), Mode: auth.Required, NewID: runs.NewID, NowMs: nowMs})
		}
		keyring, other := replica(), replica()
		a := serve(t, store, newContract(t), func(o *httpapi.Options) { o.Keyring, o.Hosts = keyring, []string{"holdpoint.example"} })
		id, secret := token(t, other, api.CreateTokenBody{Name: "admin", Role: api.RoleAdmin})
		for name, end := range map[string]func(cookie string) error{
			"signed out": func(cookie string) error { return other.SignOut(t.Context(), cookie) },
			"rotated": func(string) error {
				made, err := other.Rotate(t.Context(), id, 60_000)
				if err == nil {
					secret = made.Secret
				}
				return err
			},
		} {
			cookie, set := a.do(t, http.MethodPost, "/v1/login", "", bearer(secret), overTLS()).want(http.StatusOK).cookieOf()
			create := func() *reply {
				return a.post(t, "/v1/tokens", `{"name":"made","role":"admin"}`, overTLS(), cookie, sameOrigin())
			}
			create().want(http.StatusCreated)
			require.NoError(t, end(set.Value), name)
			a.get(t, "/v1/me", overTLS(), cookie).want(http.StatusOK)
			create().refused(api.CodeInvalidToken)
		}
	})
}
