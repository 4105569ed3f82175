package serve

import (
	"crypto/tls"
	"fmt"
	"sync/atomic"

	"github.com/holdpoint/holdpoint/cli/console"
)

// certificates hold the certificate of the listener, read from files that may change.
type certificates struct {
	certFile, keyFile string
	present           atomic.Pointer[tls.Certificate]
}

// certificates reads the files of --tls-cert and --tls-key. It returns nil without them.
func (c *Command) certificates() (*certificates, error) {
	if (c.TLSCert == "") != (c.TLSKey == "") {
		return nil, console.Usage("--tls-cert and --tls-key need each other")
	}
	if c.TLSCert == "" {
		return nil, nil
	}
	files := &certificates{certFile: c.TLSCert, keyFile: c.TLSKey}
	return files, files.reload()
}

// reload reads the files again. After an error the certificate is the one of before.
func (f *certificates) reload() error {
	if f == nil {
		return nil
	}
	read, err := tls.LoadX509KeyPair(f.certFile, f.keyFile)
	if err != nil {
		return fmt.Errorf("--tls-cert and --tls-key: %w", err)
	}
	f.present.Store(&read)
	return nil
}

// config returns what a server goes by, nil without certificates.
func (f *certificates) config() *tls.Config {
	if f == nil {
		return nil
	}
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return f.present.Load(), nil },
	}
}
