package cli_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
)

// process is a program in the background of a script. Its output goes to files, so that no
// test waits for a pipe that a child process keeps open.
type process struct {
	command *exec.Cmd
	ended   chan struct{}
	out     string
	err     string
}

type (
	processes    map[string]*process
	processesKey struct{}
)

// killAll kills the remaining processes and their children.
func (p processes) killAll() {
	for _, running := range p {
		_ = syscall.Kill(-running.command.Process.Pid, syscall.SIGKILL) // it may have ended
		<-running.ended
	}
}

func started(ts *testscript.TestScript, name string) *process {
	found := ts.Value(processesKey{}).(processes)[name]
	if found == nil {
		ts.Fatalf("no process %s", name)
	}
	return found
}

func start(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: start NAME [<FILE] PROGRAM ARGS…")
	}
	name, args := args[0], args[1:]
	input, withInput := strings.CutPrefix(args[0], "<")
	if withInput {
		args = args[1:]
	}
	work := ts.Getenv("WORK")
	running := &process{
		command: exec.Command(args[0], args[1:]...), ended: make(chan struct{}),
		out: filepath.Join(work, "."+name+".out"), err: filepath.Join(work, "."+name+".err"),
	}
	running.command.Dir = ts.MkAbs(".")
	running.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	for _, variable := range []string{"PATH", "HOME", "TMPDIR", "WORK", "HOLDPOINT_SERVER", "HOLDPOINT_TOKEN", "HOLDPOINT_ACTOR", "HOLDPOINT_DATABASE", "CLAUDE_CODE_ENTRYPOINT", "THEIRS", "TRANSCRIPT"} {
		if value := ts.Getenv(variable); value != "" {
			running.command.Env = append(running.command.Env, variable+"="+value)
		}
	}
	out, err := os.Create(running.out)
	ts.Check(err)
	defer out.Close()
	errs, err := os.Create(running.err)
	ts.Check(err)
	defer errs.Close()
	running.command.Stdout, running.command.Stderr = out, errs
	if withInput {
		in, err := os.Open(ts.MkAbs(input))
		ts.Check(err)
		defer in.Close()
		running.command.Stdin = in
	}
	ts.Check(running.command.Start())
	ts.Value(processesKey{}).(processes)[name] = running
	go func() {
		defer close(running.ended)
		_ = running.command.Wait() // ends reads the process state
	}()
}

func signalProcess(ts *testscript.TestScript, neg bool, args []string) {
	needs(ts, neg, args, 2, 2)
	signals := map[string]os.Signal{"KILL": syscall.SIGKILL, "TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "STOP": syscall.SIGSTOP, "CONT": syscall.SIGCONT, "HUP": syscall.SIGHUP}
	ts.Check(started(ts, args[0]).command.Process.Signal(signals[args[1]]))
}

func ends(ts *testscript.TestScript, neg bool, args []string) {
	needs(ts, neg, args, 2, 2)
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	running := started(ts, args[0])
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	select {
	case <-running.ended:
	case <-ctx.Done():
		ts.Logf("%s", ts.ReadFile(running.err))
		ts.Fatalf("%s did not end", args[0])
	}
	_, err = ts.Stdout().Write([]byte(ts.ReadFile(running.out)))
	ts.Check(err)
	_, err = ts.Stderr().Write([]byte(ts.ReadFile(running.err)))
	ts.Check(err)
	state := running.command.ProcessState
	got := state.ExitCode()
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		got = 128 + int(status.Signal())
	}
	delete(ts.Value(processesKey{}).(processes), args[0])
	if got != want {
		ts.Fatalf("%s ended with %d, want %d:\n%s", args[0], got, want, ts.ReadFile(running.err))
	}
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARGS…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var ended *exec.ExitError
	switch {
	case errors.As(err, &ended):
		got = ended.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// awaitEntry waits until a directory has an entry.
func awaitEntry(ts *testscript.TestScript, neg bool, args []string) {
	needs(ts, neg, args, 1, 1)
	await(ts, args[0], func(context.Context) (bool, error) {
		entries, err := os.ReadDir(ts.MkAbs(args[0]))
		return len(entries) > 0, err
	})
}
