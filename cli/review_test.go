package cli_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// small is a program on a pseudo-terminal of 20 lines.
type small struct {
	t        *testing.T
	program  *exec.Cmd
	terminal *os.File
	screen   *shown
}

// begin starts holdpoint with lines that were typed before.
func begin(t *testing.T, typed string, args ...string) *small {
	t.Helper()
	program := exec.CommandContext(context.WithoutCancel(t.Context()), "holdpoint", args...)
	program.Env = append(os.Environ(), "TERM=xterm-256color")
	terminal, err := pty.StartWithSize(program, &pty.Winsize{Rows: 20, Cols: 80})
	require.NoError(t, err)
	t.Cleanup(func() { _ = terminal.Close() })
	_, err = terminal.WriteString(typed)
	require.NoError(t, err)
	screen := &shown{grown: make(chan struct{}, 1)}
	go screen.readFrom(terminal)
	return &small{t, program, terminal, screen}
}

const tooSoon = "typed before you could read this"

// say repeats a line until it is taken: one that comes too soon is dropped.
func (s *small) say(line string, answers ...string) {
	s.t.Helper()
	for {
		_, err := s.terminal.WriteString(line + "\r")
		require.NoError(s.t, err)
		if s.screen.either(s.t, append(answers, tooSoon)...) < len(answers) {
			return
		}
	}
}

// allow-all on a pseudo-terminal: its list is read to the end, and what is typed before that agrees to nothing.
func TestAllowAllOnATerminal(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, append(inMemory(t), "--listen", "127.0.0.1:0")...)
	c, err := client.New(url, client.WithActor("ada"))
	require.NoError(t, err)
	t.Cleanup(c.Close)
	var asked []api.ApprovalRequest
	for i := range 12 {
		asked = append(asked, api.ApprovalRequest{ID: fmt.Sprintf("a-%d", i), ToolCallID: "c", ToolName: "bash", Input: api.JSON(`{"command":"make"}`)})
	}
	_, err = c.CreateRun(t.Context(), client.CreateRunParams{RunID: "all", Input: "x", Suspend: &api.Suspension{Approvals: asked}})
	require.NoError(t, err)
	open := func() int {
		view, err := c.GetRun(t.Context(), "all")
		require.NoError(t, err)
		return len(view.PendingApprovals)
	}
	at := begin(t, "y\ry\r", "approvals", "allow-all", "--server", url)
	for range 2 {
		at.screen.until(t, tooSoon)
	}
	at.say("y", "nothing was decided") // before the end
	require.Error(t, at.program.Wait())
	require.Equal(t, 12, open())

	at = begin(t, "", "approvals", "allow-all", "--server", url)
	at.screen.until(t, "[enter] reads on")
	for {
		_, err := at.terminal.WriteString("\r")
		require.NoError(t, err)
		if at.screen.either(t, "Allow 12 requests in 1 session?", "[enter] reads on") == 0 {
			break
		}
	}
	at.say("y", "allowed 12 approvals in 1 session")
	require.NoError(t, at.program.Wait())
	require.Zero(t, open())
}

// deny-all on a pseudo-terminal shows what it would deny and asks, and denies nothing that was raised meanwhile.
func TestDenyAllOnATerminal(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, append(inMemory(t), "--listen", "127.0.0.1:0")...)
	c, err := client.New(url, client.WithActor("ada"))
	require.NoError(t, err)
	t.Cleanup(c.Close)
	ask := func(runID, command string) {
		_, err := c.CreateRun(t.Context(), client.CreateRunParams{RunID: runID, Input: "x", Suspend: &api.Suspension{Approvals: []api.ApprovalRequest{
			{ID: runID + "-ask", ToolCallID: "c", ToolName: "bash", Input: api.JSON(`{"command":"` + command + `"}`)},
		}}})
		require.NoError(t, err)
	}
	status := func(runID string) api.Status {
		view, err := c.GetRun(t.Context(), runID)
		require.NoError(t, err)
		return view.Status
	}
	ask("one", `make\nmake install`)
	at := begin(t, "", "approvals", "deny-all", "--server", url)
	at.screen.until(t, "│ make install")
	at.screen.until(t, "Deny 1 request in 1 session?")
	at.say("n", "nothing was decided")
	require.Error(t, at.program.Wait())
	require.Equal(t, api.StatusWaitingForApproval, status("one"))

	at = begin(t, "", "approvals", "deny-all", "--server", url)
	at.screen.until(t, "Deny 1 request in 1 session?")
	ask("two", "later")
	at.say("y", "denied 1 approval in 1 session")
	require.NoError(t, at.program.Wait())
	require.NotEqual(t, api.StatusWaitingForApproval, status("one"))
	require.Equal(t, api.StatusWaitingForApproval, status("two"))
	at = begin(t, "", "approvals", "deny-all", "--yes", "--server", url)
	at.screen.until(t, "denied 1 approval in 1 session")
	require.NoError(t, at.program.Wait())
}

// review on a pseudo-terminal: what is typed before a request can be read decides nothing, what does not fit on the screen
// is read to its end before it is allowed, and a request that somebody else decides meanwhile is reported.
func TestReviewOnATerminal(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, append(inMemory(t), "--listen", "127.0.0.1:0")...)
	c, err := client.New(url, client.WithActor("ada"))
	require.NoError(t, err)
	t.Cleanup(c.Close)
	ask := func(runID string, suspension api.Suspension) {
		_, err := c.CreateRun(t.Context(), client.CreateRunParams{RunID: runID, Input: "x", Suspend: &suspension})
		require.NoError(t, err)
	}
	call := func(runID, input string) {
		ask(runID, api.Suspension{Approvals: []api.ApprovalRequest{{ID: runID + "-ask", ToolCallID: "c", ToolName: "bash", Input: api.JSON(input)}}})
	}
	decision := func(runID string) *api.RunView {
		view, err := c.GetRun(t.Context(), runID)
		require.NoError(t, err)
		return view
	}
	call("one", `{"command":"make"}`)
	call("two", `{"steps":[`+strings.Repeat(`"make install",`, 40)+`"the end"]}`)
	call("three", `{"command":"make three"}`)
	ask("four", api.Suspension{Questions: []api.UserQuestionRequest{{ID: "q", ToolCallID: "c", Questions: []api.UserQuestion{{ID: "a", Header: "h", Question: "Where to?"}}}}})
	call("five", `{"command":"make five"}`)

	// Lines that were typed before the first request is there: each of them would allow one.
	at := begin(t, "a\ra\ra\r", "approvals", "review", "--server", url)
	screen, terminal, say := at.screen, at.terminal, at.say
	for range 3 {
		screen.until(t, tooSoon)
	}
	require.Equal(t, api.StatusWaitingForApproval, decision("one").Status)
	say("a", "allowed: bash: make")

	// The second fills more than the screen: it cannot be allowed until all of it was there.
	screen.until(t, "more lines: [enter] reads on")
	say("a", "Read to the end to allow")
	require.Equal(t, api.StatusWaitingForApproval, decision("two").Status)
	for {
		_, err := terminal.WriteString("\r")
		require.NoError(t, err)
		if screen.either(t, "[a]llow", "[enter] reads on") == 0 {
			break
		}
	}
	// Somebody else decides the two that come next.
	_, err = c.ResolveRunApprovals(t.Context(), "three", client.ResolveApprovalsParams{Resolutions: []api.ApprovalResolution{{RequestID: "three-ask", Behavior: api.BehaviorDeny}}})
	require.NoError(t, err)
	_, err = c.AnswerRunQuestion(t.Context(), "four", client.AnswerQuestionParams{Resolution: api.UserQuestionResolution{RequestID: "q", Declined: true}})
	require.NoError(t, err)
	say("a", "allowed: bash: ")
	screen.until(t, "bash: make three was denied by ada")
	screen.until(t, "Where to? was declined by ada")
	screen.until(t, "make five")
	say("q", "2 of 5 decided")
	require.NoError(t, at.program.Wait())
	require.Equal(t, api.StatusWaitingForApproval, decision("five").Status)
}
