//go:build unix

package rig

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/client"
)

// Patience is how long something may take before it counts as hung.
const Patience = 60 * time.Second

// Options say how a "holdpoint serve" is run.
type Options struct {
	// Program is the executable; [Program] without tags when empty.
	Program string
	// Database is the URL that the service is given.
	Database string
	// Listen is the address to listen at; "127.0.0.1:0" when empty. A restart listens
	// at the address that the first start got.
	Listen string
	// Args are further arguments of serve.
	Args []string
	// Env is added to the environment of this process.
	Env []string
	// Wrapper is a command that runs the program, such as faketime; empty for none.
	Wrapper []string
}

// Process is a "holdpoint serve" that can be killed, frozen and started again. Its
// methods may be called by several goroutines.
type Process struct {
	tb      testing.TB
	options Options
	// listenFile is where the program says its address.
	listenFile string

	mu      sync.Mutex
	listen  string
	command *exec.Cmd
	ended   chan struct{}
	log     *logBuffer
}

// Start starts the program on a database and waits until it takes calls. It is
// killed at the end of the test. It must be called from the test's goroutine.
func Start(tb testing.TB, options Options) *Process {
	tb.Helper()
	p := Spawn(tb, options)
	require.NoError(tb, p.AwaitReady(), "%s", p.Log())
	return p
}

// Spawn starts the program and does not wait for it. See [Process.AwaitReady].
func Spawn(tb testing.TB, options Options) *Process {
	tb.Helper()
	if options.Program == "" {
		options.Program = Program(tb)
	}
	if options.Listen == "" {
		options.Listen = "127.0.0.1:0"
	}
	p := &Process{
		tb: tb, options: options, listen: options.Listen, log: &logBuffer{},
		listenFile: filepath.Join(tb.TempDir(), "url"),
	}
	require.NoError(tb, p.Restart())
	tb.Cleanup(p.Kill)
	return p
}

// Restart starts a process that has ended again, at the same address, with the
// environment of its first start and what is given here. It does not wait.
func (p *Process) Restart(env ...string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = os.Remove(p.listenFile) // of the start before
	arguments := append([]string{}, p.options.Wrapper...)
	arguments = append(arguments, p.options.Program, "serve", "--database", p.options.Database,
		"--listen", p.listen, "--listen-file", p.listenFile, "--log-level", "warn")
	arguments = append(arguments, p.options.Args...)
	command := exec.Command(arguments[0], arguments[1:]...)
	command.Env = append(append(os.Environ(), p.options.Env...), env...)
	command.Stdout, command.Stderr = p.log, p.log
	command.SysProcAttr = endWithParent()
	if err := command.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		_ = command.Wait() // how it ended is in its ProcessState
		close(ended)
	}()
	p.command, p.ended = command, ended
	return nil
}

// AwaitReady waits until the process takes calls. It returns an error when the
// process ends before that, or when [Patience] is over.
func (p *Process) AwaitReady() error {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if text, err := os.ReadFile(p.listenFile); err == nil && len(text) > 0 {
			p.mu.Lock()
			p.listen = strings.TrimPrefix(strings.TrimSpace(string(text)), "http://")
			p.mu.Unlock()
			return nil
		}
		select {
		case <-p.Ended():
			return errors.New("the process ended: " + p.Log())
		case <-ctx.Done():
			return errors.New("the process does not become ready: " + p.Log())
		case <-tick.C:
		}
	}
}

// URL is where the service listens. It stays the same after a restart.
func (p *Process) URL() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return "http://" + p.listen
}

// Connect returns a client of the service that gives up at the first failure, unless
// the options say otherwise. The client is closed with the test.
func (p *Process) Connect(options ...client.Option) *client.Client {
	p.tb.Helper()
	options = append([]client.Option{client.WithRetry(client.RetryPolicy{MaxAttempts: 1})}, options...)
	c, err := client.New(p.URL(), options...)
	require.NoError(p.tb, err)
	p.tb.Cleanup(c.Close)
	return c
}

// Ended is closed when the process that runs now has ended.
func (p *Process) Ended() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ended
}

// PID is the process that runs now, or the last one that did.
func (p *Process) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.command.Process.Pid
}

// Kill ends the process at once, as kill -9 does, and waits until it is gone. A
// frozen process is killed as well. One that is gone already is left alone.
func (p *Process) Kill() {
	p.signal(syscall.SIGKILL)
	<-p.Ended()
}

// Stop asks the process to end in order, as an operator does, and waits for it.
func (p *Process) Stop() {
	p.signal(syscall.SIGTERM)
	<-p.Ended()
}

// Freeze stops the process where it stands, until Thaw.
func (p *Process) Freeze() { p.signal(syscall.SIGSTOP) }

// Thaw lets a frozen process go on.
func (p *Process) Thaw() { p.signal(syscall.SIGCONT) }

func (p *Process) signal(signal syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.command.Process.Signal(signal) // it may be gone
}

// Log is what all starts of the process wrote so far.
func (p *Process) Log() string { return p.log.String() }

// Run runs another command of a program and returns its exit code and output.
func Run(tb testing.TB, program string, args ...string) (code int, stdout, stderr string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*Patience)
	defer cancel()
	command := exec.CommandContext(ctx, program, args...)
	var out, errs bytes.Buffer
	command.Stdout, command.Stderr = &out, &errs
	err := command.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(tb, err)
	}
	return command.ProcessState.ExitCode(), out.String(), errs.String()
}

// RequireDoctorContent lets the doctor command walk all rows of a database.
func RequireDoctorContent(tb testing.TB, database string) {
	tb.Helper()
	code, stdout, stderr := Run(tb, Program(tb), "doctor", "--database", database)
	require.Zero(tb, code, "%s%s", stdout, stderr)
	require.Contains(tb, stdout, "nothing is wrong")
}

// logBuffer is a buffer that a process writes while others read it.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBuffer) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(text)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
