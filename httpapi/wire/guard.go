package wire

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/rs/cors"

	"github.com/holdpoint/holdpoint/runs/refusal"
)

// AnyOrigin in Guard.Origins lets pages of every origin call, without credentials.
const AnyOrigin = "*"

// Guard keeps web pages of other origins from calling a local service. A page can send requests to
// any address, but it cannot choose its browser's Host header or hide its Origin.
type Guard struct {
	// Hosts are the accepted host names without a port, in addition to localhost and IP addresses.
	// "*" accepts every name.
	Hosts []string
	// Origins are the web origins ("https://inbox.example") whose pages may call and read the
	// replies, in addition to the service's own. See [AnyOrigin].
	Origins []string
	// AnySite are paths that pages of every site may load without an Origin.
	AnySite []string
	// Page reports whether a request is for a web page, which other sites may link to; nil when
	// there are none.
	Page func(*http.Request) bool
}

// opens reports whether a browser navigates to a page, whose content no script of another site can
// read.
func (g *Guard) opens(r *http.Request) bool {
	return g.Page != nil && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document" && g.Page(r)
}

// Check returns host_not_allowed or origin_not_allowed, or nil.
func (g *Guard) Check(r *http.Request) error {
	if !g.hostAllowed(r.Host) {
		return refusal.New(CodeHostNotAllowed, "the service does not accept the host name %.200q: "+
			"start it with --allowed-host and this name, or, behind a proxy, have the proxy pass on the Host of the caller", r.Host)
	}
	origins := r.Header["Origin"]
	switch {
	case len(origins) == 0 && r.Header.Get("Sec-Fetch-Site") == "cross-site" && !slices.Contains(g.AnySite, r.URL.Path) && !g.opens(r):
		return refusal.New(CodeOriginNotAllowed, "a web page of another site may not call this service without an Origin, "+
			"not even to read; open the address by itself, or call it by fetch from an origin that --allowed-origin names")
	case len(origins) == 0 && r.Header.Get("Sec-Fetch-Site") == "same-site" && !reads(r):
		return refusal.New(CodeOriginNotAllowed, "a web page of another port or host of this site may not change anything here without an Origin")
	case len(origins) == 0 || len(origins) == 1 && (g.shares(origins[0]) || ownOrigin(origins[0], r) || withheld(origins[0], r)):
		return nil
	}
	return refusal.New(CodeOriginNotAllowed, "the origin %.200q may not call this service, which was called as %.200q: "+
		"start it with --allowed-origin and this origin, or, behind a proxy of this very origin, have the proxy pass on the Host of the caller",
		strings.Join(origins, ", "), r.Host)
}

func (g *Guard) hostAllowed(hostPort string) bool {
	host := hostPort
	if strings.HasSuffix(hostPort, "]") || strings.Count(hostPort, ":") == 1 || strings.Contains(hostPort, "]:") {
		if name, _, err := net.SplitHostPort(hostPort); err == nil {
			host = name
		}
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	// DNS rebinding reaches the service under a domain name, never under an IP address.
	if _, err := netip.ParseAddr(host); err == nil || strings.EqualFold(host, "localhost") {
		return true
	}
	return slices.ContainsFunc(g.Hosts, func(allowed string) bool {
		return allowed == "*" || strings.EqualFold(allowed, host)
	})
}

// names reports whether an origin is listed by name.
func (g *Guard) names(origin string) bool {
	return slices.ContainsFunc(g.Origins, func(allowed string) bool { return allowed != AnyOrigin && strings.EqualFold(allowed, origin) })
}

// shares reports whether pages of an origin may call and read the replies.
func (g *Guard) shares(origin string) bool {
	return g.names(origin) || slices.Contains(g.Origins, AnyOrigin)
}

// reads reports whether the method is read-only.
func reads(r *http.Request) bool {
	return r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions
}

// ownOrigin reports whether an origin is the service's own for this request. A service that
// terminates TLS has no http pages. Behind a proxy it cannot know the scheme of its pages.
func ownOrigin(origin string, r *http.Request) bool {
	parsed, err := url.Parse(origin)
	own := err == nil && (parsed.Scheme == "https" || parsed.Scheme == "http" && r.TLS == nil)
	return own && strings.EqualFold(parsed.Host, r.Host)
}

// withheld reports whether a browser withholds the origin of a page of the service itself, as it does for
// a form on a page with the referrer policy no-referrer.
func withheld(origin string, r *http.Request) bool {
	return origin == "null" && slices.Equal(r.Header["Sec-Fetch-Site"], []string{"same-origin"})
}

// Methods and headers that pages of allowed origins may use: the ones in openapi.yaml, and headers
// added by browsers and authenticating proxies.
var (
	sharedMethods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}
	sentHeaders   = []string{
		"Accept", "Authorization", "Cache-Control", "Content-Type", "Idempotency-Key",
		"Last-Event-ID", "Prefer", ActorHeader, ViaHeader, RequestIDHeader,
	}
	readHeaders = []string{
		"Idempotency-Replayed", "Link", "Location", "Preference-Applied", "RateLimit", "RateLimit-Policy", "Retry-After",
		"WWW-Authenticate", "Warning", RequestIDHeader,
		// Of the dialects: the run of a reply, and the request that a call without an id decided.
		"X-Run-Id", "X-Approval-Id", "X-Clarify-Id",
	}
)

// preflightSeconds is how long browsers may cache a preflight's result.
const preflightSeconds = 600

var (
	sameOriginOnly = []string{"same-origin"}
	crossOrigin    = []string{"cross-origin"}
)

// share sets the CORS headers and Cross-Origin-Resource-Policy of a reply. It passes preflights to
// next, too.
func (g *Guard) share(next http.Handler) http.Handler {
	options := cors.Options{
		AllowedMethods: sharedMethods, AllowedHeaders: sentHeaders, ExposedHeaders: readHeaders,
		MaxAge: preflightSeconds, OptionsPassthrough: true,
	}
	anyone := options
	anyone.AllowedOrigins = []string{AnyOrigin}
	forAnyone := cors.New(anyone).Handler(next)
	options.AllowOriginFunc, options.AllowCredentials = g.names, true
	forNamed := cors.New(options).Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origins := r.Header["Origin"]
		policy, handler := sameOriginOnly, forNamed
		if len(origins) == 1 && g.shares(origins[0]) {
			policy = crossOrigin
			if !g.names(origins[0]) {
				handler = forAnyone
			}
		}
		w.Header()["Cross-Origin-Resource-Policy"] = policy
		handler.ServeHTTP(w, r)
	})
}

func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Origin") != "" && r.Header.Get("Access-Control-Request-Method") != ""
}
