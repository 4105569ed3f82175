package httpapi_test

import (
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/httpapi/oidc"
	"github.com/holdpoint/holdpoint/httpapi/oidc/oidctest"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
)

// byIssuer starts the service with an issuer.
func byIssuer(t *testing.T, store runs.Store, contract *contract, issuer *oidctest.Issuer, keep auth.Tokens) (*rig, *auth.Keyring) {
	t.Helper()
	return byIssuerAt(t, store, contract, issuer, keep, time.Now)
}

// byIssuerAt is byIssuer with a clock of the issuer's client.
func byIssuerAt(t *testing.T, store runs.Store, contract *contract, issuer *oidctest.Issuer, keep auth.Tokens, now func() time.Time) (*rig, *auth.Keyring) {
	t.Helper()
	provider, err := oidc.New(oidc.Options{
		Issuer: issuer.URL, ClientID: oidctest.ClientID, ClientSecret: oidctest.ClientSecret, Now: now,
		Roles: []string{"watchers=observer", "people=operator", "bots=agent", "chiefs=admin"},
	})
	require.NoError(t, err)
	keyring := auth.NewKeyring(auth.Options{Tokens: keep, Issuer: true, NewID: runs.NewID, NowMs: func() int64 { return time.Now().UnixMilli() }})
	a := serve(t, store, contract, func(o *httpapi.Options) { o.Keyring, o.OIDC = keyring, provider })
	a.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return a, keyring
}

// begin begins a sign-in, and returns the cookie of the flow and the path with which the issuer sends the
// browser back.
func (a *rig) begin(t *testing.T, returnTo string) (flow option, back string) {
	t.Helper()
	started := a.get(t, "/v1/oidc/start?return_to="+url.QueryEscape(returnTo)).want(http.StatusFound)
	flow, set := started.cookieOf()
	require.Equal(t, []any{"holdpoint-oidc", "/v1/oidc", true, 600, http.SameSiteLaxMode}, []any{set.Name, set.Path, set.HttpOnly, set.MaxAge, set.SameSite})
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, started.header.Get("Location"), nil)
	require.NoError(t, err)
	answer, err := http.DefaultTransport.RoundTrip(request)
	require.NoError(t, err)
	defer answer.Body.Close()
	require.Equal(t, http.StatusFound, answer.StatusCode, "the issuer redirects")
	at, err := url.Parse(answer.Header.Get("Location"))
	require.NoError(t, err)
	require.Equal(t, a.server.URL, at.Scheme+"://"+at.Host)
	return flow, at.RequestURI()
}

// testIssuer signs browsers and machines in by an issuer.
func testIssuer(t *testing.T, store runs.Store, contract *contract) {
	issuer := oidctest.Start(t)
	var stopped atomic.Pointer[time.Time] // the clock; it runs while this is nil
	a, keyring := byIssuerAt(t, store, contract, issuer, store.(auth.Tokens), func() time.Time {
		if at := stopped.Load(); at != nil {
			return *at
		}
		return time.Now()
	})
	fromIssuer := header("Sec-Fetch-Site", "cross-site")
	signIn := func(t *testing.T, groups ...string) option {
		t.Helper()
		issuer.Is("ada", groups...)
		flow, back := a.begin(t, "/")
		return signedIn(a.get(t, back, flow, fromIssuer).want(http.StatusOK))
	}
	t.Run("a browser", func(t *testing.T) {
		a.get(t, "/v1/runs").refused(api.CodeUnauthenticated)
		require.Equal(t, strings.TrimPrefix(issuer.URL, "http://"), a.get(t, "/v1/oidc").want(http.StatusOK).at("name"))
		issuer.Is("auth0|ada:1", "people", "watchers", "not of ours")
		flow, back := a.begin(t, `/sessions/a?b="><script>`)
		done := a.get(t, back, flow, fromIssuer).want(http.StatusOK)
		require.Contains(t, done.text, `"/sessions/a?b=\"\u003e\u003cscript\u003e"]`)
		require.Regexp(t, `^default-src 'none'; frame-ancestors 'none'; script-src 'sha256-[A-Za-z0-9+/]{43}='$`, done.header.Get("Content-Security-Policy"))
		require.Equal(t, "no-store", done.header.Get("Cache-Control"))
		require.Contains(t, strings.Join(done.header.Values("Set-Cookie"), "\n"), "holdpoint-oidc=; Path=/v1/oidc; Max-Age=0")
		me := a.get(t, "/v1/me", signedIn(done)).want(http.StatusOK)
		require.Equal(t, []any{"user:oidc:auth0:7cada:3a1", "operator", "session", []any{"people", "watchers"}}, []any{me.at("principal"), me.at("role"), me.at("via"), me.at("groups")})
		a.post(t, "/v1/tokens", `{"name":"x","role":"admin"}`, signedIn(done), sameOrigin()).refused(api.CodeForbidden)
		log := a.auditLog(t, ofRole(t, keyring, api.RoleAdmin))
		entry := log[slices.IndexFunc(log, func(e api.AuditEntry) bool { return e.Actor == "user:oidc:auth0:7cada:3a1" })]
		require.Contains(t, string(entry.Event), `"type":"signed_in","via":"oidc","by_token_id":"`+me.textAt("token_id")+`"`)

		// The previous address and cookie together are useless.
		a.get(t, back).refused(api.CodeSignInFailed)
		require.Contains(t, a.get(t, back, flow).refused(api.CodeSignInFailed).text, "invalid_grant")
	})
	t.Run("the answer to another sign-in", func(t *testing.T) {
		issuer.Is("mallory", "chiefs")
		_, theirs := a.begin(t, "/")
		mine, back := a.begin(t, "/")
		_, state, _ := strings.Cut(back, "state=")
		for _, path := range []string{
			theirs, "/v1/oidc/callback", "/v1/oidc/callback?state=x&code=y", strings.Replace(back, "state=", "state=x", 1), back + "&state=x",
			"/v1/oidc/callback?error=access_denied&state=" + state,
			"/v1/oidc/callback?state=" + state,
		} {
			require.Empty(t, a.get(t, path, mine).refused(api.CodeSignInFailed).header.Values("Set-Cookie")[1:], path)
		}
		old := base64.RawURLEncoding.EncodeToString([]byte("/"))
		for _, cookie := range []string{"", "x", "a.b.c.0." + old, "a.b.c.99999999999999." + old, "a.b.c.x." + old, "a.b.c.0.!"} {
			a.get(t, back, header("Cookie", "holdpoint-oidc="+cookie)).refused(api.CodeSignInFailed)
		}
	})
	t.Run("a sign-in that another replica began, whose clock is ahead", func(t *testing.T) {
		issuer.Is("ada", "people")
		begun := func(ahead time.Duration) (flow option, back string) {
			flow, back = a.begin(t, "/")
			parts := strings.Split(flow(&http.Request{Header: http.Header{}}).Header.Get("Cookie"), ".")
			require.Len(t, parts, 5)
			parts[3] = strconv.FormatInt(time.Now().Add(ahead).UnixMilli(), 10)
			return header("Cookie", strings.Join(parts, ".")), back
		}
		flow, back := begun(30 * time.Second)
		a.get(t, back, flow, fromIssuer).want(http.StatusOK)
		flow, back = begun(2 * time.Hour)
		a.get(t, back, flow, fromIssuer).refused(api.CodeSignInFailed)
	})
	t.Run("an open redirect", func(t *testing.T) {
		for _, wrong := range []string{"//evil.example", "https://evil.example", `/\evil.example`, `\/evil.example`, "/\t/evil.example", "evil", "javascript:alert(1)", "/a\r\nb", "///evil.example", "/" + strings.Repeat("x", 2048)} {
			a.get(t, "/v1/oidc/start?return_to="+url.QueryEscape(wrong), unchecked()).refused(api.CodeBadRequest)
		}
		a.get(t, "/v1/oidc/start?return_to=/&return_to=/", unchecked()).refused(api.CodeBadRequest)
		// Nor with a cookie that someone else planted.
		issuer.Is("ada", "people")
		flow, back := a.begin(t, "/")
		sent := flow(&http.Request{Header: http.Header{}}).Header.Get("Cookie")
		evil := sent[:strings.LastIndex(sent, ".")+1] + base64.RawURLEncoding.EncodeToString([]byte("//evil.example"))
		a.get(t, back, header("Cookie", evil)).refused(api.CodeSignInFailed)
	})
	t.Run("ID tokens that lie", func(t *testing.T) {
		now := time.Now().Unix()
		for name, change := range map[string]map[string]any{
			"audience": {"aud": "another"}, "issuer": {"iss": "https://evil.example"}, "expired": {"exp": now - 1}, "not yet": {"nbf": now + 3600}, "nobody": {"sub": ""},
			"issued in the future": {"iat": now + 3600}, "issued at no time": {"iat": nil}, "of a logout": {"events": map[string]any{"http://schemas.openid.net/event/backchannel-logout": map[string]any{}}},
			"an access token": {"typ": "Bearer"}, "made for nobody named": {"aud": []string{"another", oidctest.ClientID}},
		} {
			issuer.Is("ada", "chiefs")
			require.Equal(t, http.StatusUnauthorized, a.get(t, "/v1/me", bearer(issuer.IDToken(change))).status, name)
			issuer.Lies(func(claims map[string]any) {
				for claim, value := range change {
					claims[claim] = value
				}
			})
			flow, back := a.begin(t, "/")
			got := a.get(t, back, flow)
			require.NotEqual(t, http.StatusOK, got.status, name)
			require.Len(t, got.header.Values("Set-Cookie"), 1, name)
		}
		for name, lie := range map[string]map[string]any{"nonce": {"nonce": "x"}, "azp": {"azp": "another"}} {
			issuer.Is("ada", "chiefs")
			issuer.Lies(func(claims map[string]any) {
				for claim, value := range lie {
					claims[claim] = value
				}
			})
			flow, back := a.begin(t, "/")
			require.Contains(t, a.get(t, back, flow).refused(api.CodeSignInFailed).text, "another", name)
		}
		issuer.Is("ada", "chiefs")
		a.get(t, "/v1/me", bearer(issuer.IDToken(map[string]any{"azp": "another"}))).refused(api.CodeInvalidToken)
		for _, kind := range []string{"logout+jwt", "at+jwt", "application/at+jwt", "AT+JWT", "dpop+jwt"} {
			issuer.Types(kind)
			a.get(t, "/v1/me", bearer(issuer.IDToken(nil))).refused(api.CodeInvalidToken)
			flow, back := a.begin(t, "/")
			a.get(t, back, flow).refused(api.CodeSignInFailed)
		}
		for _, kind := range []string{"jwt", "application/jwt", "JWT"} {
			issuer.Types(kind)
			a.get(t, "/v1/me", bearer(issuer.IDToken(nil))).want(http.StatusOK)
		}
		issuer.Types("")
		good := issuer.IDToken(nil)
		a.get(t, "/v1/me", bearer(good)).want(http.StatusOK)
		parts := strings.Split(good, ".")
		none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`))
		hmac := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256"}`))
		elsewhere := oidctest.Start(t)
		elsewhere.Is("ada", "chiefs")
		for _, forged := range []string{
			none + "." + parts[1] + ".", none + "." + parts[1] + "." + parts[2], hmac + "." + parts[1] + "." + parts[2], parts[0] + "." + parts[1] + ".AAAA",
			elsewhere.IDToken(map[string]any{"iss": issuer.URL}), "..", "a.b.c",
		} {
			a.get(t, "/v1/me", bearer(forged)).refused(api.CodeInvalidToken)
		}
	})
	t.Run("a subject with the name of somebody else", func(t *testing.T) {
		token(t, keyring, api.CreateTokenBody{Name: "boss", Role: api.RoleOperator})
		for _, subject := range []string{"local", "boss"} {
			issuer.Is(subject, "people")
			require.Equal(t, "user:oidc:"+subject, a.get(t, "/v1/me", bearer(issuer.IDToken(nil))).want(http.StatusOK).at("principal"))
		}
	})
	t.Run("a flow that another host of the domain plants", func(t *testing.T) {
		provider, err := oidc.New(oidc.Options{
			Issuer: issuer.URL, ClientID: oidctest.ClientID, Now: time.Now, Roles: []string{"people=operator"}, ExternalURL: "https://holdpoint.example",
		})
		require.NoError(t, err)
		secured := serve(t, store, contract, func(o *httpapi.Options) { o.Keyring, o.OIDC = keyring, provider })
		secured.client.CheckRedirect = a.client.CheckRedirect
		_, set := secured.get(t, "/v1/oidc/start").want(http.StatusFound).cookieOf()
		// Browsers accept a cookie with this prefix only from the host itself.
		require.Equal(t, []any{"__Host-holdpoint-oidc", "/", "", true, true}, []any{set.Name, set.Path, set.Domain, set.Secure, set.HttpOnly})
	})
	t.Run("nobody without a group of ours", func(t *testing.T) {
		issuer.Is("eve", "not of ours")
		a.get(t, "/v1/me", bearer(issuer.IDToken(nil))).refused(api.CodeForbidden)
		flow, back := a.begin(t, "/")
		a.get(t, back, flow).refused(api.CodeForbidden)
		a.get(t, "/v1/me", bearer(issuer.IDToken(map[string]any{"groups": nil}))).refused(api.CodeForbidden)
		a.get(t, "/v1/me", bearer(issuer.IDToken(map[string]any{"groups": "people"}))).want(http.StatusOK)
	})
	t.Run("a machine", func(t *testing.T) {
		issuer.Is("ci", "bots")
		idToken := issuer.IDToken(map[string]any{"aud": []string{"another", oidctest.ClientID}, "azp": oidctest.ClientID})
		me := a.get(t, "/v1/me", bearer(idToken)).want(http.StatusOK)
		require.Equal(t, []any{"agent:oidc:ci", "agent", "oidc"}, []any{me.at("principal"), me.at("role"), me.at("via")})
		run := a.post(t, "/v1/runs", `{"input":1}`, bearer(idToken)).want(http.StatusAccepted).textAt("run_id")
		a.post(t, "/v1/runs/"+run+"/cancel", `{}`, bearer(idToken)).want(http.StatusOK)
		path := "/v1/runs/" + run + "/stream"
		a.get(t, path+"?ticket="+a.ticket(t, path, bearer(idToken))).want(http.StatusOK)
	})
	t.Run("revoked", func(t *testing.T) {
		admin := bearer(func() string { issuer.Is("chief", "chiefs"); return issuer.IDToken(nil) }())
		issuer.Is("mara", "people")
		before := issuer.IDToken(map[string]any{"iat": time.Now().Unix() - 10})
		flow, back := a.begin(t, "/")
		browser := signedIn(a.get(t, back, flow).want(http.StatusOK))
		tokenID := a.get(t, "/v1/me", bearer(before)).want(http.StatusOK).textAt("token_id")
		require.Equal(t, tokenID, a.get(t, "/v1/me", browser).want(http.StatusOK).at("token_id"), "one identity, however it is shown")
		shown := a.get(t, "/v1/tokens/"+tokenID, admin).want(http.StatusOK)
		require.Equal(t, []any{"oidc", "user:oidc:mara"}, []any{shown.at("created_by"), shown.at("principal")})
		a.post(t, "/v1/tokens/"+tokenID+"/rotate", `{}`, admin).refused(api.CodeTokenStateConflict)
		stale := a.ticket(t, "/v1/stream", bearer(before))
		a.do(t, http.MethodDelete, "/v1/tokens/"+tokenID, "", admin).want(http.StatusNoContent)
		a.get(t, "/v1/me", bearer(before)).refused(api.CodeInvalidToken)
		a.get(t, "/v1/me", browser).refused(api.CodeInvalidToken)
		a.get(t, "/v1/stream?ticket="+stale).refused(api.CodeInvalidToken)
		issuer.Lies(func(claims map[string]any) { claims["iat"] = time.Now().Unix() - 10 })
		flow, back = a.begin(t, "/")
		a.get(t, back, flow).refused(api.CodeSignInFailed)
		// A new sign-in at the issuer succeeds: people are locked out at the issuer.
		after := issuer.IDToken(nil)
		a.get(t, "/v1/me", bearer(after)).refused(api.CodeInvalidToken)
		issuer.Lies(func(claims map[string]any) { claims["iat"] = time.Now().Unix() + 2 })
		again := a.get(t, "/v1/me", bearer(issuer.IDToken(nil))).want(http.StatusOK)
		require.NotEqual(t, tokenID, again.at("token_id"))
		// An issuer's admin does not count as the last admin, and neither does its token.
		last, _ := token(t, keyring, api.CreateTokenBody{Name: "last", Role: api.RoleAdmin})
		a.do(t, http.MethodDelete, "/v1/tokens/"+last, "", admin).want(http.StatusNoContent)
	})
	t.Run("keys that rotate, and an issuer that is away", func(t *testing.T) {
		issuer.Is("ada", "people")
		browser, old := signIn(t, "people"), issuer.IDToken(nil)
		issuer.Rotate()
		fresh := issuer.IDToken(nil)
		// The earlier cases have had keys read. After this time two reads are allowed again.
		clock := time.Now().Add(5 * time.Second)
		stopped.Store(&clock)
		reads := issuer.KeyReads.Load()
		a.get(t, "/v1/me", bearer(fresh)).want(http.StatusOK)
		for range 50 {
			a.get(t, "/v1/me", bearer(old)).refused(api.CodeInvalidToken)
		}
		require.EqualValues(t, 2, issuer.KeyReads.Load()-reads, "made-up tokens do not have the keys read again")
		later := clock.Add(time.Second)
		stopped.Store(&later)
		for range 50 {
			a.get(t, "/v1/me", bearer(old)).refused(api.CodeInvalidToken)
		}
		require.EqualValues(t, 3, issuer.KeyReads.Load()-reads, "once a second")
		stopped.Store(nil)
		issuer.Down.Store(true)
		a.get(t, "/v1/me", bearer(fresh)).want(http.StatusOK)
		a.get(t, "/v1/me", browser).want(http.StatusOK)
		issuer.Down.Store(false)
		flow, back := a.begin(t, "/")
		issuer.Down.Store(true)
		a.get(t, back, flow).refused(api.CodeIssuerUnavailable)

		// A service starts while its issuer is away, and signs in once it is back.
		started, other := byIssuer(t, store, contract, issuer, store.(auth.Tokens))
		_, secret := token(t, other, api.CreateTokenBody{Name: "x", Role: api.RoleObserver})
		started.get(t, "/v1/me", bearer(secret)).want(http.StatusOK)
		started.get(t, "/v1/me", bearer(fresh)).refused(api.CodeIssuerUnavailable)
		require.NotEmpty(t, started.get(t, "/v1/oidc/start").refused(api.CodeIssuerUnavailable).header.Get("Retry-After"))
		issuer.Down.Store(false)
		require.Eventually(t, func() bool { return started.get(t, "/v1/me", bearer(fresh)).status == http.StatusOK }, patience, 50*time.Millisecond)
	})
	t.Run("other sites, a database that fails, and no issuer", func(t *testing.T) {
		for _, path := range []string{"/v1/oidc", "/v1/oidc/start", "/v1/oidc/callback"} {
			a.get(t, path, header("Origin", "https://evil.example")).refused(wire.CodeOriginNotAllowed)
		}
		broken, _ := byIssuer(t, store, contract, issuer, &brokenStore{err: errors.New("secret of the database")})
		issuer.Is("ada", "people")
		flow, back := broken.begin(t, "/")
		require.NotContains(t, broken.get(t, back, flow).refused(wire.CodeInternalError).text, "secret")
		without := serve(t, store, contract)
		require.Equal(t, "{}", without.get(t, "/v1/oidc").want(http.StatusOK).text)
		without.get(t, "/v1/oidc/start").refused(api.CodeNoIssuer)
		without.get(t, "/v1/oidc/callback").refused(api.CodeNoIssuer)
	})
}

// signedIn returns the headers of a page after a sign-in at the issuer.
func signedIn(r *reply) option {
	require.Len(r.t, r.header.Values("Set-Cookie"), 1, "the end of what it began")
	secret := regexp.MustCompile(`holdpoint_[0-9A-Za-z]{49}`).FindString(r.text)
	require.NotEmpty(r.t, secret)
	return header("Authorization", "Session "+secret)
}
