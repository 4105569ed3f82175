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

// behindTLS puts a proxy before a service, whose certificate is of an authority that nobody knows,
// and returns its URL and the file of the authority.
func behindTLS(t *testing.T, service string) (secure, authority string) {
	t.Helper()
	made := func(of, issuer *x509.Certificate, by *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		require.NoError(t, err)
		if by == nil {
			issuer, by = of, key
		}
		of.NotBefore, of.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
		text, err := x509.CreateCertificate(rand.Reader, of, issuer, &key.PublicKey, by)
		require.NoError(t, err)
		certificate, err := x509.ParseCertificate(text)
		require.NoError(t, err)
		return certificate, key
	}
	root, rootKey := made(&x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "An authority of our own"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, nil, nil)
	leaf, leafKey := made(&x509.Certificate{
		SerialNumber: big.NewInt(2), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, Subject: pkix.Name{CommonName: "holdpoint"},
	}, root, rootKey)
	authority = filepath.Join(t.TempDir(), "authority.pem")
	require.NoError(t, os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Raw}), 0o600))

	target, err := url.Parse(service)
	require.NoError(t, err)
	quiet := log.New(io.Discard, "", 0) // clients hang up, and some are meant to
	proxy := httptest.NewUnstartedServer(&httputil.ReverseProxy{FlushInterval: -1, ErrorLog: quiet, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host
	}})
	proxy.Config.ErrorLog = quiet
	proxy.TLS = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{{Certificate: [][]byte{leaf.Raw}, PrivateKey: leafKey}}}
	proxy.StartTLS()
	t.Cleanup(proxy.Close)
	return proxy.URL, authority
}
