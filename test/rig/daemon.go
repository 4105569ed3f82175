//go:build unix

package rig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// daemon is a process that runs in the background and writes to a log file.
type daemon struct {
	command *exec.Cmd
	ended   chan struct{}
}

// startDaemon starts a command that appends its output to a file. The kernel ends it when this
// process dies. That signal is sent when the starting thread ends, so a goroutine keeps the thread
// while the command runs.
func startDaemon(command *exec.Cmd, account *syscall.Credential, logPath string) (*daemon, error) {
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	command.Stdout, command.Stderr = log, log
	if command.SysProcAttr = endWithParent(); command.SysProcAttr == nil {
		command.SysProcAttr = &syscall.SysProcAttr{}
	}
	command.SysProcAttr.Credential = account
	d := &daemon{command: command, ended: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(d.ended)
		err := command.Start()
		started <- err
		if err == nil {
			_ = command.Wait() // its ProcessState says how it ended
		}
	}()
	if err := <-started; err != nil {
		<-d.ended
		return nil, fmt.Errorf("start %s: %w", command.Path, err)
	}
	return d, nil
}

// awaitReady polls until ready returns nil. It returns an error when the process ends before
// that, or after [Patience].
func (d *daemon) awaitReady(ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-d.ended:
			return errors.New("the process ended at its start")
		case <-ctx.Done():
			return fmt.Errorf("the process does not become ready: %w", err)
		case <-tick.C:
		}
	}
}

// signal sends a signal to the process, if it is still there, and waits for its end when it is
// one that ends it, and until it stands still when it is one that stops it.
func (d *daemon) signal(signal syscall.Signal) {
	err := d.command.Process.Signal(signal) // it may be gone
	switch {
	case signal == syscall.SIGKILL || signal == syscall.SIGTERM || signal == syscall.SIGINT:
		<-d.ended
	case signal == syscall.SIGSTOP && err == nil:
		awaitStopped(d.command.Process.Pid)
	}
}

// slot holds the daemon that runs now, if one does.
type slot struct {
	mu  sync.Mutex
	now *daemon
}

// start fills the slot. It returns an error when it is taken.
func (s *slot) start(command *exec.Cmd, account *syscall.Credential, logPath string, ready func(context.Context) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now != nil {
		return errors.New(command.Path + " runs already")
	}
	started, err := startDaemon(command, account, logPath)
	if err != nil {
		return err
	}
	if err := started.awaitReady(ready); err != nil {
		started.signal(syscall.SIGKILL)
		log, _ := os.ReadFile(logPath)
		return fmt.Errorf("%w: %s", err, log)
	}
	s.now = started
	return nil
}

// end ends the daemon, if there is one, and empties the slot.
func (s *slot) end(end func(*daemon)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now != nil {
		end(s.now)
		s.now = nil
	}
}
