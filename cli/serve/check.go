package serve

import (
	"context"
	"net"
	"net/url"
	"strings"

	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/cli/database"
	"github.com/holdpoint/holdpoint/internal/loopback"
	"github.com/holdpoint/holdpoint/webhooks/egress"
)

// Check returns the error with which serve refuses these flags and this environment. It does not
// read files or databases.
func (c *Command) Check(terminal *console.Console) error {
	return (&service{Command: c}).parse(terminal)
}

// parse is [Command.Check], and keeps what it has parsed.
func (s *service) parse(terminal *console.Console) (err error) {
	if err := s.check(); err != nil {
		return err
	}
	if err := s.CheckURL(); err != nil {
		return err
	}
	if s.review, err = reviewHook(s.ReviewHook); err != nil {
		return err
	}
	if s.guard.Allow, err = egress.ParseAllow(s.WebhookAllow); err != nil {
		return console.Usage("--webhook-allow: %w", err)
	}
	s.callbacks.Flag = "--callback-allow"
	if s.callbacks.Allow, err = egress.ParseAllow(s.CallbackAllow); err != nil {
		return console.Usage("--callback-allow: %w", err)
	}
	if err := s.checkCertificates(); err != nil {
		return err
	}
	if err := database.CheckServiceKeys(terminal, s.SecretKeyFile); err != nil {
		return err
	}
	if _, _, err := s.collector(terminal); err != nil {
		return err
	}
	if s.AdminAddr != "" {
		if err := checkAdminAddress(s.AdminAddr); err != nil {
			return err
		}
	}
	return checkAddress(s.Listen, s.reachable())
}

// reachable reports whether the service may listen on addresses that other machines can
// reach.
func (c *Command) reachable() bool { return c.Auth != authNone || c.InsecureNoAuth }

// checkAddress validates the address of --listen. Unless reachable, it refuses addresses
// that other machines can reach.
func checkAddress(address string, reachable bool) error {
	if path, isPath := strings.CutPrefix(address, unixScheme); isPath {
		if path == "" {
			return console.Usage("--listen unix: names no path")
		}
		return nil
	}
	host, err := splitAddress(address)
	if err != nil {
		return console.Usage("--listen must be HOST:PORT or unix:PATH: %w", err)
	}
	if !reachable && !loopback.Is(host) {
		return refuse(address)
	}
	return nil
}

// checkAdminAddress validates the address of --admin-addr.
func checkAdminAddress(address string) error {
	if _, err := splitAddress(address); err != nil {
		return console.Usage("--admin-addr must be HOST:PORT: %w", err)
	}
	return nil
}

// splitAddress returns the host of an address, and an error unless its port exists.
func splitAddress(address string) (host string, err error) {
	host, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = net.DefaultResolver.LookupPort(context.Background(), "tcp", port) // of numbers and /etc/services
	}
	return host, err
}

// checkExternalURL validates the URL of --external-url, to which the paths of links are appended.
func checkExternalURL(text string) error {
	if text == "" {
		return nil
	}
	at, err := url.Parse(text)
	if err != nil || at.Scheme != "https" && at.Scheme != "http" || at.Hostname() == "" || at.User != nil || strings.ContainsAny(text, "?#") {
		return console.Usage("--external-url must be a URL such as https://holdpoint.example, without user, query and fragment")
	}
	return nil
}

// checkCertificates refuses invalid combinations of certificate flags.
func (c *Command) checkCertificates() error {
	switch {
	case (c.TLSCert == "") != (c.TLSKey == ""):
		return console.Usage("--tls-cert and --tls-key need each other")
	case c.TLSCert == "" && c.ClientCA != "":
		return console.Usage("--client-ca needs --tls-cert and --tls-key")
	}
	return nil
}
