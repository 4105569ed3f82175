package oidc

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/internal/loopback"
)

// Options configure a [Provider]. Issuer, ClientID and Roles are required.
type Options struct {
	// Issuer is the issuer's URL, exactly as its metadata has it.
	Issuer string
	// ClientID is the service's client id, and the required audience of ID tokens.
	ClientID     string
	ClientSecret string
	// Roles map groups to roles: "group=role".
	Roles []string
	// ExternalURL is the public base URL; empty: taken from the Host header.
	ExternalURL string
	// Now is the process's clock.
	Now    func() time.Time
	Logger *slog.Logger
}

// strength orders the roles, strongest last.
var strength = []api.Role{api.RoleObserver, api.RoleAgent, api.RoleOperator, api.RoleAdmin}

// rolesOf parses "group=role" texts.
func rolesOf(texts []string) (map[string]api.Role, error) {
	if len(texts) == 0 {
		return nil, errors.New("no group has a role, so no one could sign in")
	}
	roles := map[string]api.Role{}
	for _, text := range texts {
		at := strings.LastIndex(text, "=")
		if at < 1 || !slices.Contains(strength, api.Role(text[at+1:])) {
			return nil, fmt.Errorf("%q is not GROUP=ROLE with one of the roles observer, agent, operator and admin", text)
		}
		if _, twice := roles[text[:at]]; twice {
			return nil, fmt.Errorf("the group %q is given twice", text[:at])
		}
		roles[text[:at]] = api.Role(text[at+1:])
	}
	return roles, nil
}

// checkURL refuses a URL that is not https, or http on a loopback address.
func checkURL(what, text string) (*url.URL, error) {
	at, err := url.Parse(text)
	switch {
	case err != nil || at.User != nil: // its text may have a password
		return nil, fmt.Errorf("%s must be an https URL without user, query and fragment", what)
	case at.Host == "" || at.RawQuery != "" || at.Fragment != "" || at.Scheme != "https" && at.Scheme != "http":
		return nil, fmt.Errorf("%s %q must be an https URL without user, query and fragment", what, text)
	case at.Scheme == "http" && !loopback.Is(at.Hostname()):
		return nil, fmt.Errorf("%s %q must be https: http is allowed only for a loopback address", what, text)
	}
	return at, nil
}

// checkAddress is checkURL for URLs in the issuer's metadata, which may have a query.
func checkAddress(what, text string) error {
	bare, _, _ := strings.Cut(text, "?")
	_, err := checkURL(what, bare)
	return err
}

// assertion returns the identity in an ID token's claims, or nil when none of its groups has a
// role.
func (p *Provider) assertion(c *claims) (*auth.Assertion, error) {
	role := api.Role("")
	var groups []string
	for _, group := range c.groups {
		if mapped, found := p.roles[group]; found && slices.Index(strength, mapped) > slices.Index(strength, role) {
			role = mapped
		}
		if auth.ValidPrincipal("user:"+group) && len(groups) < api.MaxTokenGroups {
			groups = append(groups, group)
		}
	}
	if role == "" {
		return nil, nil
	}
	kind := "user:"
	if role == api.RoleAgent {
		kind = "agent:"
	}
	principal := kind + subjectPrefix + subjectName(c.Subject)
	if c.Subject == "" || !auth.ValidPrincipal(principal) {
		return nil, errors.New("the subject is empty or too long")
	}
	return &auth.Assertion{
		By: auth.ByIssuer, Subject: p.options.Issuer + " " + c.Subject, Name: principal, Principal: principal, Role: role, Groups: groups,
		IssuedAtMs: c.IssuedAt.UnixMilli(), ExpiresAtMs: c.Expiry.UnixMilli(),
	}, nil
}

// subjectPrefix separates an issuer's subjects from token names and from the local user of a
// service without credentials. A user who can choose a subject cannot impersonate them.
const subjectPrefix = "oidc:"

// subjectName encodes a subject in the alphabet of principals: a colon and every byte outside of it
// become a colon and two hexadecimal digits, so names are unique.
func subjectName(subject string) string {
	var name strings.Builder
	for _, c := range []byte(subject) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '_', c == '-', c == '@':
			name.WriteByte(c)
		default:
			fmt.Fprintf(&name, ":%02x", c)
		}
	}
	return name.String()
}

// defaultClient is the HTTP client for calls to the issuer.
func defaultClient(transport http.RoundTripper) *http.Client {
	return &http.Client{Timeout: askTimeout, Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return errors.New("the issuer must not redirect")
	}}
}
