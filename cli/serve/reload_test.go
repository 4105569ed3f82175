package serve

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// writeCertificate writes a certificate for localhost with a serial number.
func writeCertificate(t *testing.T, certFile, keyFile string, serial int64) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<33, 0),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	private, err := x509.MarshalECPrivateKey(key)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	require.NoError(t, os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private}), 0o600))
}

func TestReloadTakesNewCertificatesAndKeepsGoodOnes(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	command := &Command{TLSCert: filepath.Join(directory, "cert.pem"), TLSKey: filepath.Join(directory, "key.pem"), Listen: "127.0.0.1:1"}
	_, err := command.certificates()
	require.ErrorContains(t, err, "--tls-cert")
	writeCertificate(t, command.TLSCert, command.TLSKey, 1)
	files, err := command.certificates()
	require.NoError(t, err)

	listener, err := tls.Listen("tcp", "127.0.0.1:0", files.config())
	require.NoError(t, err)
	server := &http.Server{ReadHeaderTimeout: time.Second, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0)}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	serial := func(most uint16) int64 {
		conn, err := tls.Dial("tcp", listener.Addr().String(), &tls.Config{InsecureSkipVerify: true, MaxVersion: most})
		if err != nil {
			return 0
		}
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	require.Equal(t, int64(1), serial(tls.VersionTLS13))
	require.Zero(t, serial(tls.VersionTLS11), "old versions are refused")

	var log bytes.Buffer
	running := service{Command: command, files: files, logger: slog.New(slog.NewTextHandler(&log, nil)), logLevel: &slog.LevelVar{}}
	again := *command
	again.LogLevel, again.Listen = slog.LevelDebug, "127.0.0.1:2"
	reload := func(read *Command, err error) string {
		log.Reset()
		running.reload(t.Context(), func() (*Command, error) { return read, err })
		return log.String()
	}
	writeCertificate(t, command.TLSCert, command.TLSKey, 2)
	said := reload(&again, nil)
	require.Contains(t, said, `msg="reloaded certificates and configuration" log_level=DEBUG`)
	require.Contains(t, said, "changes that take a restart")
	require.Contains(t, said, "--listen")
	require.NotContains(t, said, "--log-level")
	require.Equal(t, slog.LevelDebug, running.logLevel.Level())
	require.Equal(t, int64(2), serial(tls.VersionTLS13))

	require.NoError(t, os.WriteFile(command.TLSCert, []byte("no certificate"), 0o600))
	said = reload(&again, nil)
	require.Contains(t, said, "the certificate is the one of before")
	require.Contains(t, said, "reloaded the configuration alone")
	require.NotContains(t, said, "reloaded certificates")
	require.Equal(t, int64(2), serial(tls.VersionTLS13))

	said = reload(&again, errors.New("mistyped"))
	require.Contains(t, said, "the configuration is the one of before")
	require.NotContains(t, said, "reloaded")
}

// Nobody signals a service in a container when a mounted certificate is renewed.
func TestCertificatesAreRenewedWithoutASignal(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	command := &Command{TLSCert: filepath.Join(directory, "cert.pem"), TLSKey: filepath.Join(directory, "key.pem")}
	writeCertificate(t, command.TLSCert, command.TLSKey, 1)
	files, err := command.certificates()
	require.NoError(t, err)
	var log bytes.Buffer
	running := service{Command: command, files: files, logger: slog.New(slog.NewTextHandler(&log, nil)), logLevel: &slog.LevelVar{}}
	ctx, stop := context.WithCancel(t.Context())
	ticks, ended := make(chan time.Time), make(chan error)
	go func() { ended <- running.reloadOn(ctx, nil, ticks, nil) }()
	// tick returns what is served after the tick before: the loop has taken the next one then.
	tick := func() int64 {
		ticks <- time.Time{}
		ticks <- time.Time{}
		leaf, err := x509.ParseCertificate(files.present.Load().Certificates[0].Certificate[0])
		require.NoError(t, err)
		return leaf.SerialNumber.Int64()
	}
	before := files.present.Load()
	require.Equal(t, int64(1), tick())
	require.Same(t, before, files.present.Load(), "sessions can be resumed as long as nothing has changed")
	writeCertificate(t, command.TLSCert, command.TLSKey, 2)
	require.Equal(t, int64(2), tick())
	require.NoError(t, os.WriteFile(command.TLSKey, []byte("no key"), 0o600))
	require.Equal(t, int64(2), tick())
	writeCertificate(t, command.TLSCert, command.TLSKey, 3)
	require.Equal(t, int64(3), tick())
	stop()
	require.NoError(t, <-ended)
	require.Equal(t, 2, strings.Count(log.String(), "reloaded certificates, which had changed"))
	require.Equal(t, 1, strings.Count(log.String(), "the certificate is the one of before"), "it is said once")
}

func TestASocketIsItsOwnersAlone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "holdpoint.sock")
	listener, err := listen(t.Context(), "unix:"+path, false)
	require.NoError(t, err)
	require.True(t, isLoopback(listener))
	require.Equal(t, "unix:"+path, reachableURL("http", listener))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, entries, 1, "nothing else is left")

	_, err = listen(t.Context(), "unix:"+path, false)
	require.ErrorContains(t, err, "another process listens there")
	conn, err := new(net.Dialer).DialContext(t.Context(), "unix", path)
	require.NoError(t, err)
	require.NoError(t, conn.Close())
	require.NoError(t, listener.Close())
	require.NoFileExists(t, path)

	// A socket left behind by a killed process.
	stale, err := new(net.ListenConfig).Listen(context.Background(), "unix", path)
	require.NoError(t, err)
	stale.(*net.UnixListener).SetUnlinkOnClose(false)
	require.NoError(t, stale.Close())
	require.FileExists(t, path)
	listener, err = listen(t.Context(), "unix:"+path, false)
	require.NoError(t, err)
	require.NoError(t, listener.Close())

	require.NoError(t, os.WriteFile(path, nil, 0o600))
	_, err = listen(t.Context(), "unix:"+path, false)
	require.ErrorContains(t, err, "not a socket")
	_, err = listen(t.Context(), "unix:", false)
	require.Error(t, err)
}
