package postgres

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// A password may be changed in its file while replicas run, and a failover makes all of them connect again.
func TestConnectionsUseThePasswordThatIsInTheFileNow(t *testing.T) {
	t.Parallel()
	passwords := filepath.Join(t.TempDir(), "passwords")
	write := func(password string) {
		t.Helper()
		require.NoError(t, os.WriteFile(passwords, []byte("db1:5432:holdpoint:service:"+password+"\n"), 0o600))
	}
	write("before")
	url := "postgres://service@db1:5432,db2:5432/holdpoint?pool_max_conns=3&sslmode=disable&passfile=" + passwords
	pooled, err := poolConfig(url, Options{})
	require.NoError(t, err)
	alone, err := connConfig(url)
	require.NoError(t, err)
	write("after")
	for name, connect := range map[string]func() *pgx.ConnConfig{
		"pool": func() *pgx.ConnConfig {
			config := pooled.ConnConfig.Copy()
			require.NoError(t, pooled.BeforeConnect(t.Context(), config))
			return config
		},
		"listener": func() *pgx.ConnConfig {
			config := alone.Copy()
			readCredentials(config)
			return config
		},
	} {
		config := connect()
		require.Equal(t, "after", config.Password, name)
		require.Equal(t, "db1", config.Host, name)
		require.Len(t, config.Fallbacks, 1, name)
		require.Equal(t, "db2", config.Fallbacks[0].Host, name)
	}
}

// The server's authority may be replaced, too; while its file cannot be read, the one before is trusted.
func TestConnectionsTrustTheAuthorityThatIsInTheFileNow(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ca.pem")
	before, after := authority(t), authority(t)
	require.NoError(t, os.WriteFile(path, before, 0o600))
	given, err := connConfig("postgres://service@db1/holdpoint?sslmode=verify-full&sslrootcert=" + path)
	require.NoError(t, err)
	trusted := func() *x509.CertPool {
		config := given.Copy()
		readCredentials(config)
		return config.TLSConfig.RootCAs
	}
	pool := func(text []byte) *x509.CertPool {
		made := x509.NewCertPool()
		require.True(t, made.AppendCertsFromPEM(text))
		return made
	}
	require.True(t, trusted().Equal(pool(before)))
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.True(t, trusted().Equal(pool(before)))
	require.NoError(t, os.WriteFile(path, after, 0o600))
	require.True(t, trusted().Equal(pool(after)))
}

// authority returns the certificate of a new authority, as PEM.
func authority(t *testing.T) []byte {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true, NotAfter: time.Unix(1<<33, 0)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
