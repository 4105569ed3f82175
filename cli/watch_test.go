package cli_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// shown is the terminal output so far.
type shown struct {
	mu    sync.Mutex
	text  bytes.Buffer
	grown chan struct{}
}

func (s *shown) readFrom(terminal *os.File) {
	chunk := make([]byte, 4096)
	for {
		n, err := terminal.Read(chunk)
		s.mu.Lock()
		s.text.Write(chunk[:n])
		s.mu.Unlock()
		select {
		case s.grown <- struct{}{}:
		default:
		}
		if err != nil {
			return // the program has ended
		}
	}
}

// until waits until the screen has shown a text since the previous call.
func (s *shown) until(t *testing.T, text string) {
	t.Helper()
	s.either(t, text)
}

// either waits until the screen has shown one of the texts since the previous call, and returns which came first.
func (s *shown) either(t *testing.T, texts ...string) (which int) {
	t.Helper()
	late := time.After(patience)
	for {
		s.mu.Lock()
		first := -1
		for i, text := range texts {
			if at := bytes.Index(s.text.Bytes(), []byte(text)); at >= 0 && (first < 0 || at < first) {
				first, which = at, i
			}
		}
		if first >= 0 {
			s.text.Next(first + len(texts[which]))
		}
		s.mu.Unlock()
		if first >= 0 {
			return which
		}
		select {
		case <-s.grown:
		case <-late:
			require.FailNow(t, "never shown", "%q in %q", texts, s.text.String())
		}
	}
}

// watch on a pseudo-terminal: pending requests are shown, a key decides one, and another
// person's decision is reported.
func TestWatchOnATerminal(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, append(inMemory(t), "--listen", "127.0.0.1:0")...)
	c, err := client.New(url, client.WithActor("ada"))
	require.NoError(t, err)
	t.Cleanup(c.Close)
	ask := func(runID, command string) *client.CreatedRun {
		run, err := c.CreateRun(t.Context(), client.CreateRunParams{RunID: runID, Input: "x", Suspend: &api.Suspension{Approvals: []api.ApprovalRequest{
			{ID: runID + "-ask", ToolCallID: "c", ToolName: "bash", Input: api.JSON(`{"command":"` + command + `"}`)},
		}}})
		require.NoError(t, err)
		return run
	}
	ask("one", "make")

	program := exec.CommandContext(context.WithoutCancel(t.Context()), "holdpoint", "watch", "--server", url)
	program.Env = append(os.Environ(), "TERM=xterm-256color", "VISUAL=sed -i s/three/four/")
	terminal, err := pty.StartWithSize(program, &pty.Winsize{Rows: 24, Cols: 100})
	require.NoError(t, err)
	defer terminal.Close()
	screen := &shown{grown: make(chan struct{}, 1)}
	go screen.readFrom(terminal)
	press := func(key string) {
		_, err := terminal.WriteString(key)
		require.NoError(t, err)
	}

	screen.until(t, "bash: make")
	press("j")
	screen.until(t, "Press a to allow it")
	press("a")
	decided, err := c.AwaitRun(t.Context(), "one", client.UntilDecided, patience)
	require.NoError(t, err)
	require.Equal(t, api.StatusRunning, decided.Status)
	require.Equal(t, "api:cli", decided.Resume.Approvals[0].Resolution.Via)

	// The next request is shown and selected; somebody else denies it, and a late key
	// decides nothing. A row that takes the place of another one is drawn only where it differs, so no
	// command here begins as another does.
	two := ask("two", "install")
	screen.until(t, "install")
	press("j")
	screen.until(t, ">")
	_, err = c.ResolveRunApprovals(t.Context(), "two", client.ResolveApprovalsParams{Resolutions: []api.ApprovalResolution{
		{RequestID: two.PendingApprovals[0].ID, Behavior: api.BehaviorDeny},
	}})
	require.NoError(t, err)
	screen.until(t, "denied")
	press("a")
	screen.until(t, "choose")

	// An editor takes the terminal, and the person confirms the changes.
	ask("three", "run three")
	screen.until(t, "run three")
	press("j")
	screen.until(t, "Press a to allow it")
	press("e")
	screen.until(t, "Allow the edited input?")
	press("y\r")
	edited, err := c.AwaitRun(t.Context(), "three", client.UntilDecided, patience)
	require.NoError(t, err)
	require.JSONEq(t, `{"command":"run four"}`, string(edited.Resume.Approvals[0].Resolution.UpdatedInput))

	// A question takes the terminal for an answer in the person's own words.
	_, err = c.CreateRun(t.Context(), client.CreateRunParams{RunID: "five", Input: "x", Suspend: &api.Suspension{Questions: []api.UserQuestionRequest{
		{ID: "q", ToolCallID: "c", Questions: []api.UserQuestion{{ID: "where", Header: "h", Question: "Where to?"}}},
	}}})
	require.NoError(t, err)
	screen.until(t, "Where to?")
	press("j")
	screen.until(t, ">")
	press("a")
	screen.until(t, "answer: ")
	press("to staging\r")
	answered, err := c.AwaitRun(t.Context(), "five", client.UntilDecided, patience)
	require.NoError(t, err)
	require.Equal(t, "to staging", answered.Resume.Questions[0].Resolution.Answers[0].FreeformAnswer)
	press("q")
	require.NoError(t, program.Wait())
}
