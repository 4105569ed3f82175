//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/holdpoint/holdpoint/bench/load"
)

// readyTimeout bounds the start of a server.
const readyTimeout = 30 * time.Second

// process is a server in the background.
type process struct {
	command *exec.Cmd
	ended   chan struct{}
	logPath string
}

// startProcess starts a server that is killed with this program. Its output goes to a file.
func startProcess(command *exec.Cmd, logPath string, account *syscall.Credential) (*process, error) {
	log, err := os.Create(logPath)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = endWithParent(account)
	if err := command.Start(); err != nil {
		return nil, err
	}
	p := &process{command: command, ended: make(chan struct{}), logPath: logPath}
	go func() {
		_ = command.Wait() // its log says how it ended
		close(p.ended)
	}()
	return p, nil
}

// awaitReady calls ready until it returns true.
func (p *process) awaitReady(ctx context.Context, ready func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	for !ready() {
		select {
		case <-p.ended:
			text, _ := os.ReadFile(p.logPath)
			return fmt.Errorf("%s ended at its start: %s", p.command.Path, text)
		case <-ctx.Done():
			return fmt.Errorf("%s does not become ready: %w", p.command.Path, ctx.Err())
		case <-time.After(10 * time.Millisecond):
		}
	}
	return nil
}

// stop shuts the server down. It returns an error if the server had ended by itself.
func (p *process) stop(signal os.Signal) error {
	select {
	case <-p.ended:
		text, _ := os.ReadFile(p.logPath)
		return fmt.Errorf("%s ended by itself: %s", p.command.Path, text)
	default:
	}
	err := p.command.Process.Signal(signal)
	<-p.ended
	return err
}

// startService starts "holdpoint serve" with default settings and its own directory, and
// returns its URL once it is ready.
func startService(ctx context.Context, program, database, directory string) (*process, string, error) {
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return nil, "", err
	}
	file := filepath.Join(directory, "url")
	command := exec.CommandContext(ctx, program, "serve", "--database", database,
		"--listen", "127.0.0.1:0", "--listen-file", file, "--log-level", "warn")
	// It uses the defaults, whatever is set in this environment.
	command.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "HOLDPOINT_") })
	p, err := startProcess(command, filepath.Join(directory, "serve.log"), nil)
	if err != nil {
		return nil, "", err
	}
	var url string
	err = p.awaitReady(ctx, func() bool {
		text, err := os.ReadFile(file)
		url = strings.TrimSpace(string(text))
		return err == nil && url != ""
	})
	if err != nil {
		return nil, "", errors.Join(err, p.stop(os.Kill))
	}
	return p, url, nil
}

// runLoad runs a load to its end and returns its result. It calls mark at the start and at
// the end of the measured time; the clients continue until it returns.
func runLoad(ctx context.Context, command []string, options load.Options, mark func(pid int)) (result *load.Result, err error) {
	process := exec.CommandContext(ctx, command[0], append(slices.Clone(command[1:]), options.Arguments()...)...)
	process.SysProcAttr = endWithParent(nil)
	var complaint strings.Builder
	process.Stderr = &complaint
	lines, err := process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	acknowledge, err := process.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := process.Start(); err != nil {
		return nil, err
	}
	pid := process.Process.Pid
	decoder := json.NewDecoder(lines)
	for {
		var line load.Line
		if err = decoder.Decode(&line); err != nil {
			break
		}
		if line.Mark != "" {
			mark(pid)
			_, _ = io.WriteString(acknowledge, "\n") // the exit of a load that has ended reports it
		}
		if line.Result != nil {
			result = line.Result
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if err = errors.Join(err, process.Wait()); err == nil && result == nil {
		err = errors.New("no result")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", filepath.Base(command[0]), err, strings.TrimSpace(complaint.String()))
	}
	return result, nil
}
