package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// Ctrl-C ends the command of exec, also one like timeout that leaves the foreground group: the terminal sends it nothing.
func TestCtrlCEndsTheCommandOfExec(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("timeout"); err != nil {
		t.Skip("there is no program timeout")
	}
	url, _ := serve(t, append(inMemory(t), "--listen", "127.0.0.1:0")...)
	c, err := client.New(url, client.WithActor("ada"))
	require.NoError(t, err)
	t.Cleanup(c.Close)
	script := filepath.Join(t.TempDir(), "script.sh")
	require.NoError(t, os.WriteFile(script, []byte("trap 'exit 8' INT\necho is running\nwhile :; do sleep 0.05; done\n"), 0o600))
	for session, command := range map[string][]string{"foreground": {"sh", script}, "own-group": {"timeout", "600", "sh", script}} {
		at := begin(t, "", append([]string{"exec", "--server", url, "--session-id", session, "--"}, command...)...)
		t.Cleanup(func() { _ = at.program.Process.Kill() })
		at.screen.until(t, "waiting for approval")
		view, err := c.GetSession(t.Context(), session)
		require.NoError(t, err)
		run := view.ActiveRun.RunID
		_, err = c.ResolveRunApprovals(t.Context(), run, client.ResolveApprovalsParams{Resolutions: []api.ApprovalResolution{
			{RequestID: view.PendingApprovals[0].ID, Behavior: api.BehaviorAllow},
		}})
		require.NoError(t, err)
		at.screen.until(t, "is running")
		_, err = at.terminal.WriteString("\x03")
		require.NoError(t, err)
		ended, err := c.AwaitRun(t.Context(), run, client.UntilTerminal, patience)
		require.NoError(t, err)
		require.Equal(t, api.StatusCompleted, ended.Status, session)
		require.Error(t, at.program.Wait())
		require.Equal(t, 8, at.program.ProcessState.ExitCode(), session)
	}
}
