//go:build unix

package rig

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
)

// ClusterOptions say how a [Cluster] is run.
type ClusterOptions struct {
	// Settings are added to the server's command line and override the cluster's settings.
	Settings map[string]string
}

// Cluster is a Postgres of a test's own that can be killed as a machine is lost, and
// started again. It flushes to disk before it acknowledges, as in production. It
// listens on 127.0.0.1, trusts everyone, and its superuser is postgres. Its methods
// may be called by several goroutines.
type Cluster struct {
	directory, bin string
	port           int
	account        *syscall.Credential
	settings       map[string]string

	server slot
}

// NewCluster creates an empty cluster without starting it. A test that wants a standby replaces
// [Cluster.Directory] first. The cluster is killed and removed with the test.
//
// It needs the binaries of an installation; see [Missing].
func NewCluster(tb testing.TB, options ClusterOptions) *Cluster {
	tb.Helper()
	bin := NeedPostgres(tb)
	account, err := postgrestest.Unprivileged()
	require.NoError(tb, err)
	port, err := fixedPort()
	require.NoError(tb, err)
	// Not the test's directory, which another user may not enter, and whose name is too
	// long for a unix socket.
	directory, err := os.MkdirTemp("/tmp", "holdpoint-cluster-") //nolint:usetesting // See above.
	require.NoError(tb, err)
	if account != nil {
		require.NoError(tb, os.Chown(directory, int(account.Uid), int(account.Gid)))
	}
	c := &Cluster{directory: directory, bin: bin, port: port, account: account, settings: options.Settings}
	tb.Cleanup(func() {
		c.Kill()
		_ = os.RemoveAll(directory)
	})
	_, err = c.Run("initdb", "--pgdata", c.Directory(), "--username", "postgres", "--auth", "trust",
		"--encoding", "UTF8", "--no-locale", "--no-sync")
	require.NoError(tb, err)
	return c
}

// NeedPostgres returns the directory of Postgres' programs. If there are none, the test is skipped;
// see [Missing]. Call it before any slow preparation.
func NeedPostgres(tb testing.TB) (directory string) {
	tb.Helper()
	directory, err := postgrestest.Binaries()
	if err != nil {
		Missing(tb, "the programs of Postgres")
	}
	return directory
}

// Directory is the data directory.
func (c *Cluster) Directory() string { return filepath.Join(c.directory, "data") }

// Port is the server's port on 127.0.0.1. It stays the same after a restart.
func (c *Cluster) Port() int { return c.port }

// URL is the address of a database of the cluster.
func (c *Cluster) URL(database string) string {
	u := url.URL{
		Scheme: "postgres", User: url.User("postgres"),
		Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(c.port)), Path: "/" + database,
		RawQuery: url.Values{"sslmode": {"disable"}}.Encode(),
	}
	return u.String()
}

// CreateDatabase creates an empty database and returns its URL.
func (c *Cluster) CreateDatabase(name string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, c.URL("postgres"))
	if err != nil {
		return "", err
	}
	_, err = conn.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize())
	return c.URL(name), errors.Join(err, conn.Close(ctx))
}

// Run runs a program of the installation, such as pg_basebackup, as the user that owns
// the cluster, and returns its output.
func (c *Cluster) Run(program string, arguments ...string) (output string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*Patience)
	defer cancel()
	command := exec.CommandContext(ctx, filepath.Join(c.bin, program), arguments...)
	command.SysProcAttr = &syscall.SysProcAttr{Credential: c.account}
	command.Dir = c.directory
	text, err := command.CombinedOutput()
	if err != nil {
		return string(text), fmt.Errorf("%s: %w: %s", program, err, text)
	}
	return string(text), nil
}

// Start starts the server and returns when it answers, which after [Cluster.Kill] is when it
// has recovered. It returns an error when it runs already.
func (c *Cluster) Start() error {
	arguments := []string{
		"-D", c.Directory(), "-c", "listen_addresses=127.0.0.1", "-c", "port=" + strconv.Itoa(c.port),
		"-c", "unix_socket_directories=" + c.directory, "-c", "max_connections=200", "-c", "timezone=UTC",
	}
	for name, value := range c.settings {
		arguments = append(arguments, "-c", name+"="+value)
	}
	command := exec.CommandContext(context.Background(), filepath.Join(c.bin, "postgres"), arguments...)
	command.Dir = c.directory
	return c.server.start(command, c.account, c.logPath(), c.answers)
}

func (c *Cluster) answers(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, c.URL("postgres"))
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

// AwaitReady returns when the server answers, which after the loss of one of its processes is when it
// has recovered.
func (c *Cluster) AwaitReady() error {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	for {
		err := c.answers(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// Stop shuts the server down without waiting for its clients. It does nothing when none runs.
func (c *Cluster) Stop() error {
	c.server.end(func(d *daemon) { d.signal(syscall.SIGINT) })
	return nil
}

// Kill ends the server with all its processes at once, as if its machine were lost. Nothing is
// flushed. It does nothing if the server is not running.
func (c *Cluster) Kill() {
	c.server.end(func(d *daemon) {
		// A stopped postmaster starts no further process between the list and the kill.
		d.signal(syscall.SIGSTOP)
		children := childrenOf(d.command.Process.Pid)
		_ = d.command.Process.Kill()
		for _, pid := range children {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		<-d.ended
		// A new server refuses the directory while one of the old still has its memory.
		for _, pid := range children {
			for alive(pid) {
				time.Sleep(time.Millisecond)
			}
		}
	})
}

// Log is the output of all runs of the server so far.
func (c *Cluster) Log() string {
	text, _ := os.ReadFile(c.logPath())
	return string(text)
}

func (c *Cluster) logPath() string { return filepath.Join(c.directory, "log") }
