package oidc

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Paths of the flow. The issuer redirects to CallbackPath.
const (
	StartPath    = "/v1/oidc/start"
	CallbackPath = "/v1/oidc/callback"
)

// Cookies that hold a flow in the browser that started it.
const (
	// Browsers accept a __Host- cookie only from the host itself. Otherwise another host of the
	// domain could plant one, and a person would be signed in as the user who started that flow.
	secureFlowCookie   = "__Host-holdpoint-oidc"
	loopbackFlowCookie = "holdpoint-oidc"
	flowCookiePath     = "/v1/oidc"
	flowLifetime       = 10 * time.Minute
)

// maxReturnTo is the maximum length of the path to return to, in bytes.
const maxReturnTo = 2048

// flow is a started sign-in, stored in the browser. It has only the hash of the state, because on a
// loopback address the cookie is sent to every port.
type flow struct {
	stateHash, nonce, verifier, returnTo string
	begunMs                              int64
}

// pageState matches a state chosen by a page of the service, which recognizes its own sign-in by
// it.
var pageState = regexp.MustCompile(`^[0-9A-Za-z_-]{43,128}$`)

func hashed(state string) string {
	sum := sha256.Sum256([]byte(state))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// Start redirects a browser to the issuer. Errors: bad_request for a return_to that is not a path
// of the service; issuer_unavailable.
func (p *Provider) Start(w http.ResponseWriter, r *http.Request) error {
	returnTo, err := returnPath(r.URL.Query()["return_to"])
	if err != nil {
		return err
	}
	known, err := p.discover(r.Context())
	if err != nil {
		return err
	}
	state := oauth2.GenerateVerifier()
	if own := r.URL.Query().Get("state"); pageState.MatchString(own) {
		state = own
	}
	f := flow{stateHash: hashed(state), nonce: oauth2.GenerateVerifier(), verifier: oauth2.GenerateVerifier(), returnTo: returnTo, begunMs: p.options.Now().UnixMilli()}
	p.setFlow(w, r, f.text(), int(flowLifetime/time.Second))
	to := p.config(known, r).AuthCodeURL(state, oidc.Nonce(f.nonce), oauth2.S256ChallengeOption(f.verifier))
	w.Header().Set("Referrer-Policy", "no-referrer")
	http.Redirect(w, r, to, http.StatusFound)
	return nil
}

// Callback completes the browser's flow and returns the identity and the path to return to. Errors:
// sign_in_failed; forbidden and issuer_unavailable, as [Provider.Identify].
func (p *Provider) Callback(w http.ResponseWriter, r *http.Request) (who *auth.Assertion, returnTo string, err error) {
	query := r.URL.Query()
	f, found := p.flowOf(r)
	p.setFlow(w, r, "", -1)
	switch {
	case !found:
		return nil, "", failed("this browser has begun no sign-in, or more than 10 minutes ago: begin again at %s", StartPath)
	case len(query["state"]) != 1 || !same(hashed(query.Get("state")), f.stateHash):
		return nil, "", failed("this is the answer to another sign-in than this browser began last: begin again at %s", StartPath)
	case query.Has("error"):
		return nil, "", failed("the issuer %s refused: %.200q", p.Name(), query.Get("error"))
	case len(query["code"]) != 1:
		return nil, "", failed("the issuer %s sent no code", p.Name())
	}
	known, err := p.discover(r.Context())
	if err != nil {
		return nil, "", err
	}
	asking, cancel := context.WithTimeout(oidc.ClientContext(r.Context(), p.client), askTimeout)
	defer cancel()
	tokens, err := p.config(known, r).Exchange(asking, query.Get("code"), oauth2.VerifierOption(f.verifier))
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok && refused.Response.StatusCode < http.StatusInternalServerError {
		return nil, "", failed("the issuer %s did not take the code: %.200q", p.Name(), refused.ErrorCode)
	}
	if err != nil {
		return nil, "", p.away(r.Context(), "token", errors.New("the code was not exchanged")) // the library's error may contain the response
	}
	raw, _ := tokens.Extra("id_token").(string)
	if raw == "" {
		return nil, "", failed("the issuer %s sent no ID token", p.Name())
	}
	c, err := p.verify(r.Context(), raw)
	switch {
	case refusal.CodeOf(err) == api.CodeInvalidToken:
		return nil, "", failed("the ID token of the issuer %s does not verify: the log says why", p.Name())
	case err != nil:
		return nil, "", err
	case !same(c.Nonce, f.nonce):
		return nil, "", failed("the ID token of the issuer %s is of another sign-in", p.Name())
	case c.foreign(p.options.ClientID):
		return nil, "", failed("the ID token of the issuer %s was made for another program", p.Name())
	}
	who, err = p.identify(r.Context(), c)
	if refusal.CodeOf(err) == api.CodeInvalidToken {
		err = failed("the ID token of the issuer %s has a subject that is empty or too long", p.Name())
	}
	return who, f.returnTo, err
}

func failed(format string, args ...any) error {
	return refusal.New(api.CodeSignInFailed, format, args...)
}

// config returns the configuration of the flow.
func (p *Provider) config(known *discovered, r *http.Request) *oauth2.Config {
	external := p.options.ExternalURL
	if external == "" {
		external = "https://" + r.Host
		if !wire.Secured(r) {
			external = "http://" + r.Host
		}
	}
	return &oauth2.Config{
		ClientID: p.options.ClientID, ClientSecret: p.options.ClientSecret, Endpoint: known.endpoint,
		RedirectURL: external + CallbackPath, Scopes: known.scopes,
	}
}

// secure reports whether cookies can be Secure.
func (p *Provider) secure(r *http.Request) bool {
	if p.options.ExternalURL != "" {
		return strings.HasPrefix(p.options.ExternalURL, "https:")
	}
	return wire.Secured(r)
}

func (p *Provider) setFlow(w http.ResponseWriter, r *http.Request, value string, maxAge int) {
	cookie := &http.Cookie{
		Name: loopbackFlowCookie, Value: value, Path: flowCookiePath, MaxAge: maxAge,
		// The redirect comes from the issuer, which a Strict cookie would not survive.
		HttpOnly: true, Secure: p.secure(r), SameSite: http.SameSiteLaxMode,
	}
	if cookie.Secure {
		cookie.Name, cookie.Path = secureFlowCookie, "/"
	}
	http.SetCookie(w, cookie)
}

func (p *Provider) flowOf(r *http.Request) (f flow, found bool) {
	name := loopbackFlowCookie
	if p.secure(r) {
		name = secureFlowCookie
	}
	cookies := r.CookiesNamed(name)
	if len(cookies) != 1 {
		return flow{}, false
	}
	parts := strings.Split(cookies[0].Value, ".")
	if len(parts) != 5 {
		return flow{}, false
	}
	begunMs, err := strconv.ParseInt(parts[3], 10, 64)
	age := p.options.Now().UnixMilli() - begunMs
	path, bad := base64.RawURLEncoding.DecodeString(parts[4])
	if err != nil || bad != nil || age < -maxSkew.Milliseconds() || age > flowLifetime.Milliseconds() || parts[0] == "" || parts[1] == "" || parts[2] == "" {
		return flow{}, false
	}
	returnTo, err := returnPath([]string{string(path)}) // the cookie may be forged
	return flow{parts[0], parts[1], parts[2], returnTo, begunMs}, err == nil
}

func (f *flow) text() string {
	return strings.Join([]string{f.stateHash, f.nonce, f.verifier, strconv.FormatInt(f.begunMs, 10), base64.RawURLEncoding.EncodeToString([]byte(f.returnTo))}, ".")
}

// returnPath returns the path to return to, "/" without one. Errors: bad_request when it is not a
// path of the service. Browsers treat "//host", "/\host" and a tab in between as another host.
func returnPath(given []string) (string, error) {
	if len(given) == 0 || len(given) == 1 && given[0] == "" {
		return "/", nil
	}
	path := given[0]
	at, err := url.Parse(path)
	plain := !strings.ContainsFunc(path, func(c rune) bool { return c <= ' ' || c == '\\' || c >= 0x7f })
	if err != nil || len(given) > 1 || !plain || len(path) > maxReturnTo || at.Scheme != "" || at.Host != "" || at.User != nil ||
		!strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") {
		return "", refusal.New(api.CodeBadRequest, "return_to must be a path of this service")
	}
	return path, nil
}

// onward goes to a path from a page of the service. After a redirect from the issuer, the browser
// would not send a Strict cookie.
const onward = `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=%[1]s"><title>Signed in · holdpoint</title>
<p>Signed in. <a href="%[1]s">Go on</a></p>
</html>
`

// onwardKeeping stores the sign-in for this origin's pages, but only in the tab that started it.
// Otherwise another site could sign a person in as a different user. The page tells its other tabs.
const onwardKeeping = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Signed in · holdpoint</title>
<p>This sign-in was not begun in this tab. <a href="/login">Sign in</a></p>
<script>
const [session, state, to] = %s;
if (sessionStorage.getItem("signingIn") === state) {
  sessionStorage.removeItem("signingIn");
  localStorage.removeItem("holdpoint.session");
  try {
    localStorage.setItem("holdpoint.session", session);
    sessionStorage.setItem("signedIn", "yes");
    location.replace(to);
  } catch {
    document.querySelector("p").firstChild.data = "Your browser has no room left to remember the sign-in. Delete the stored data of this address in the browser's settings. ";
  }
}
</script>
</html>
`

// Onward answers with a page that goes to a path of the service. The page stores a sign-in that is
// not in a cookie.
func Onward(w http.ResponseWriter, r *http.Request, returnTo, session string) error {
	header, policy := w.Header(), "default-src 'none'; frame-ancestors 'none'"
	text := fmt.Sprintf(onward, html.EscapeString(returnTo))
	if session != "" {
		values, err := json.Marshal([]string{session, r.URL.Query().Get("state"), returnTo}) // escapes a text that would end the script
		if err != nil {
			return err
		}
		text = fmt.Sprintf(onwardKeeping, values)
		_, script, _ := strings.Cut(text, "<script>")
		script, _, _ = strings.Cut(script, "</script>")
		sum := sha256.Sum256([]byte(script))
		policy += "; script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Security-Policy", policy)
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	_, err := io.WriteString(w, text)
	_ = err // the browser may have disconnected
	return nil
}
