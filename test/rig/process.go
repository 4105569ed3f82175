//go:build unix

package rig

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
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

	"github.com/holdpoint/holdpoint/client"
)

// Options say how a "holdpoint serve" is run.
type Options struct {
	// Program is the executable; [Program] without tags when empty.
	Program string
	// Database is the URL that the service is given.
	Database string
	// Args are further arguments of serve.
	Args []string
	// Env is added to the environment of this process.
	Env []string
}

// Process is a "holdpoint serve" that can be killed, frozen and started again. Its methods may
// be called by several goroutines.
type Process struct {
	tb      testing.TB
	options Options
	// listenFile is where the program writes its URL.
	listenFile, logFile string

	mu     sync.Mutex
	listen string
	now    *daemon
}

// Start serves a database and returns when calls are taken. The process is killed at the end of
// the test. It must be called from the test's goroutine.
func Start(tb testing.TB, options Options) *Process {
	tb.Helper()
	p := Spawn(tb, options)
	require.NoError(tb, p.AwaitReady())
	return p
}

// StartReplicas is [Start] for several processes on one database. It returns their URLs too.
func StartReplicas(tb testing.TB, count int, options Options) (replicas []*Process, urls []string) {
	tb.Helper()
	for range count {
		replica := Start(tb, options)
		replicas, urls = append(replicas, replica), append(urls, replica.URL())
	}
	return replicas, urls
}

// Spawn is [Start] that does not wait. See [Process.AwaitReady].
func Spawn(tb testing.TB, options Options) *Process {
	tb.Helper()
	if options.Program == "" {
		options.Program = Program(tb)
	}
	port, err := fixedPort()
	require.NoError(tb, err)
	directory := tb.TempDir()
	p := &Process{
		tb: tb, options: options, listen: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)),
		listenFile: filepath.Join(directory, "url"), logFile: filepath.Join(directory, "log"),
	}
	require.NoError(tb, p.Restart())
	tb.Cleanup(p.Kill)
	return p
}

// Restart restarts an ended process at the same address, with the environment of its first start
// and these variables. It does not wait.
func (p *Process) Restart(env ...string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = os.Remove(p.listenFile) // of the start before
	command := exec.Command(p.options.Program, append([]string{
		"serve", "--database", p.options.Database, "--listen", p.listen, "--listen-file", p.listenFile, "--log-level", "warn",
	}, p.options.Args...)...)
	// Tests make as many calls as they can.
	unlimited := []string{"HOLDPOINT_LIMIT_RATE=-1", "HOLDPOINT_LIMIT_CALLS=-1", "HOLDPOINT_LIMIT_HELD=-1"}
	command.Env = append(append(append(os.Environ(), unlimited...), p.options.Env...), env...)
	started, err := startDaemon(command, nil, p.logFile)
	if err == nil {
		p.now = started
	}
	return err
}

// Replace is [Process.Restart] with another program, from now on.
func (p *Process) Replace(program string) error {
	p.mu.Lock()
	p.options.Program = program
	p.mu.Unlock()
	return p.Restart()
}

// AwaitReady waits until the process accepts calls. It returns an error if the process ends before,
// or after [Patience].
func (p *Process) AwaitReady() error {
	err := p.daemon().awaitReady(func(context.Context) error {
		text, err := os.ReadFile(p.listenFile)
		if err == nil && len(text) == 0 {
			err = errors.New("it has not written its address")
		}
		if err != nil {
			return err
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.listen = strings.TrimPrefix(strings.TrimSpace(string(text)), "http://")
		return nil
	})
	if err != nil {
		return fmt.Errorf("%w: %s", err, p.Log())
	}
	return nil
}

// Resume restarts an ended process and waits until it accepts calls.
func (p *Process) Resume() {
	p.tb.Helper()
	require.NoError(p.tb, p.Restart())
	require.NoError(p.tb, p.AwaitReady())
}

// URL is the address of the service. It stays the same after a restart.
func (p *Process) URL() string { return "http://" + p.Address() }

// Address is the host and port of [Process.URL].
func (p *Process) Address() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.listen
}

// Connect returns a client of the service that never retries, unless the options say otherwise. The
// client is closed with the test.
func (p *Process) Connect(options ...client.Option) *client.Client {
	p.tb.Helper()
	options = append([]client.Option{client.WithRetry(client.RetryPolicy{MaxAttempts: 1})}, options...)
	c, err := client.New(p.URL(), options...)
	require.NoError(p.tb, err)
	p.tb.Cleanup(c.Close)
	return c
}

// ConnectPatiently is [Process.Connect] for a client that retries as the library does.
func (p *Process) ConnectPatiently() *client.Client {
	p.tb.Helper()
	// A restart takes as long as the machine needs. The context of the call limits the wait.
	return p.Connect(client.WithRetry(client.RetryPolicy{MaxAttempts: 1_000, MaxDelay: time.Second}))
}

func (p *Process) daemon() *daemon {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now
}

// Ended is closed when the process that runs now has ended.
func (p *Process) Ended() <-chan struct{} { return p.daemon().ended }

// PID is the process that runs now, or the last one that did.
func (p *Process) PID() int { return p.daemon().command.Process.Pid }

// Kill kills the process with SIGKILL, even a frozen one, and waits until it is gone. It does
// nothing if the process is gone.
func (p *Process) Kill() { p.daemon().signal(syscall.SIGKILL) }

// Stop asks the process to shut down and waits until it has.
func (p *Process) Stop() { p.daemon().signal(syscall.SIGTERM) }

// Freeze stops the process where it stands, until [Process.Thaw].
func (p *Process) Freeze() { p.daemon().signal(syscall.SIGSTOP) }

// Thaw continues a frozen process.
func (p *Process) Thaw() { p.daemon().signal(syscall.SIGCONT) }

// Log is the output of all starts of the process so far.
func (p *Process) Log() string {
	text, _ := os.ReadFile(p.logFile)
	return string(text)
}

// Run runs another command of the program and returns its exit code and output.
func Run(tb testing.TB, args ...string) (code int, stdout, stderr string) {
	tb.Helper()
	return RunProgram(tb, Program(tb), args...)
}

// RunProgram runs a command of a program at a path.
func RunProgram(tb testing.TB, program string, args ...string) (code int, stdout, stderr string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*Patience)
	defer cancel()
	command := exec.CommandContext(ctx, program, args...)
	var out, errs bytes.Buffer
	command.Stdout, command.Stderr = &out, &errs
	err := command.Run()
	if err != nil && !errors.As(err, new(*exec.ExitError)) {
		require.NoError(tb, err)
	}
	return command.ProcessState.ExitCode(), out.String(), errs.String()
}

// RequireHealthy runs the doctor command on a database and requires that it finds nothing.
func RequireHealthy(tb testing.TB, database string) {
	tb.Helper()
	code, stdout, stderr := Run(tb, "doctor", "--database", database)
	require.Zero(tb, code, "%s: %s%s", dataVerdict, stdout, stderr)
	require.Contains(tb, stdout, "nothing is wrong", dataVerdict)
}
