package cli_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/test/rig"
)

// terminal runs the program with a person at a terminal.
type terminal struct {
	t       *testing.T
	command *exec.Cmd
	keys    io.WriteCloser
	ended   chan struct{}

	mu   sync.Mutex
	text bytes.Buffer
	seen int
}

// atTerminal starts the program in a new terminal, using script from util-linux.
func atTerminal(t *testing.T, environment []string, line string) *terminal {
	t.Helper()
	script := rig.Need(t, "script")
	s := &terminal{t: t, ended: make(chan struct{})}
	s.command = exec.Command(script, "--quiet", "--return", "--command", line, os.DevNull)
	s.command.Env = append(os.Environ(), environment...)
	s.command.Stdout, s.command.Stderr = s, s
	s.command.WaitDelay = time.Second
	keys, err := s.command.StdinPipe()
	require.NoError(t, err)
	s.keys = keys
	require.NoError(t, s.command.Start())
	go func() {
		_ = s.command.Wait() // ends reads the process state
		close(s.ended)
	}()
	t.Cleanup(func() { _ = s.command.Process.Kill() }) // usually it has ended already
	return s
}

// Write receives the terminal's output.
func (s *terminal) Write(piece []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(piece)
}

func (s *terminal) shown() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// sees waits until new output matches, and returns the groups.
func (s *terminal) sees(pattern string) []string {
	s.t.Helper()
	awaited := regexp.MustCompile(pattern)
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for {
		text := s.shown()
		if at := awaited.FindStringSubmatchIndex(text[s.seen:]); at != nil {
			groups := awaited.FindStringSubmatch(text[s.seen:])
			s.seen += at[1]
			return groups
		}
		select {
		case <-ticker.C:
		case <-deadline.C:
			require.FailNow(s.t, "the terminal does not show it", "%s\n%s", pattern, text)
		}
	}
}

func (s *terminal) types(keys string) {
	s.t.Helper()
	_, err := io.WriteString(s.keys, keys)
	require.NoError(s.t, err)
}

// ends waits for the program and returns its exit code.
func (s *terminal) ends() int {
	s.t.Helper()
	select {
	case <-s.ended:
	case <-time.After(patience):
		require.FailNow(s.t, "it does not end", s.shown())
	}
	return s.command.ProcessState.ExitCode()
}

// pid parses a process id.
func pid(t *testing.T, text string) int {
	t.Helper()
	number, err := strconv.Atoi(text)
	require.NoError(t, err)
	return number
}

// gone waits until a process no longer exists.
func gone(t *testing.T, pid int) {
	t.Helper()
	require.Eventually(t, func() bool { return !running(pid) }, patience, 5*time.Millisecond)
}

func requireEmpty(t *testing.T, directory string) {
	t.Helper()
	entries, err := os.ReadDir(directory)
	require.NoError(t, err)
	require.Empty(t, entries)
}

// At a terminal the person decides.
func TestDemoAtATerminal(t *testing.T) {
	t.Parallel()
	temporary := t.TempDir()
	s := atTerminal(t, []string{"TMPDIR=" + temporary}, "holdpoint demo")
	first := pid(t, s.sees(`run in process (\d+),`)[1])
	s.sees(`wants to run: mkdir build`)
	s.sees(`Allow it\? \[y/n\] $`)
	s.types("y\n")
	s.sees(`wants to run: touch build/old`)
	s.sees(`Allow it\? \[y/n\] $`)
	s.types("\n")
	s.sees(`Please say yes or no`)
	s.sees(`Allow it\? \[y/n\] $`)
	s.types("no\n")
	again := s.sees(`Started again as process (\d+)`)
	require.NotEqual(t, first, pid(t, again[1]))
	s.sees(`wants to run: rm -rf build`)
	s.sees(`Allow it\? \[y/n\] $`)
	s.types("Y\n")
	s.sees(`denied: touch build/old`)
	s.sees(`done: rm -rf build`)
	s.sees(`called\?\s+answer: $`)
	s.types("orders\n")
	s.sees(`id or label: $`)
	s.types("mysql\n")
	s.sees(`"mysql" is none of the options`)
	s.sees(`id or label: $`)
	s.types("1\n")
	s.sees(`free text only\): $`)
	s.types("auth, 2\n")
	s.sees(`for none\): $`)
	s.types("a map\n")
	s.sees(`value as JSON: $`)
	s.types("11\n")
	s.sees(`maximum: got 11, want 10`)
	s.sees(`value as JSON: $`)
	s.types("2\n")
	s.sees(`(?s)name: "orders".*database: "postgres".*replicas: 2.*"auth".*"tracing".*"a map"`)
	s.sees(`Nothing was lost, and nothing ran twice`)
	require.Zero(t, s.ends())
	gone(t, first)
	gone(t, pid(t, again[1]))
	requireEmpty(t, temporary)
}

// elsewhere returns a client for a person away from the demo's terminal.
func elsewhere(t *testing.T, url string) *client.Client {
	t.Helper()
	connected, err := client.New(url, client.WithActor("mara"))
	require.NoError(t, err)
	t.Cleanup(connected.Close)
	return connected
}

// decide decides the demo's current approval, or answers its questions. It makes no other call after an approval: the demo may
// kill its service at once.
func decide(ctx context.Context, elsewhere *client.Client) error {
	for item, err := range elsewhere.AllApprovals(ctx, client.PendingListParams{}) {
		if err != nil {
			return err
		}
		_, err := elsewhere.ResolveRunApprovals(ctx, item.RunID, client.ResolveApprovalsParams{Resolutions: []api.ApprovalResolution{{
			RequestID: item.Request.ID, Behavior: api.BehaviorAllow,
		}}})
		return err
	}
	for item, err := range elsewhere.AllQuestions(ctx, client.PendingListParams{}) {
		if err != nil {
			return err
		}
		resolution := api.UserQuestionResolution{RequestID: item.Request.ID}
		for _, question := range item.Request.Questions {
			answer := api.UserQuestionAnswer{QuestionID: question.ID}
			if len(question.Options) > 0 {
				answer.SelectedOptionIDs = []string{question.Options[0].ID}
			} else {
				answer.FreeformAnswer = "orders"
			}
			resolution.Answers = append(resolution.Answers, answer)
		}
		if len(item.Request.Questions) == 0 {
			resolution.Value = api.JSON("3")
		}
		if _, err := elsewhere.AnswerRunQuestion(ctx, item.RunID, client.AnswerQuestionParams{Resolution: resolution}); err != nil {
			return err
		}
	}
	return nil
}

// A person who decides in the inbox sees the request there, and the terminal does not ask.
func TestDemoInTheInbox(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	opened := filepath.Join(directory, "opened")
	require.NoError(t, os.WriteFile(filepath.Join(directory, "xdg-open"), []byte("#!/bin/sh\necho \"$1\" > "+opened+"\n"), 0o700))
	s := atTerminal(t, []string{"TMPDIR=" + t.TempDir(), "PATH=" + directory + ":" + os.Getenv("PATH")}, "holdpoint demo --open")
	for prompt := range 4 {
		if prompt == 2 {
			s.sees(`Started again as process`)
		}
		url := s.sees(`Decide in the inbox: (http://\S+)`)[1]
		require.NoError(t, decide(t.Context(), elsewhere(t, url)))
		s.sees(`Decided elsewhere: (allowed|answered) by mara`)
		address, err := os.ReadFile(opened)
		require.NoError(t, err)
		require.Equal(t, url, strings.TrimSpace(string(address)), "the page that is open finds the service again")
	}
	s.sees(`Nothing was lost, and nothing ran twice`)
	require.Zero(t, s.ends())
}

// A prompt at the terminal ends when another person decides, and the demo continues.
func TestDemoIsDecidedElsewhere(t *testing.T) {
	t.Parallel()
	s := atTerminal(t, []string{"TMPDIR=" + t.TempDir()}, "holdpoint demo")
	mara := elsewhere(t, s.sees(`at (http://\S+?)\.\s`)[1])
	for range 3 {
		s.sees(`Allow it\? \[y/n\] $`)
		require.NoError(t, decide(t.Context(), mara))
		s.sees(`Decided elsewhere: allowed by mara`)
	}
	s.sees(`called\?\s+answer: $`)
	require.NoError(t, decide(t.Context(), mara))
	s.sees(`Decided elsewhere: answered by mara`)
	s.sees(`Nothing was lost, and nothing ran twice`)
	require.Zero(t, s.ends())
}

// Another person may decide before the demo looks.
func TestDemoIsOvertaken(t *testing.T) {
	t.Parallel()
	s := atTerminal(t, []string{"TMPDIR=" + t.TempDir()}, "holdpoint demo")
	mara := elsewhere(t, s.sees(`at (http://\S+?)\.\s`)[1])
	ctx, cancel := context.WithCancel(t.Context())
	var decided sync.WaitGroup
	decided.Go(func() {
		for _, err := range mara.StreamInbox(ctx) {
			if err == nil {
				_ = decide(ctx, mara) // the service may be down, or the demo faster
			}
		}
	})
	s.sees(`Nothing was lost, and nothing ran twice`)
	require.Zero(t, s.ends())
	cancel()
	decided.Wait()
}

// An interrupted demo leaves nothing behind.
func TestDemoIsInterrupted(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		keys string
		code int
		says string
	}{
		"ctrl-c":           {"\x03", 130, "nothing is left of the demo"},
		"end of the input": {"\x04", 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			temporary := t.TempDir()
			s := atTerminal(t, []string{"TMPDIR=" + temporary}, "holdpoint demo")
			service := pid(t, s.sees(`run in process (\d+),`)[1])
			s.sees(`Allow it\? \[y/n\] $`)
			s.types(test.keys)
			require.Equal(t, test.code, s.ends(), s.shown())
			require.Contains(t, s.shown(), test.says)
			gone(t, service)
			requireEmpty(t, temporary)
		})
	}
}

// If the demo itself is killed, the service ends, too, at a terminal (which hangs up) and
// without one.
func TestDemoIsKilledWithoutATerminal(t *testing.T) {
	t.Parallel()
	demo := exec.Command("holdpoint", "demo", "--directory", t.TempDir())
	told, err := demo.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, demo.Start())
	lines := bufio.NewScanner(told)
	for lines.Scan() && !strings.Contains(lines.Text(), "run in process") {
	}
	service := pid(t, regexp.MustCompile(`run in process (\d+),`).FindStringSubmatch(lines.Text())[1])
	require.NoError(t, demo.Process.Kill())
	require.Error(t, demo.Wait(), "it was killed in the middle")
	gone(t, service)
}

func TestDemoIsKilled(t *testing.T) {
	t.Parallel()
	s := atTerminal(t, []string{"TMPDIR=" + t.TempDir()}, "echo demo is $$; exec holdpoint demo")
	demo := pid(t, s.sees(`demo is (\d+)`)[1])
	service := pid(t, s.sees(`run in process (\d+),`)[1])
	s.sees(`Allow it\? \[y/n\] $`)
	require.NotEqual(t, demo, service)
	require.NoError(t, syscall.Kill(demo, syscall.SIGKILL))
	s.ends()
	gone(t, service)
}

// If the second process cannot start, the demo prints its reason.
func TestDemoSaysWhyItCannotStart(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(directory, "holdpoint.db"), 0o700))
	demo := exec.CommandContext(t.Context(), "holdpoint", "demo", "--directory", directory)
	said, err := demo.CombinedOutput()
	require.Error(t, err)
	require.Equal(t, 1, demo.ProcessState.ExitCode())
	require.Contains(t, string(said), "the service ended before it took calls")
	require.Contains(t, strings.ToLower(string(said)), "is a directory")
}
