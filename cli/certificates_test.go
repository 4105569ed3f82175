package cli_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// certificates writes a CA with certificates for a service and an agent, and an agent's
// certificate from another CA.
func certificates(ts *testscript.TestScript, neg bool, args []string) {
	needs(ts, neg, args, 0, 0)
	block := func(kind string, der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}) }
	key := func() *ecdsa.PrivateKey {
		made, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		ts.Check(err)
		return made
	}
	template := func(name string) *x509.Certificate {
		return &x509.Certificate{
			SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
			NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		}
	}
	authority, authorityKey := template("authority"), key()
	authority.IsCA, authority.BasicConstraintsValid, authority.KeyUsage, authority.ExtKeyUsage = true, true, x509.KeyUsageCertSign, nil
	der, err := x509.CreateCertificate(rand.Reader, authority, authority, authorityKey.Public(), authorityKey)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs("ca.pem"), block("CERTIFICATE", der), 0o600))
	for _, name := range []string{"server", "coder", "stranger"} {
		own, parent, signer := key(), authority, authorityKey
		if name == "stranger" {
			parent, signer = template("another authority"), key()
		}
		der, err := x509.CreateCertificate(rand.Reader, template(name), parent, own.Public(), signer)
		ts.Check(err)
		private, err := x509.MarshalPKCS8PrivateKey(own)
		ts.Check(err)
		ts.Check(os.WriteFile(ts.MkAbs(name+".pem"), block("CERTIFICATE", der), 0o600))
		ts.Check(os.WriteFile(ts.MkAbs(name+".key"), block("PRIVATE KEY", private), 0o600))
	}
}
