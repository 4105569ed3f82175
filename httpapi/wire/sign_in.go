package wire

import (
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/internal/loopback"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// signedInCookie is the cookie of a signed-in browser. Browsers accept it only over TLS and for one
// host.
const signedInCookie = "__Host-holdpoint"

// sessionScheme is the Authorization scheme of a signed-in page on a loopback address. A cookie
// would be sent to every port of the address, where any program on the machine could read it.
const sessionScheme = "Session"

// SignedIn returns the sign-in secret of a browser's request, "" without one.
func SignedIn(r *http.Request) string {
	if len(r.Header["Authorization"]) > 0 {
		return credential(r.Header, sessionScheme)
	}
	if byLoopback(r) {
		return ""
	}
	if cookies := r.CookiesNamed(signedInCookie); len(cookies) > 0 {
		return cookies[0].Value
	}
	return ""
}

// CheckKeeps refuses a page loaded without TLS from another address, because its browser would drop the
// cookie. Call it before a sign-in is stored. Errors: origin_not_allowed.
func CheckKeeps(r *http.Request) error {
	if origin, err := url.Parse(r.Header.Get("Origin")); !byLoopback(r) && r.TLS == nil && err == nil && origin.Scheme == "http" {
		return refusal.New(CodeOriginNotAllowed, "signing in needs https, or a loopback address: "+
			"a browser keeps no cookie of %.200q", origin.String())
	}
	return nil
}

// SetSignedIn sends a browser its sign-in: as a cookie or, on a loopback address, as a secret for
// the page to keep, which is returned.
func SetSignedIn(w http.ResponseWriter, r *http.Request, value string) (kept string) {
	if byLoopback(r) {
		return value
	}
	setCookie(w, value, auth.SignInLifetimeMs/1000)
	return ""
}

// ClearSignedIn deletes the browser's cookie.
func ClearSignedIn(w http.ResponseWriter, r *http.Request) {
	if len(r.CookiesNamed(signedInCookie)) > 0 && !byLoopback(r) {
		setCookie(w, "", -1)
	}
}

func setCookie(w http.ResponseWriter, value string, maxAge int) {
	http.SetCookie(w, &http.Cookie{
		Name: signedInCookie, Value: value, Path: "/", MaxAge: maxAge,
		HttpOnly: true, Secure: true, SameSite: http.SameSiteStrictMode,
	})
}

// Secured reports whether a browser's page reaches the service over TLS.
func Secured(r *http.Request) bool { return r.TLS != nil || !byLoopback(r) }

// byLoopback reports whether the service was called by a name or address of this machine.
func byLoopback(r *http.Request) bool {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return loopback.Is(strings.Trim(host, "[]"))
}

// CheckSameOrigin refuses a change by another origin's page, for calls without a credential that a page
// would have to know: with a cookie, or from a form. Errors: origin_not_allowed.
func CheckSameOrigin(r *http.Request) error {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return nil
	}
	// Pages cannot set either header. A proxy may have rewritten the Host that the origin is
	// compared with.
	if site := r.Header["Sec-Fetch-Site"]; len(site) > 0 {
		if len(site) == 1 && site[0] == "same-origin" {
			return nil
		}
	} else if origins := r.Header["Origin"]; len(origins) == 1 && ownOrigin(origins[0], r) {
		return nil
	}
	return refusal.New(CodeOriginNotAllowed, "with a cookie or a form, only pages of the service itself may change anything: "+
		"the call has no Origin and Sec-Fetch-Site of the same origin")
}
