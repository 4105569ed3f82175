package serve

import (
	"net/netip"
	"net/url"
	"strings"

	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/httpapi/wire"
)

// checkAllowed refuses hosts and origins that no request can have and that would be
// silently ignored.
func checkAllowed(hosts, origins []string) error {
	for _, host := range hosts {
		_, err := netip.ParseAddr(host)
		if host != "*" && err != nil && (host == "" || strings.ContainsAny(host, "/:@?#[]* \t")) {
			return console.Usage("--allowed-host %q: a host is a name, without a scheme, a port and a path", host)
		}
	}
	for _, origin := range origins {
		parsed, err := url.Parse(origin)
		switch {
		case origin == wire.AnyOrigin:
		case err != nil || parsed.Scheme == "" || parsed.Host == "":
			return console.Usage("--allowed-origin %q: an origin is a scheme and a host, and a port where it is not the usual one: https://inbox.example", origin)
		case origin != parsed.Scheme+"://"+parsed.Host:
			return console.Usage("--allowed-origin %q: an origin has no path, and nothing behind its host and port: %s://%s", origin, parsed.Scheme, parsed.Host)
		case parsed.Scheme == "https" && parsed.Port() == "443", parsed.Scheme == "http" && parsed.Port() == "80":
			return console.Usage("--allowed-origin %q: browsers leave the usual port out: %s://%s", origin, parsed.Scheme, parsed.Hostname())
		}
	}
	return nil
}
