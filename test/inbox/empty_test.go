//go:build unix && browser

package inbox

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/test/rig"
)

// empty runs the lines that a new installation shows.
func (f *flows) empty(t *testing.T) {
	p := f.open(t, "/")
	p.find("heading", "All clear")
	require.Equal(t, "holdpoint", p.eval("document.title"))
	require.Empty(t, p.all(nil, "list", "Last decisions"))
	f.shoot(t, p, "empty-new")
	p.accessible("the first inbox")
	line := func(name string) string {
		t.Helper()
		card := p.find("region", name)
		card.find("heading", name)
		card.find("button", "Copy")
		return p.eval(`[...document.querySelectorAll("section")].find(one => one.ariaLabel === ` + quoted(name) + `).querySelector("code").textContent`)
	}
	folder := t.TempDir()
	programs := filepath.Join(folder, "bin")
	require.NoError(t, os.Mkdir(programs, 0o700))
	require.NoError(t, os.Symlink(rig.Program(t), filepath.Join(programs, "holdpoint")))
	run := func(line string) *exec.Cmd {
		ctx, cancel := context.WithCancel(t.Context())
		t.Cleanup(cancel)
		command := exec.CommandContext(ctx, "sh", "-c", line)
		command.Dir = folder
		command.Env = append(os.Environ(), "HOME="+folder, "PATH="+programs+":/usr/bin:/bin")
		return command
	}

	output, err := run(line("Connect Claude Code")).CombinedOutput()
	require.NoError(t, err, "%s", output)
	settings, err := os.ReadFile(filepath.Join(folder, ".claude", "settings.json"))
	require.NoError(t, err)
	require.Contains(t, string(settings), f.service.URL())

	agent := run(line("Connect another agent"))
	says, err := agent.StdinPipe()
	require.NoError(t, err)
	hears, err := agent.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, agent.Start())
	_, err = io.WriteString(says, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`+"\n")
	require.NoError(t, err)
	answer, err := bufio.NewReader(hears).ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, answer, `"serverInfo"`)
	require.NoError(t, says.Close())
	require.NoError(t, agent.Wait())

	var printed strings.Builder
	try := run(line("Try it"))
	try.Stdout = &printed
	require.NoError(t, try.Start())
	p.until("it waits", func() bool { return p.read("document.title") == "(1) holdpoint" })
	item := p.prompt("exec")
	item.call("function() { this.focus(); return 0 }", nil)
	p.until("it is read", func() bool {
		if len(p.all(item, "button", "Allow")) == 1 {
			return true
		}
		p.press("a") // reads on
		return false
	})
	item.find("button", "Allow").click()
	require.NoError(t, try.Wait())
	require.Equal(t, "it ran\n", printed.String())
}

// clear shows the last three decisions when nothing waits.
func (f *flows) clear(t *testing.T) {
	for _, tool := range []string{"clear-one", "clear-two", "clear-three", "clear-four"} {
		run := f.ask(t, one(approval(tool, `{"n":1}`)))
		f.resolve(t, run.RunID, rig.Decide(rig.Deny(run.PendingApprovals[0].ID)))
	}
	p := f.open(t, "/")
	p.find("heading", "All clear")
	text := p.find("list", "Last decisions").text()
	require.Regexp(t, `(?s)clear-four.*Denied by someone without a name.*clear-three.*clear-two`, text)
	require.NotContains(t, text, "clear-one")
	require.Empty(t, p.all(nil, "region", "Try it"), "who had a request needs no introduction")
	f.shoot(t, p, "empty")
	p.accessible("the empty inbox")
	p.find("link", "Use clear-four: 1")

	run := f.ask(t, one(approval("clear-five", `{"n":1}`)))
	p.row("clear-five")
	f.cancel(t, run.RunID)
	p.find("button", "Clear 1").click()
	p.until("the list says so", func() bool { return strings.Contains(p.shown(), "All clear") })
}
