package cli_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

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

	program := exec.CommandContext(context.WithoutCancel(t.Context()), "holdpoint", "approvals", "review", "--server", url)
	program.Env = append(os.Environ(), "TERM=xterm-256color")
	terminal, err := pty.StartWithSize(program, &pty.Winsize{Rows: 20, Cols: 80})
	require.NoError(t, err)
	defer terminal.Close()
	screen := &shown{grown: make(chan struct{}, 1)}
	// Lines that were typed before the first request is there: each of them would allow one.
	_, err = terminal.WriteString("a\ra\ra\r")
	require.NoError(t, err)
	go screen.readFrom(terminal)
	for range 3 {
		screen.until(t, "typed before you could read this")
	}
	require.Equal(t, api.StatusWaitingForApproval, decision("one").Status)
	// say repeats a line until it is taken: one that comes too soon is dropped.
	say := func(line string, answers ...string) {
		t.Helper()
		for {
			_, err := terminal.WriteString(line + "\r")
			require.NoError(t, err)
			if screen.either(t, append(answers, "typed before you could read this")...) < len(answers) {
				return
			}
		}
	}
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
	require.NoError(t, program.Wait())
	require.Equal(t, api.StatusWaitingForApproval, decision("five").Status)
}
