package serve

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"sync/atomic"
)

// certificates holds the certificate of the listener, read from files that may change.
type certificates struct {
	certFile, keyFile, clientCAFile string
	present                         atomic.Pointer[tls.Config]
}

// certificates reads the files of --tls-cert and --tls-key. It returns nil without them.
func (c *Command) certificates() (*certificates, error) {
	if c.TLSCert == "" {
		return nil, nil
	}
	files := &certificates{certFile: c.TLSCert, keyFile: c.TLSKey, clientCAFile: c.ClientCA}
	return files, files.reload()
}

// reload reads the files again. If that fails, nothing changes. New connections use the new
// files, even if they resume TLS sessions.
func (f *certificates) reload() error {
	if f == nil {
		return nil
	}
	read, err := tls.LoadX509KeyPair(f.certFile, f.keyFile)
	if err != nil {
		return fmt.Errorf("--tls-cert and --tls-key: %w", err)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{read}, NextProtos: []string{"h2", "http/1.1"}}
	if f.clientCAFile != "" {
		text, err := os.ReadFile(f.clientCAFile)
		if err != nil {
			return fmt.Errorf("--client-ca: %w", err)
		}
		config.ClientCAs, config.ClientAuth = x509.NewCertPool(), tls.VerifyClientCertIfGiven
		if !config.ClientCAs.AppendCertsFromPEM(text) {
			return fmt.Errorf("--client-ca: %s has no certificate in PEM", f.clientCAFile)
		}
	}
	f.present.Store(config)
	return nil
}

// config returns the TLS configuration of a server, nil without certificates.
func (f *certificates) config() *tls.Config {
	if f == nil {
		return nil
	}
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return f.present.Load(), nil },
		// http.Server requires it at the start.
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &f.present.Load().Certificates[0], nil },
	}
}
