//go:build linux && agents

package agents

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/test/rig"
)

// configure writes the configuration of Codex: the stub, and what a test adds. The
// namespace is the sandbox of its commands.
func (d *desk) configure(m *model, configuration string) {
	d.Helper()
	rig.Need(d, "git")
	home := filepath.Join(filepath.Dir(d.directory), "home", "codex")
	require.NoError(d, os.MkdirAll(home, 0o755))
	require.NoError(d, os.WriteFile(filepath.Join(home, "config.toml"), []byte(`model = "stub"
model_provider = "stub"
approval_policy = "never"
sandbox_mode = "danger-full-access"

[model_providers.stub]
name = "stub"
base_url = "`+m.server.URL+`/v1"
wire_api = "responses"
env_key = "STUB_KEY"

`+configuration), 0o600))
	d.start(m, "git init -q .").ends()
}

// TestCodexAsksByItsHook: a command waits through a kill of the service, and what a person made
// of it runs once; a denied one does not run.
func TestCodexAsksByItsHook(t *testing.T) {
	d := newDesk(t)
	m := startModel(t, "call_01AbCdEfGhIjKlMnOpQrStUv", "exec_command", `{"cmd":"echo asked >> ran"}`)
	d.configure(m, "")
	d.start(m, "holdpoint hook install codex").ends()
	a := d.start(m, block(t, "codex-hooked"))
	open := d.pending(a)
	require.Equal(t, "codex", open.AgentID)
	require.Equal(t, m.toolID, open.Request.ToolCallID)
	require.JSONEq(t, `{"command":"echo asked >> ran"}`, string(open.Request.Input))
	d.service.Kill()
	d.service.Resume()
	d.decide(open, api.ApprovalResolution{Behavior: api.BehaviorAllow, UpdatedInput: api.JSON(`{"command":"echo edited >> ran"}`)})
	require.Contains(t, a.ends(), "done")
	require.Equal(t, "edited\n", d.ran())

	m = startModel(t, "call_02AbCdEfGhIjKlMnOpQrStUv", "exec_command", `{"cmd":"echo asked >> ran"}`)
	d.configure(m, "")
	a = d.start(m, block(t, "codex-hooked"))
	d.decide(d.pending(a), api.ApprovalResolution{Behavior: api.BehaviorDeny, Reason: "not on a Sunday"})
	a.ends()
	require.Equal(t, "edited\n", d.ran())
	require.Contains(t, strings.Join(m.told(), "\n"), "Denied by ada: not on a Sunday")

	// What is typed into a terminal reaches no hook: nobody is asked, and the model hears why.
	m = startModel(t, "call_04AbCdEfGhIjKlMnOpQrStUv", "exec_command", `{"cmd":"echo asked >> ran","tty":true}`)
	d.configure(m, "")
	d.start(m, block(t, "codex-hooked")).ends()
	require.Equal(t, "edited\n", d.ran())
	require.Contains(t, strings.Join(m.told(), "\n"), "this command would get a terminal")
}

// TestCodexAsksByATool: the model asks, and is told what it may do.
func TestCodexAsksByATool(t *testing.T) {
	d := newDesk(t)
	m := startModel(t, "call_03AbCdEfGhIjKlMnOpQrStUv", "request_approval", `{"tool_name":"deploy","input":{"to":"production"},"wait_seconds":600}`)
	m.namespace = "mcp__holdpoint"
	d.configure(m, block(t, "codex-mcp"))
	a := d.start(m, block(t, "codex"))
	open := d.pending(a)
	require.Equal(t, "deploy", open.Request.ToolName)
	d.service.Kill()
	d.service.Resume()
	d.decide(open, api.ApprovalResolution{Behavior: api.BehaviorAllow, UpdatedInput: api.JSON(`{"to":"staging"}`)})
	require.Contains(t, a.ends(), "done")
	told := strings.Join(m.told(), "\n")
	require.Contains(t, told, `\"status\":\"allowed\"`)
	require.Contains(t, told, `\"input\":{\"to\":\"staging\"},\"edited\":true`)
}
