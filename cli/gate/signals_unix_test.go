//go:build linux || darwin

package gate

import (
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Ctrl-C of the terminal does not reach a command that has left the group, as timeout does: exec sends it.
func TestACommandOfAnotherGroupGetsNoSignalOfTheTerminal(t *testing.T) {
	t.Parallel()
	for _, own := range []bool{false, true} {
		command := exec.CommandContext(t.Context(), "cat")
		command.SysProcAttr = &syscall.SysProcAttr{Setpgid: own}
		stdin, err := command.StdinPipe()
		require.NoError(t, err)
		require.NoError(t, command.Start())
		require.Equal(t, !own, inThisGroup(command.Process.Pid))
		if own {
			require.False(t, fromTerminal(syscall.SIGINT, command.Process.Pid))
		}
		require.NoError(t, stdin.Close())
		require.NoError(t, command.Wait())
	}
}
