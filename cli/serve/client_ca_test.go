package serve

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/httpapi"
	assembly "github.com/holdpoint/holdpoint/internal/service"
	"github.com/holdpoint/holdpoint/runs/claims"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/runs/watch"
	"github.com/holdpoint/holdpoint/store/sqlite"
)

// authority signs client certificates.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "agents"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<33, 0),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	certificate, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return &authority{certificate, key}
}

func (a *authority) write(t *testing.T, path string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.certificate.Raw}), 0o600))
}

// issue returns a client certificate, modified by change.
func (a *authority) issue(t *testing.T, change func(*x509.Certificate)) *tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "coder"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	if change != nil {
		change(template)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
	require.NoError(t, err)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// Client certificates require credentials, unless the service is told to need none. Unlike an issuer, they make no
// admins, so the last admin's token stays.
func TestClientCertificatesLeaveAnAdmin(t *testing.T) {
	t.Parallel()
	store, err := sqlite.Open(t.Context(), sqlite.Memory, sqlite.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	keyring := func(mode string) *auth.Keyring {
		return auth.NewKeyring((&service{Command: &Command{ClientCA: "ca.pem", Auth: mode}}).keys(store, assembly.NowMs))
	}
	for mode, want := range map[string]bool{"auto": false, "required": false, authNone: true} {
		open, err := keyring(mode).Open(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, open, mode)
	}
	keys := keyring("auto")
	require.False(t, keys.Strangers(), "certificates admit nobody who decides")
	admin, _, err := keys.Create(t.Context(), &api.CreateTokenBody{Name: "only", Role: api.RoleAdmin}, "user:test", "")
	require.NoError(t, err)
	require.Equal(t, api.CodeLastAdminToken, refusal.CodeOf(keys.Revoke(t.Context(), admin.Token.TokenID, true)))
}

// TestAClientCertificateMakesAnAgent calls a real listener with all kinds of certificates.
func TestAClientCertificateMakesAnAgent(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	command := &Command{ClientCA: filepath.Join(directory, "ca.pem")}
	require.ErrorContains(t, command.checkCertificates(), "--client-ca needs --tls-cert")
	command.TLSCert, command.TLSKey = filepath.Join(directory, "cert.pem"), filepath.Join(directory, "key.pem")
	writeCertificate(t, command.TLSCert, command.TLSKey, 1)
	_, err := command.certificates()
	require.ErrorContains(t, err, "--client-ca")
	require.NoError(t, os.WriteFile(command.ClientCA, []byte("none"), 0o600))
	_, err = command.certificates()
	require.ErrorContains(t, err, "has no certificate")
	ours, others := newAuthority(t), newAuthority(t)
	ours.write(t, command.ClientCA)
	files, err := command.certificates()
	require.NoError(t, err)

	store, err := sqlite.Open(t.Context(), sqlite.Memory, sqlite.Options{})
	require.NoError(t, err)
	hub := watch.NewHub()
	// The keyring's clock is half an hour behind, so a certificate can be issued after a revocation
	// and be valid.
	keyring := auth.NewKeyring((&service{Command: command}).keys(store, func() int64 { return time.Now().Add(-30 * time.Minute).UnixMilli() }))
	service := httpapi.New(httpapi.Options{
		Store: store, Hub: hub, Claims: claims.New(store, claims.Options{}), ClientCertificates: true, Keyring: keyring,
	})
	server := httptest.NewUnstartedServer(service.Handler())
	server.TLS = files.config()
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	server.StartTLS()
	t.Cleanup(func() {
		server.Close()
		require.NoError(t, store.Close())
	})
	// call makes a call on a new connection and returns the status and the body; 0 if TLS
	// failed.
	call := func(certificate *tls.Certificate, method, path string, header ...string) (int, string) {
		config := &tls.Config{InsecureSkipVerify: true}
		if certificate != nil {
			// Send it regardless of the CAs that the server asks for.
			config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return certificate, nil }
		}
		transport := &http.Transport{TLSClientConfig: config}
		defer transport.CloseIdleConnections()
		request, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, strings.NewReader("{}"))
		require.NoError(t, err)
		request.Header.Set("Content-Type", "application/json")
		for i := 0; i < len(header); i += 2 {
			request.Header.Set(header[i], header[i+1])
		}
		response, err := (&http.Client{Transport: transport}).Do(request)
		if err != nil {
			return 0, err.Error()
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return response.StatusCode, string(text)
	}

	good := ours.issue(t, nil)
	status, text := call(good, http.MethodGet, "/v1/me")
	require.Equal(t, http.StatusOK, status, text)
	require.Contains(t, text, `"principal":"agent:coder"`)
	require.Contains(t, text, `"role":"agent"`)
	require.Contains(t, text, `"via":"certificate"`)
	spiffe := ours.issue(t, func(c *x509.Certificate) {
		c.URIs = []*url.URL{{Scheme: "spiffe", Host: "example.org", Path: "/team/coder"}}
	})
	_, text = call(spiffe, http.MethodGet, "/v1/me")
	require.Contains(t, text, `"principal":"agent:example.org:team:coder"`)

	// It is an agent without further rights.
	status, _ = call(good, http.MethodPost, "/v1/sessions")
	require.Equal(t, http.StatusCreated, status)
	status, text = call(good, http.MethodPost, "/v1/tokens")
	require.Equal(t, http.StatusForbidden, status, text)
	status, _ = call(good, http.MethodPost, "/v1/sessions/x/approvals")
	require.Equal(t, http.StatusForbidden, status)
	// Requests by web pages, for which the browser sends the certificate, are refused.
	status, text = call(good, http.MethodPost, "/v1/sessions", "Sec-Fetch-Site", "same-site")
	require.Equal(t, http.StatusForbidden, status, text)
	// It does not make up for another, invalid credential.
	status, _ = call(good, http.MethodGet, "/v1/me", "Authorization", "Bearer holdpoint_x")
	require.Equal(t, http.StatusUnauthorized, status)

	// Without a certificate, tokens still work.
	status, text = call(nil, http.MethodGet, "/v1/me")
	require.Equal(t, http.StatusUnauthorized, status, text)
	for name, bad := range map[string]*tls.Certificate{
		"another authority": others.issue(t, nil),
		"expired":           ours.issue(t, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }),
		"not yet":           ours.issue(t, func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Minute) }),
		"of a server":       ours.issue(t, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} }),
	} {
		status, text := call(bad, http.MethodGet, "/v1/me")
		require.Zero(t, status, "%s: %s", name, text)
	}
	for name, change := range map[string]func(*x509.Certificate){
		"nobody":   func(c *x509.Certificate) { c.Subject.CommonName = "" },
		"a space":  func(c *x509.Certificate) { c.Subject.CommonName = "a b" },
		"too long": func(c *x509.Certificate) { c.Subject.CommonName = strings.Repeat("a", 201) },
		"two URIs": func(c *x509.Certificate) {
			c.URIs = []*url.URL{{Scheme: "spiffe", Host: "a", Path: "/b"}, {Scheme: "spiffe", Host: "a", Path: "/c"}}
		},
		"a colon in the common name": func(c *x509.Certificate) { c.Subject.CommonName = "example.org:team:coder" },
		"a colon":                    func(c *x509.Certificate) { c.URIs = []*url.URL{{Scheme: "spiffe", Host: "a", Path: "/b:c"}} },
	} {
		status, text := call(ours.issue(t, change), http.MethodGet, "/v1/me")
		require.Equal(t, http.StatusUnauthorized, status, "%s: %s", name, text)
	}

	// An admin revokes the identity like a token. A certificate issued later works, and the earlier
	// one does not, even if they expire together.
	until := time.Now().Add(time.Hour)
	issued := func(before time.Duration) *tls.Certificate {
		return ours.issue(t, func(c *x509.Certificate) {
			c.Subject.CommonName, c.NotBefore, c.NotAfter = "stolen", time.Now().Add(-before), until
		})
	}
	stolen, successor := issued(time.Hour), issued(time.Minute)
	status, _ = call(stolen, http.MethodGet, "/v1/me")
	require.Equal(t, http.StatusOK, status)
	tokens, err := store.TokensOf(t.Context(), "agent:stolen", 0, 10)
	require.NoError(t, err)
	require.Len(t, tokens, 1)
	require.NoError(t, keyring.Revoke(t.Context(), tokens[0].TokenID, true))
	status, _ = call(successor, http.MethodGet, "/v1/me")
	require.Equal(t, http.StatusOK, status)
	status, text = call(stolen, http.MethodGet, "/v1/me")
	require.Equal(t, http.StatusUnauthorized, status, text)

	// After a reload the other CA is trusted, and this one is not.
	others.write(t, command.ClientCA)
	_, err = files.reload()
	require.NoError(t, err)
	status, _ = call(others.issue(t, nil), http.MethodGet, "/v1/me")
	require.Equal(t, http.StatusOK, status)
	status, _ = call(good, http.MethodGet, "/v1/me")
	require.Zero(t, status)
	require.NoError(t, os.WriteFile(command.ClientCA, nil, 0o600))
	_, err = files.reload()
	require.Error(t, err)
	status, _ = call(others.issue(t, nil), http.MethodGet, "/v1/me")
	require.Equal(t, http.StatusOK, status, "what cannot be read changes nothing")

	// The client of this repository.
	agent, err := client.New(server.URL, client.WithTLS(&tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{*others.issue(t, nil)}}))
	require.NoError(t, err)
	defer agent.Close()
	me, err := agent.Me(t.Context())
	require.NoError(t, err)
	require.Equal(t, api.RoleAgent, me.Role)
}
