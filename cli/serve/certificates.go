package serve

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"sync/atomic"
)

// certificates holds the certificate of the listener, read from files that may change. Only one goroutine may reload it.
type certificates struct {
	certFile, keyFile, clientCAFile string
	read                            files // what present was made of
	present                         atomic.Pointer[tls.Config]
}

// files are the contents of the files.
type files struct{ cert, key, clientCA string }

// certificates reads the files of --tls-cert and --tls-key. It returns nil without them.
func (c *Command) certificates() (*certificates, error) {
	if c.TLSCert == "" {
		return nil, nil
	}
	made := &certificates{certFile: c.TLSCert, keyFile: c.TLSKey, clientCAFile: c.ClientCA}
	_, err := made.reload()
	return made, err
}

// reload reads the files again, and reports whether they have changed. If that fails, nothing changes. New connections use
// the new files, even if they resume TLS sessions.
func (c *certificates) reload() (changed bool, err error) {
	if c == nil {
		return false, nil
	}
	read, err := c.contents()
	if err != nil || read == c.read {
		return false, err
	}
	pair, err := tls.X509KeyPair([]byte(read.cert), []byte(read.key))
	if err != nil {
		return false, fmt.Errorf("--tls-cert and --tls-key: %w", err)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2", "http/1.1"}}
	if c.clientCAFile != "" {
		config.ClientCAs, config.ClientAuth = x509.NewCertPool(), tls.VerifyClientCertIfGiven
		if !config.ClientCAs.AppendCertsFromPEM([]byte(read.clientCA)) {
			return false, fmt.Errorf("--client-ca: %s has no certificate in PEM", c.clientCAFile)
		}
	}
	c.read = read
	c.present.Store(config)
	return true, nil
}

// contents reads the files.
func (c *certificates) contents() (read files, err error) {
	for _, file := range []struct {
		flag, path string
		text       *string
	}{
		{"--tls-cert and --tls-key", c.certFile, &read.cert},
		{"--tls-cert and --tls-key", c.keyFile, &read.key},
		{"--client-ca", c.clientCAFile, &read.clientCA},
	} {
		if file.path == "" {
			continue
		}
		text, err := os.ReadFile(file.path)
		if err != nil {
			return files{}, fmt.Errorf("%s: %w", file.flag, err)
		}
		*file.text = string(text)
	}
	return read, nil
}

// config returns the TLS configuration of a server, nil without certificates.
func (c *certificates) config() *tls.Config {
	if c == nil {
		return nil
	}
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return c.present.Load(), nil },
		// http.Server requires it at the start.
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &c.present.Load().Certificates[0], nil },
	}
}
