package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/test/rig"
)

func completionFor(t *testing.T, shell string) (file string) {
	t.Helper()
	done := run(t.Context(), nil, "", "completion", shell)
	require.Zero(t, done.code, done.stderr)
	return writeFile(t, done.stdout)
}

// The scripts are tested in their shells; testdata/script covers bash.
func TestCompletionInFish(t *testing.T) {
	t.Parallel()
	fish := rig.Need(t, "fish")
	file := completionFor(t, "fish")
	for line, want := range map[string]string{
		"holdpoint approv":                 "approvals\tList and decide pending approvals.\n",
		"holdpoint approvals allow-":       "allow-all\tAllow all pending approvals.\n",
		"holdpoint exec --time":            "--timeout\tTime limit for a decision (default: none).\n",
		"holdpoint me addresses add --fo":  "--for\tAdd it for this person, such as user:ada, who verifies it. Needs the role admin.\n",
		"holdpoint me addresses list --fo": "",
		"holdpoint approvals allow --edi":  "--edit\tEdit the input in $VISUAL or $EDITOR, and review the changes before allowing it.\n",
	} {
		command := exec.CommandContext(t.Context(), fish, "--no-config", "-c", `source $argv[1]; complete -C $argv[2]`, file, line)
		command.Env = append(os.Environ(), "HOME="+t.TempDir())
		output, err := command.CombinedOutput()
		require.NoError(t, err, "%s", output)
		require.Equal(t, want, string(output), line)
	}
}

func TestCompletionInZsh(t *testing.T) {
	t.Parallel()
	zsh := rig.Need(t, "zsh")
	functions := t.TempDir()
	require.NoError(t, os.Rename(completionFor(t, "zsh"), filepath.Join(functions, "_holdpoint")))
	command := exec.CommandContext(t.Context(), zsh, "-f", "-i")
	command.Env = append(os.Environ(), "HOME="+t.TempDir(), "TERM=dumb")
	terminal, err := pty.StartWithSize(command, &pty.Winsize{Rows: 40, Cols: 120})
	require.NoError(t, err)
	t.Cleanup(func() { _ = command.Process.Kill(); _ = command.Wait(); _ = terminal.Close() })
	screen := &shown{grown: make(chan struct{}, 1)}
	go screen.readFrom(terminal)
	write := func(text string) {
		_, err := terminal.WriteString(text)
		require.NoError(t, err)
	}
	write("PROMPT='re''ady> '; fpath=(" + functions + " $fpath); autoload -Uz compinit; compinit -u -D\n")
	screen.until(t, "ready> ")
	write("holdpoint approvals al\t\t")
	screen.until(t, "allow-all  -- Allow all pending approvals.")
	write("\x15holdpoint rules ad\t")
	screen.until(t, "rules add ")
	write("\x15holdpoint exec --time\t")
	screen.until(t, "--timeout")
}
