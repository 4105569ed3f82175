//go:build unix && agents

package sdk

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// authority issues certificates. Nobody knows it.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// signed makes a certificate by an authority, or, without one, by itself.
func (a *authority) signed(t *testing.T, of *x509.Certificate) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	if a == nil {
		a = &authority{of, key}
	}
	of.NotBefore, of.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	text, err := x509.CreateCertificate(rand.Reader, of, a.certificate, &key.PublicKey, a.key)
	require.NoError(t, err)
	certificate, err := x509.ParseCertificate(text)
	require.NoError(t, err)
	return &authority{certificate, key}
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	return (*authority)(nil).signed(t, &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "An authority of our own"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	})
}

// file is the PEM file of a certificate.
func (a *authority) file() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.certificate.Raw})
}

// issue makes the files of a certificate and its key, for 127.0.0.1.
func (a *authority) issue(t *testing.T, name string, usage x509.ExtKeyUsage) (certificate, key []byte) {
	t.Helper()
	leaf := a.signed(t, &x509.Certificate{
		SerialNumber: big.NewInt(2), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{usage}, Subject: pkix.Name{CommonName: name},
	})
	text, err := x509.MarshalPKCS8PrivateKey(leaf.key)
	require.NoError(t, err)
	return leaf.file(), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: text})
}

// behindTLS puts a proxy before a service, whose certificate is of an authority that nobody knows,
// and returns its URL and the file of the authority.
func behindTLS(t *testing.T, service string) (secure, ca string) {
	t.Helper()
	root := newAuthority(t)
	ca = filepath.Join(t.TempDir(), "authority.pem")
	require.NoError(t, os.WriteFile(ca, root.file(), 0o600))
	certificate, key := root.issue(t, "holdpoint", x509.ExtKeyUsageServerAuth)
	pair, err := tls.X509KeyPair(certificate, key)
	require.NoError(t, err)

	target, err := url.Parse(service)
	require.NoError(t, err)
	quiet := log.New(io.Discard, "", 0) // clients hang up, and some are meant to
	proxy := httptest.NewUnstartedServer(&httputil.ReverseProxy{FlushInterval: -1, ErrorLog: quiet, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host
	}})
	proxy.Config.ErrorLog = quiet
	proxy.TLS = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}
	proxy.StartTLS()
	t.Cleanup(proxy.Close)
	return proxy.URL, ca
}
