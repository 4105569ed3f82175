package wire

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Guard keeps web pages from calling a local service. A page can send requests to any
// address, but it cannot choose the Host that its browser sends, nor hide its Origin.
type Guard struct {
	// Hosts are the names, without a port, by which the service may be called besides
	// the loopback ones. "*" allows every name.
	Hosts []string
	// Origins are the web origins ("https://inbox.example") that may call besides
	// pages of the service itself.
	Origins []string
}

// Check returns host_not_allowed or origin_not_allowed, or nil.
func (g *Guard) Check(r *http.Request) error {
	if !g.hostAllowed(r.Host) {
		return refusal.New(CodeHostNotAllowed, "the service does not answer to the host name %.200q; allow it in the configuration", r.Host)
	}
	origins := r.Header["Origin"]
	if len(origins) == 0 {
		return nil
	}
	if len(origins) == 1 && g.originAllowed(origins[0], r.Host) {
		return nil
	}
	return refusal.New(CodeOriginNotAllowed, "the origin %.200q may not call this service", strings.Join(origins, ", "))
}

func (g *Guard) hostAllowed(hostPort string) bool {
	host := hostPort
	if strings.HasSuffix(hostPort, "]") || strings.Count(hostPort, ":") == 1 || strings.Contains(hostPort, "]:") {
		if name, _, err := net.SplitHostPort(hostPort); err == nil {
			host = name
		}
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if strings.EqualFold(host, "localhost") || strings.HasPrefix(host, "127.") && net.ParseIP(host) != nil || host == "::1" {
		return true
	}
	return slices.ContainsFunc(g.Hosts, func(allowed string) bool {
		return allowed == "*" || strings.EqualFold(allowed, host)
	})
}

func (g *Guard) originAllowed(origin, host string) bool {
	if slices.ContainsFunc(g.Origins, func(allowed string) bool { return strings.EqualFold(allowed, origin) }) {
		return true
	}
	parsed, err := url.Parse(origin)
	return err == nil && (parsed.Scheme == "http" || parsed.Scheme == "https") && strings.EqualFold(parsed.Host, host)
}
