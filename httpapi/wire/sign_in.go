package wire

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// The names of the cookie. A browser takes the first over TLS alone, and for one host; the second
// is for a loopback address without TLS.
const (
	secureCookie   = "__Host-holdpoint"
	loopbackCookie = "holdpoint"
)

// SignedInCookie returns the cookie by which a browser shows that it is signed in, "" when it
// shows none.
func SignedInCookie(r *http.Request) string {
	for _, name := range []string{secureCookie, loopbackCookie} {
		if name == loopbackCookie && !byLoopback(r) {
			break
		}
		if cookies := r.CookiesNamed(name); len(cookies) > 0 {
			return cookies[0].Value
		}
	}
	return ""
}

// SetSignedIn hands a browser its cookie. Errors: origin_not_allowed to a page that was loaded
// without TLS from other than a loopback address: its browser would not keep the cookie.
func SetSignedIn(w http.ResponseWriter, r *http.Request, value string) error {
	secure, err := secured(r)
	if err != nil {
		return err
	}
	setCookie(w, secure, value, auth.SignInLifetimeMs/1000)
	return nil
}

// ClearSignedIn takes the cookie from a browser.
func ClearSignedIn(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Cookie") == "" {
		return
	}
	setCookie(w, true, "", -1)
	if byLoopback(r) {
		setCookie(w, false, "", -1)
	}
}

func setCookie(w http.ResponseWriter, secure bool, value string, maxAge int) {
	cookie := &http.Cookie{
		Name: loopbackCookie, Value: value, Path: "/", MaxAge: maxAge,
		HttpOnly: true, Secure: secure, SameSite: http.SameSiteStrictMode,
	}
	if secure {
		cookie.Name = secureCookie
	}
	http.SetCookie(w, cookie)
}

// secured reports whether a browser reaches the service over TLS, which it may end before.
func secured(r *http.Request) (bool, error) {
	origin, err := url.Parse(r.Header.Get("Origin"))
	switch {
	case r.TLS != nil || err == nil && origin.Scheme == "https":
		return true, nil
	case byLoopback(r):
		return false, nil
	case err == nil && origin.Scheme == "http":
		return false, refusal.New(CodeOriginNotAllowed, "signing in takes https, or a loopback address: "+
			"a browser keeps no cookie of %.200q", origin.String())
	}
	return true, nil
}

// Secured reports whether a browser that opens a page reaches the service over TLS.
func Secured(r *http.Request) bool { return r.TLS != nil || !byLoopback(r) }

// byLoopback reports whether the service was called by a name or address of this machine.
func byLoopback(r *http.Request) bool {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	address, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && address.IsLoopback() || strings.EqualFold(host, "localhost")
}

// checkSameOrigin refuses a change that a browser makes with its cookie for another page than one
// of the service. Errors: origin_not_allowed.
func checkSameOrigin(r *http.Request) error {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return nil
	}
	// No page chooses either. A proxy may have rewritten the host that the origin is compared with.
	if site := r.Header["Sec-Fetch-Site"]; len(site) > 0 {
		if len(site) == 1 && site[0] == "same-origin" {
			return nil
		}
	} else if origins := r.Header["Origin"]; len(origins) == 1 && ownOrigin(origins[0], r) {
		return nil
	}
	return refusal.New(CodeOriginNotAllowed, "with a cookie, only pages of the service itself may change anything: "+
		"the call has no Origin and Sec-Fetch-Site of the same origin")
}
