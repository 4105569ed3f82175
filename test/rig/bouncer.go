//go:build unix

package rig

import (
	"context"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Bouncer is a pgbouncer in front of a [Cluster]. Its methods may be called by several
// goroutines.
type Bouncer struct {
	cluster *Cluster
	program string
	port    int

	server slot
}

// NewBouncer sets a pgbouncer up that leads to every database of a cluster and pools by
// transaction, with so many connections to each, and starts it. It is killed with the
// test.
//
// It needs pgbouncer; see [Missing].
func NewBouncer(tb testing.TB, cluster *Cluster, poolSize int) *Bouncer {
	tb.Helper()
	// Distributions put it where only root looks.
	program := Need(tb, "pgbouncer", "/usr/sbin/pgbouncer")
	port, err := fixedPort()
	require.NoError(tb, err)
	b := &Bouncer{cluster: cluster, program: program, port: port}
	require.NoError(tb, os.WriteFile(b.settingsPath(), []byte(strings.Join([]string{
		"[databases]",
		"* = host=127.0.0.1 port=" + strconv.Itoa(cluster.Port()) + " user=postgres",
		"[pgbouncer]",
		"listen_addr = 127.0.0.1",
		"listen_port = " + strconv.Itoa(port),
		"unix_socket_dir =",
		"auth_type = any",
		"pool_mode = transaction",
		"default_pool_size = " + strconv.Itoa(poolSize),
		"max_client_conn = 500",
		"",
	}, "\n")), 0o644))
	require.NoError(tb, b.Start())
	tb.Cleanup(b.Kill)
	return b
}

func (b *Bouncer) settingsPath() string {
	return filepath.Join(b.cluster.directory, "pgbouncer-"+strconv.Itoa(b.port)+".ini")
}

func (b *Bouncer) logPath() string { return b.settingsPath() + ".log" }

// URL is the address of a database of the cluster behind the proxy.
func (b *Bouncer) URL(database string) string {
	u := url.URL{
		Scheme: "postgres", User: url.User("postgres"),
		Host: b.address(), Path: "/" + database, RawQuery: url.Values{"sslmode": {"disable"}}.Encode(),
	}
	return u.String()
}

func (b *Bouncer) address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(b.port)) }

// Start starts the proxy, at the same address as before, and returns when it takes
// connections.
func (b *Bouncer) Start() error {
	// pgbouncer refuses to run as root.
	return b.server.start(exec.Command(b.program, b.settingsPath()), b.cluster.account, b.logPath(), func(ctx context.Context) error {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", b.address())
		if err != nil {
			return err
		}
		return conn.Close()
	})
}

// Kill ends the proxy at once, with every connection that goes through it. It does nothing when
// none runs.
func (b *Bouncer) Kill() { b.server.end(func(d *daemon) { d.signal(syscall.SIGKILL) }) }
