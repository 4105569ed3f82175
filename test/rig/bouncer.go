//go:build unix

package rig

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Bouncer is a pgbouncer in front of a [Cluster]. Its methods may be called by several
// goroutines.
type Bouncer struct {
	cluster *Cluster
	program string
	port    int

	mu      sync.Mutex
	command *exec.Cmd // nil while none runs
	ended   chan struct{}
}

// NewBouncer sets a pgbouncer up that leads to every database of a cluster and pools by
// transaction, with so many connections to each, and starts it. It is killed with the
// test.
//
// Where there is no pgbouncer the test is skipped, loudly; under CI it fails.
func NewBouncer(tb testing.TB, cluster *Cluster, poolSize int) *Bouncer {
	tb.Helper()
	program, err := bouncerProgram()
	if err != nil {
		if os.Getenv("CI") != "" {
			tb.Fatalf("THIS TEST NEEDS PGBOUNCER: %v", err)
		}
		fmt.Fprintf(os.Stderr, "\n*** SKIPPED: %s NEEDS PGBOUNCER: %v ***\n\n", tb.Name(), err)
		tb.Skipf("no pgbouncer: %v", err)
	}
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

// bouncerProgram finds pgbouncer; distributions put it where only root looks.
func bouncerProgram() (string, error) {
	if found, err := exec.LookPath("pgbouncer"); err == nil {
		return found, nil
	}
	const elsewhere = "/usr/sbin/pgbouncer"
	if _, err := os.Stat(elsewhere); err == nil {
		return elsewhere, nil
	}
	return "", errors.New("pgbouncer is neither on PATH nor in /usr/sbin")
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
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.command != nil {
		return errors.New("pgbouncer runs already")
	}
	log, err := os.OpenFile(b.logPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	command := exec.Command(b.program, b.settingsPath())
	command.Stdout, command.Stderr = log, log
	if command.SysProcAttr = endWithParent(); command.SysProcAttr == nil {
		command.SysProcAttr = &syscall.SysProcAttr{}
	}
	// It refuses to run as root.
	command.SysProcAttr.Credential = b.cluster.account
	if err := command.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		_ = command.Wait() // how it ended is in its ProcessState
		close(ended)
	}()
	b.command, b.ended = command, ended
	deadline := time.After(Patience)
	for {
		if conn, err := net.Dial("tcp", b.address()); err == nil {
			return conn.Close()
		}
		select {
		case <-ended:
			return errors.New("pgbouncer ended at its start: " + b.Log())
		case <-deadline:
			return errors.New("pgbouncer takes no connection: " + b.Log())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// Kill ends the proxy at once, with every connection that goes through it. It does
// nothing when none runs.
func (b *Bouncer) Kill() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.command == nil {
		return
	}
	_ = b.command.Process.Kill() // it may be gone
	<-b.ended
	b.command = nil
}

// Log is what all starts of the proxy wrote so far.
func (b *Bouncer) Log() string {
	text, _ := os.ReadFile(b.logPath())
	return string(text)
}
