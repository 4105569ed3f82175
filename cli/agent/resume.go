package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// HookResume resumes the sessions of agents whose deferred calls were decided.
type HookResume struct {
	console.Connection
	Agent       string   `arg:"" enum:"claude-code" help:"Agent to resume: claude-code."`
	AgentID     string   `name:"agent-id" placeholder:"NAME" help:"Agent name of the deferred calls (default: the agent and this computer, as hook install --defer writes it)."`
	Directory   string   `default:"." placeholder:"PATH" help:"Resume only sessions that work in this directory or below (default: the current directory)."`
	Concurrency int      `default:"4" placeholder:"N" help:"Sessions to resume at the same time (default ${default})."`
	Once        bool     `help:"Exit after one session."`
	Command     []string `arg:"" optional:"" passthrough:"" name:"command" help:"Command that starts the agent, after --, without the session (default: claude -p)."`
}

// Help returns the text below the flags in --help.
func (c *HookResume) Help() string {
	return `A worker for the agents of hook install --defer. When the deferred call of a session was decided, it starts the command with --resume and the session's id, in the session's directory. The agent then calls the hook again and gets the decision.

Pass the flags that the agent was started with: holdpoint hook resume claude-code -- claude -p --model opus. A session that cannot be resumed is tried again, five times in all; then its run fails.`
}

// Attempts to resume a session, and the pause before the second one; it doubles.
const (
	resumeAttempts = 5
	resumeDelay    = 2 * time.Second
)

// agentGrace is how long a resumed agent may take to end after it was told to.
const agentGrace = 10 * time.Second

// Run resumes sessions until a signal.
func (c *HookResume) Run(ctx context.Context, terminal *console.Console) error {
	if len(c.Command) > 0 && c.Command[0] == "--" {
		c.Command = c.Command[1:]
	}
	if len(c.Command) == 0 {
		c.Command = []string{"claude", "-p"}
	}
	if c.AgentID == "" {
		c.AgentID = deferringAgent(c.Agent)
	}
	switch {
	case !refusal.ValidID(c.AgentID):
		return console.Usage("--agent-id must have 1 to %d characters of A-Z a-z 0-9 . _ : -", api.MaxIDLength)
	case c.Concurrency < 1:
		return console.Usage("--concurrency must be at least 1")
	}
	if c.Once {
		c.Concurrency = 1
	}
	directory, err := filepath.Abs(c.Directory)
	if err != nil {
		return err
	}
	return c.Call(func(opened *client.Client) error {
		stopping, stop := console.UntilSignal(ctx)
		defer stop()
		claiming, enough := context.WithCancel(stopping)
		defer enough()
		resumer := &resumer{
			HookResume: c, service: opened, under: directory, stopping: stopping, said: terminal,
			stdout: &shared{to: terminal.Stdout}, stderr: &shared{to: terminal.Stderr},
		}
		worker, err := client.NewWorker(opened, client.WorkerOptions{
			AgentIDs: []string{c.AgentID}, Concurrency: c.Concurrency, MaxAttempts: resumeAttempts, RetryDelay: resumeDelay,
			DrainTimeout: 2 * agentGrace, Logger: slog.New(slog.DiscardHandler), OnError: resumer.report,
		})
		if err != nil {
			return err
		}
		terminal.Say("resuming sessions of %s in %s", c.AgentID, directory)
		return worker.Run(claiming, func(ctx context.Context, task *client.Task) error {
			left, err := resumer.resume(ctx, task)
			if c.Once && !left {
				enough()
			}
			return err
		})
	})
}

// deferringAgent returns the default name of an agent whose calls are deferred. It has the name of this
// computer, because sessions are files: a worker of another computer could not resume them.
func deferringAgent(agent string) string {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "host"
	}
	return idOf(agent + ":" + host)
}

// resumer resumes sessions.
type resumer struct {
	*HookResume
	service  *client.Client
	under    string
	stopping context.Context
	said     *console.Console
	// stdout and stderr are shared by the agents that run.
	stdout, stderr io.Writer
}

// report prints an error of the worker. The hook completes the run when it reads the decision, so the
// worker loses its lease or finds the run completed.
func (r *resumer) report(err error) {
	if !errors.Is(err, client.ErrLeaseLost) && !errors.Is(err, client.ErrRunState) {
		r.said.Say("%s", err)
	}
}

// resume starts the agent that waits for the decision of a claimed run. It returns nil once the hook has
// read the decision and the agent has ended. left says that no agent was resumed and the next run is waited for.
func (r *resumer) resume(ctx context.Context, task *client.Task) (left bool, err error) {
	var parked parkedCall
	found, err := task.DecodeCheckpoint(&parked)
	switch {
	case err == nil && !found:
		// A hook waited for it in a process that was silent for longer than its lease. If it comes back, it asks again.
		_, err = r.service.CancelRun(ctx, task.RunID(), api.ErrorAgentGone)
		if errors.Is(err, client.ErrForbidden) {
			return true, r.leave(ctx, task, "its hook was waiting, with another token")
		}
		if err == nil {
			r.said.Say("run %s is withdrawn: its hook was waiting for the decision, and is silent", task.RunID())
		}
		return true, err
	case err != nil || parked.Agent != r.Agent || !refusal.ValidID(parked.SessionID) || strings.HasPrefix(parked.SessionID, "-"):
		// No worker can ever resume it.
		return false, task.Fail(ctx, "it is not a deferred call of "+r.Agent)
	case !within(parked.Cwd, r.under):
		return true, r.leave(ctx, task, fmt.Sprintf("session %s works in %s, which is not below %s", parked.SessionID, parked.Cwd, r.under))
	}
	if err := parked.Process.ended(ctx); err != nil {
		return false, err
	}
	before, err := r.alike(ctx, task)
	if err != nil {
		return false, err
	}
	r.said.Say("resuming session %s in %s", parked.SessionID, parked.Cwd)
	running, stop := context.WithCancel(r.stopping)
	defer stop()
	command := exec.CommandContext(running, r.Command[0], append(r.Command[1:len(r.Command):len(r.Command)], "--resume", parked.SessionID)...)
	command.Dir, command.Env = parked.Cwd, append(os.Environ(), handedVariable+"="+task.RunID()+" "+task.Fence())
	last := &tail{}
	command.Stdout, command.Stderr = r.stdout, io.MultiWriter(r.stderr, last)
	command.WaitDelay = agentGrace
	if runtime.GOOS != "windows" {
		command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	}
	lost := context.AfterFunc(ctx, func() {
		if r.unread(running, task.RunID()) {
			stop() // another worker may claim the run, and one agent is enough
		}
	})
	ended := command.Run()
	lost()
	if task.Attempt() > 1 && ended == nil {
		clear(before) // the agent of an earlier attempt may have asked again, and waits for that
	}
	read, err := r.read(ctx, task.RunID())
	again := false
	if err == nil && !read && r.stopping.Err() == nil {
		again, err = r.asksAgain(ctx, task, before)
	}
	switch {
	case read:
		return false, nil
	case r.stopping.Err() != nil:
		return false, client.ErrWorkerStopped
	case err != nil:
		return false, fmt.Errorf("session %s: the agent has ended, and it is not known whether it asked for its decision: %w", parked.SessionID, err)
	case again:
		// Another attempt would start a second agent in the session once somebody has decided about the new request.
		r.said.Say("session %s asks again: its call is not the one that was decided, for example because it has another directory", parked.SessionID)
		return false, task.Fail(ctx, "the agent asked again, from another directory, with another input or with another plan in its file")
	case ended != nil:
		return false, fmt.Errorf("session %s: the agent did not ask for its decision: %w: %s", parked.SessionID, ended, last)
	default:
		return false, fmt.Errorf("session %s: the agent did not ask for its decision", parked.SessionID)
	}
}

// asksAgain reports whether the resumed agent has made its call as a new request. before are the requests that are
// older than the first agent.
func (r *resumer) asksAgain(ctx context.Context, task *client.Task, before map[string]bool) (bool, error) {
	now, err := r.alike(ctx, task)
	for handle := range now {
		if !before[handle] {
			return true, nil
		}
	}
	return false, err
}

// alike is alikeNow, and waits while the service is away.
func (r *resumer) alike(ctx context.Context, task *client.Task) (map[string]bool, error) {
	var pause console.Backoff
	for {
		handles, err := r.alikeNow(ctx, task)
		switch {
		case err == nil || ctx.Err() != nil || !client.Away(err):
			return handles, err
		case pause.Sleep(r.stopping) != nil:
			return nil, client.ErrWorkerStopped
		}
	}
}

// alikeNow returns the handles of the session's other requests for the call of a claimed run: the open ones, and those
// that were decided later than the run's, for example at once by a rule.
func (r *resumer) alikeNow(ctx context.Context, task *client.Task) (map[string]bool, error) {
	handles := map[string]bool{}
	if task.Resume() == nil {
		return handles, nil
	}
	session, err := r.service.GetSession(ctx, task.SessionID())
	if err != nil {
		return nil, err
	}
	for _, settled := range task.Resume().Approvals {
		for _, open := range session.PendingApprovals {
			if open.ToolCallID == settled.Request.ToolCallID {
				handles[open.Handle] = true
			}
		}
		since := client.DecisionListParams{SessionID: task.SessionID(), SinceMs: settled.Resolution.ResolvedAtMs, Summary: true}
		for decision, err := range r.service.AllDecisions(ctx, since) {
			if err != nil {
				return nil, err
			}
			var request api.ApprovalRequest
			if decision.Kind != api.RequestApproval || decision.RunID == task.RunID() {
				continue
			}
			if err := json.Unmarshal(decision.Request, &request); err != nil {
				return nil, err
			}
			if request.ToolCallID == settled.Request.ToolCallID {
				handles[request.Handle] = true
			}
		}
	}
	return handles, nil
}

// leave releases a run for another worker, and does not count as an attempt to resume it.
func (r *resumer) leave(ctx context.Context, task *client.Task, reason string) error {
	r.said.Say("run %s is left to another worker: %s", task.RunID(), reason)
	_, err := r.service.ReleaseRunFor(ctx, task.RunID(), task.Fence(), resumeDelay)
	return err
}

// unread reports whether the hook has not read the decision of a run whose lease is lost. While the service cannot be
// reached that is not known: an agent that has its decision works on. It returns false when ctx ends.
func (r *resumer) unread(ctx context.Context, runID string) bool {
	for {
		run, err := r.service.GetRun(ctx, runID)
		switch {
		case ctx.Err() != nil:
			return false
		case err == nil:
			return run.Status != api.StatusCompleted
		case !client.Away(err) || console.Sleep(ctx, time.Second) != nil:
			return ctx.Err() == nil
		}
	}
}

// read reports whether the hook has read the decision of a run. It asks until the service answers, even after the
// lease is lost, or until the worker is told to stop.
func (r *resumer) read(ctx context.Context, runID string) (bool, error) {
	var pause console.Backoff
	for {
		asking, stop := context.WithTimeout(context.WithoutCancel(ctx), agentGrace)
		run, err := r.service.GetRun(asking, runID)
		away := client.Away(err) || asking.Err() != nil
		stop()
		switch {
		case err == nil:
			return run.Status == api.StatusCompleted, nil
		case !away || pause.Sleep(r.stopping) != nil:
			return false, err
		}
	}
}

// ended waits until the process has ended: two agents in one session would each go on in their own way.
func (p agentProcess) ended(ctx context.Context) error {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for p.runs(ctx) {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
	}
	return nil
}

// within reports whether a directory is another one or below it.
func within(directory, under string) bool {
	if !filepath.IsAbs(directory) {
		return false
	}
	relative, err := filepath.Rel(resolved(under), resolved(directory))
	return err == nil && filepath.IsLocal(relative)
}

// resolved follows the links of a path, if it exists.
func resolved(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	return path
}

// shared is a writer for several processes.
type shared struct {
	mu sync.Mutex
	to io.Writer
}

func (s *shared) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.to.Write(text)
}

// tail keeps the end of what was written, for an error.
type tail struct{ text []byte }

func (t *tail) Write(text []byte) (int, error) {
	t.text = append(t.text, text...)
	t.text = t.text[max(0, len(t.text)-500):]
	return len(text), nil
}

func (t *tail) String() string { return strings.TrimSpace(strings.ToValidUTF8(string(t.text), "")) }
