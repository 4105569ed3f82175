package console

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// Certificates holds the flags for TLS: the service's certificate authorities, and the
// client's certificate.
type Certificates struct {
	CA         string `name:"ca" from:"HOLDPOINT_CA" placeholder:"PATH" help:"CA certificates to trust (PEM) instead of the system's ($$HOLDPOINT_CA)."`
	ClientCert string `from:"HOLDPOINT_CLIENT_CERT" placeholder:"PATH" help:"Client certificate (PEM), which names the calling agent ($$HOLDPOINT_CLIENT_CERT)."`
	ClientKey  string `from:"HOLDPOINT_CLIENT_KEY" placeholder:"PATH" help:"Private key of the client certificate (PEM; $$HOLDPOINT_CLIENT_KEY)."`
}

// CertificatePaths are the same flags for storing in a context or a hook. They are not set from the
// environment, and are stored as absolute paths.
type CertificatePaths struct {
	CA         string `name:"ca" placeholder:"PATH" help:"CA certificates to trust (PEM) instead of the system's. Stores the path, not the file."`
	ClientCert string `placeholder:"PATH" help:"Client certificate (PEM), which names the calling agent. Stores the path, not the file."`
	ClientKey  string `placeholder:"PATH" help:"Private key of the client certificate (PEM). Stores the path, not the file."`
}

// Absolute makes the paths absolute. It returns a usage error if calls to the server could
// not use the files.
func (p *CertificatePaths) Absolute(server string) error {
	for _, path := range []*string{&p.CA, &p.ClientCert, &p.ClientKey} {
		if *path == "" {
			continue
		}
		absolute, err := filepath.Abs(*path)
		if err != nil {
			return fmt.Errorf("find %s: %w", *path, err)
		}
		*path = absolute
	}
	certificates := Certificates(*p)
	_, err := certificates.Config(server)
	return err
}

// FromEnvironment fills in missing paths from the environment.
func (c *Certificates) FromEnvironment(lookupEnv func(string) (string, bool)) {
	for variable, path := range map[string]*string{"HOLDPOINT_CA": &c.CA, "HOLDPOINT_CLIENT_CERT": &c.ClientCert, "HOLDPOINT_CLIENT_KEY": &c.ClientKey} {
		if *path == "" {
			*path, _ = lookupEnv(variable)
		}
	}
}

// Complete fills in missing paths from the context of the same service. It never combines a
// certificate with another one's key.
func (c *Certificates) Complete(chosen Context) {
	if c.CA == "" {
		c.CA = chosen.CA
	}
	if c.ClientCert == "" && c.ClientKey == "" {
		c.ClientCert, c.ClientKey = chosen.ClientCert, chosen.ClientKey
	}
}

// Config reads the files. It returns nil if there are none. It returns a usage error for an
// unusable file, for a certificate without its key, and for a server URL without TLS.
func (c *Certificates) Config(server string) (*tls.Config, error) {
	if c.CA == "" && c.ClientCert == "" && c.ClientKey == "" {
		return nil, nil
	}
	if (c.ClientCert == "") != (c.ClientKey == "") {
		return nil, Usage("--client-cert and --client-key need each other")
	}
	if !strings.HasPrefix(server, "https://") {
		return nil, Usage("--ca and --client-cert require an https:// server, not %s", server)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.CA != "" {
		text, err := os.ReadFile(c.CA)
		if err != nil {
			return nil, Usage("--ca: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, Usage("--ca: %s has no certificate in PEM", c.CA)
		}
	}
	if c.ClientCert != "" {
		pair, err := tls.LoadX509KeyPair(c.ClientCert, c.ClientKey)
		if err != nil {
			return nil, Usage("--client-cert and --client-key: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// tlsHint returns advice about a TLS error; "" for other errors.
func tlsHint(err error) string {
	if errors.As(err, new(*tls.CertificateVerificationError)) {
		return "its certificate is not trusted: check the name in --server, or name the CA with --ca PATH or HOLDPOINT_CA"
	}
	if errors.Is(err, http.ErrSchemeMismatch) {
		return "it answers without TLS: give the address with http:// in --server or HOLDPOINT_SERVER"
	}
	if remote, ok := errors.AsType[*net.OpError](err); ok && remote.Op == "remote error" {
		return "the service refused the connection: check that the certificate of --client-cert is valid and of a CA that the service trusts"
	}
	return ""
}
