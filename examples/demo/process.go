package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// patience bounds every wait that does not depend on the person.
const patience = 30 * time.Second

// process is the process with the service and the agents.
type process struct {
	command *exec.Cmd
	// lifeline ends the process when this one has ended, for whatever reason.
	lifeline io.Closer
	ended    chan struct{}
}

// start starts the process and returns the service's URL once it is ready.
func (p *process) start(ctx context.Context, d *Demo) (url string, err error) {
	urlFile := filepath.Join(d.Directory, URLFile)
	_ = os.Remove(urlFile) // from the previous start
	log, err := os.OpenFile(filepath.Join(d.Directory, logFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return "", fmt.Errorf("make a log: %w", err)
	}
	defer log.Close() // the process has its own copy
	// No CommandContext: the process ends with its lifeline or is killed.
	arguments := d.Arguments
	if d.url != "" {
		// Keep the address, so that open pages reconnect.
		arguments = append(slices.Clone(arguments), "--listen", strings.TrimPrefix(d.url, "http://"))
	}
	command := &exec.Cmd{Path: d.Program, Args: arguments, Dir: d.Directory, Stdout: log, Stderr: log}
	lifeline, err := command.StdinPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		return "", fmt.Errorf("start the service: %w", err)
	}
	ended := make(chan struct{})
	go func() {
		_ = command.Wait() // it was killed
		close(ended)
	}()
	p.command, p.lifeline, p.ended = command, lifeline, ended
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	url, err = readURL(ctx, urlFile, ended)
	if err != nil {
		said, _ := os.ReadFile(log.Name()) // it may be empty
		return "", fmt.Errorf("%w\n%s", err, said)
	}
	return url, nil
}

// readURL waits for the file with the service's URL.
func readURL(ctx context.Context, path string, ended <-chan struct{}) (url string, err error) {
	for {
		if text, err := os.ReadFile(path); err == nil && len(text) > 0 {
			return strings.TrimSpace(string(text)), nil
		}
		select {
		case <-ended:
			return "", errors.New("the service ended before it took calls")
		default:
		}
		if err := sleep(ctx, 10*time.Millisecond); err != nil {
			return "", fmt.Errorf("the service does not take calls: %w", err)
		}
	}
}

func (p *process) pid() int { return p.command.Process.Pid }

// kill kills the process like kill -9, and waits until it has ended.
func (p *process) kill() {
	if p.command == nil {
		return
	}
	_ = p.command.Process.Kill() // it may have ended
	<-p.ended
	_ = p.lifeline.Close()
}

// killRunning kills the process, and returns an error if it had already ended.
func (p *process) killRunning() error {
	select {
	case <-p.ended:
		return fmt.Errorf("process %d ended before it was killed: %s", p.pid(), p.command.ProcessState)
	default:
		p.kill()
		return nil
	}
}

// sleep waits for a duration. If ctx ends first, it returns the cause.
func sleep(ctx context.Context, pause time.Duration) error {
	select {
	case <-time.After(pause):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
