package auth_test

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/auth"
)

// Two SPIFFE ids are never one agent: an escaped slash would be like a slash.
func TestASPIFFEIDIsOneAgent(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for id, principal := range map[string]string{
		"spiffe://example.org/team/coder": "agent:example.org:team:coder",
		"spiffe://example.org/coder":      "agent:example.org:coder",
		"spiffe://example.org/a//b":       "agent:example.org:a::b",
		// Refused.
		"spiffe://example.org": "", "spiffe://example.org/": "", "spiffe:///coder": "", "spiffe:coder": "",
		"spiffe://example.org/team%2Fcoder": "", "spiffe://example.org%2Fteam/coder": "", "spiffe://example.org/team/%63oder": "", "spiffe://example.org/team%2fcoder": "",
		"spiffe://example.org/team:coder": "", "spiffe://example.org/team%3Acoder": "", "spiffe://example.org/cod er": "", "spiffe://example.org/cod\u0435r": "",
		"spiffe://x@example.org/coder": "", "spiffe://example.org:443/coder": "", "spiffe://example.org/coder?x=1": "", "spiffe://example.org/coder#x": "",
	} {
		parsed, err := url.Parse(id)
		if err != nil {
			require.Empty(t, principal, id)
			continue
		}
		made, err := auth.OfCertificate(&x509.Certificate{Subject: pkix.Name{CommonName: "coder"}, URIs: []*url.URL{parsed}})
		if principal == "" {
			require.Error(t, err, id)
			continue
		}
		require.NoError(t, err, id)
		require.Equal(t, principal, made.Principal, id)
		require.Empty(t, seen[made.Principal], id)
		seen[made.Principal] = id
	}
}

// A common name never names the agent of a SPIFFE id, whose name always has a colon.
func TestACommonNameIsNotASPIFFEID(t *testing.T) {
	t.Parallel()
	for name, principal := range map[string]string{
		"coder": "agent:coder", "example.org": "agent:example.org", "ci@example.org": "agent:ci@example.org",
		// Refused.
		"example.org:team:coder": "", "user:ada": "", "agent:coder": "", ":": "", "coder:": "", "": "", "a b": "",
	} {
		made, err := auth.OfCertificate(&x509.Certificate{Subject: pkix.Name{CommonName: name}})
		if principal == "" {
			require.Error(t, err, name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, principal, made.Principal, name)
	}
}
