package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/examples/agents"
	"github.com/holdpoint/holdpoint/runs/model"
)

// What the demo keeps in its directory.
const (
	demoDatabase   = "holdpoint.db"
	demoListenFile = "url"
	demoLog        = "log"
	demoWork       = "work"
)

// demoProcess is the process with the service and the agents.
type demoProcess struct {
	directory string
	command   *exec.Cmd
	// lifeline ends the process when this one is gone, however that happens.
	lifeline io.Closer
	ended    chan struct{}
}

// start starts the process and returns the service's URL once it takes calls.
func (p *demoProcess) start(ctx context.Context) (url string, err error) {
	program, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	listenFile := filepath.Join(p.directory, demoListenFile)
	_ = os.Remove(listenFile) // of the start before
	log, err := os.OpenFile(filepath.Join(p.directory, demoLog), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return "", fmt.Errorf("make a log: %w", err)
	}
	defer log.Close() // the process has its own
	// It ends with its lifeline and by being killed, not with a context.
	command := &exec.Cmd{
		Path: program, Args: []string{"holdpoint", "demo-service", "--directory", p.directory},
		Dir: p.directory, Stdout: log, Stderr: log,
	}
	lifeline, err := command.StdinPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		return "", fmt.Errorf("start the service: %w", err)
	}
	ended := make(chan struct{})
	go func() {
		_ = command.Wait() // it is killed
		close(ended)
	}()
	p.command, p.lifeline, p.ended = command, lifeline, ended
	ctx, cancel := context.WithTimeout(ctx, demoPatience)
	defer cancel()
	url, err = readListenFile(ctx, listenFile, ended)
	if err != nil {
		said, _ := os.ReadFile(log.Name()) // it may have said nothing
		return "", fmt.Errorf("%w\n%s", err, said)
	}
	return url, nil
}

// readListenFile waits for the file in which a service says its URL.
func readListenFile(ctx context.Context, path string, ended <-chan struct{}) (url string, err error) {
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

func (p *demoProcess) pid() int { return p.command.Process.Pid }

// kill ends the process at once, as kill -9 does, and waits until it is gone.
func (p *demoProcess) kill() {
	if p.command == nil {
		return
	}
	_ = p.command.Process.Kill() // it may be gone
	<-p.ended
	_ = p.lifeline.Close()
}

// killed kills the process, which must have been there until then.
func (p *demoProcess) killed() error {
	select {
	case <-p.ended:
		return fmt.Errorf("process %d ended before it was killed: %s", p.pid(), p.command.ProcessState)
	default:
		p.kill()
		return nil
	}
}

// demoServiceCommand is the other process of the demo: the service and both agents.
type demoServiceCommand struct {
	Directory string `required:"" help:"The demo's directory."`
}

// Run serves and works until stdin ends, which is when the demo is gone.
func (c *demoServiceCommand) Run(ctx context.Context, console *console) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, console.stdin)
		cancel()
	}()
	quiet := *console
	quiet.stdout = io.Discard
	listenFile := filepath.Join(c.Directory, demoListenFile)
	service := serveCommand{
		databaseFlag: databaseFlag{Database: "sqlite:" + demoDatabase}, // in its own directory, whatever the name of that
		Listen:       "127.0.0.1:0", ListenFile: listenFile, Migrate: "on", MaxAttempts: 10,
		Dialects: []string{noDialects}, DefaultAgent: model.DefaultAgentID, RelayAlways: "exact",
		IdempotencyRetention: 168 * time.Hour, ShutdownTimeout: time.Second, LogLevel: slog.LevelError, LogFormat: "text",
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer cancel() // without it there is nothing to work for
		return service.Run(ctx, &quiet)
	})
	group.Go(func() error {
		url, err := readListenFile(ctx, listenFile, ctx.Done())
		if err != nil {
			return err
		}
		return c.work(ctx, url)
	})
	return group.Wait()
}

// demoLease is short, so that the run of a worker that is killed comes back soon.
const demoLease = 2 * time.Second

// work runs both agents.
func (c *demoServiceCommand) work(ctx context.Context, url string) error {
	connected, err := client.New(url)
	if err != nil {
		return err
	}
	defer connected.Close()
	directory := filepath.Join(c.Directory, demoWork)
	group, ctx := errgroup.WithContext(ctx)
	for agentID, handle := range map[string]client.Handler{
		agents.ShellPlanAgent: (&agents.ShellPlan{Directory: directory}).Handle,
		agents.InterviewAgent: (&agents.Interview{Directory: directory}).Handle,
	} {
		worker, err := client.NewWorker(connected, client.WorkerOptions{
			AgentIDs: []string{agentID}, LeaseMs: demoLease.Milliseconds(), PollWait: time.Second,
		})
		if err != nil {
			return err
		}
		group.Go(func() error { return worker.Run(ctx, handle) })
	}
	return group.Wait()
}
