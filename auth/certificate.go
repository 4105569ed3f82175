package auth

import (
	"crypto/x509"
	"regexp"
	"strings"

	"github.com/holdpoint/holdpoint/api"
)

var (
	commonName = regexp.MustCompile(`^[A-Za-z0-9._@-]{1,200}$`)
	// spiffeName has a colon, so no common name is the name of a SPIFFE id.
	spiffeName = regexp.MustCompile(`^[A-Za-z0-9._@-]+:[A-Za-z0-9._:@-]+$`)
)

// OfCertificate returns the agent that a verified client certificate names. A single URI that is a
// SPIFFE id is used with colons for slashes ("spiffe://example.org/team/coder" is
// agent:example.org:team:coder); otherwise the common name is used ("coder" is agent:coder), which has no
// colon. The assertion expires with the certificate. Errors: invalid_token when the certificate names no
// agent.
func OfCertificate(certificate *x509.Certificate) (*Assertion, error) {
	name, subject, valid := certificate.Subject.CommonName, "CN="+certificate.Subject.CommonName, commonName
	for _, uri := range certificate.URIs {
		if uri.Scheme != "spiffe" {
			continue
		}
		// An escape in the path, which SPIFFE does not allow, would make one agent of two ids.
		if len(certificate.URIs) != 1 || uri.User != nil || uri.RawQuery != "" || uri.Fragment != "" || strings.Contains(uri.Path, ":") || uri.RawPath != "" || uri.Port() != "" {
			return nil, Invalid()
		}
		name, subject, valid = strings.ReplaceAll(uri.Host+uri.Path, "/", ":"), uri.String(), spiffeName
	}
	if !valid.MatchString(name) || len(name) > api.MaxIDLength {
		return nil, Invalid()
	}
	return &Assertion{
		By: ByCertificate, Subject: subject, Name: name, Principal: "agent:" + name, Role: api.RoleAgent,
		IssuedAtMs: certificate.NotBefore.UnixMilli(), ExpiresAtMs: certificate.NotAfter.UnixMilli(),
	}, nil
}
