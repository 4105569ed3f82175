//go:build linux && agents

package agents

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
)

// settled is what an agent needs to start without asking: which key it uses.
func (d *desk) settled(path string) {
	d.Helper()
	path = filepath.Join(filepath.Dir(d.directory), "home", path)
	require.NoError(d, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(d, os.WriteFile(path, []byte(`{"security":{"auth":{"selectedType":"gemini-api-key"}}}`), 0o600))
}

// TestGeminiCLIAsksByItsHook: a call waits through a kill of the service, and what a person made
// of it runs once; a denied one does not run, and neither does one whose hook is killed.
func TestGeminiCLIAsksByItsHook(t *testing.T) {
	const asked = `{"command":"echo asked >> ran","description":"Leave a mark"}`
	d := newDesk(t)
	d.settled(".gemini/settings.json")
	m := startModel(t, "", "run_shell_command", asked)
	a, open := d.asksThroughAKill(m, "gemini-cli", asked)
	d.decide(open, api.ApprovalResolution{Behavior: api.BehaviorAllow, UpdatedInput: api.JSON(`{"command":"echo edited >> ran","description":"Leave a mark"}`)})
	require.Contains(t, a.ends(), "done")
	require.Equal(t, "edited\n", d.ran())

	m = startModel(t, "", "run_shell_command", asked)
	a = d.start(m, block(t, "hooked-gemini-cli"))
	d.decide(d.pending(a), api.ApprovalResolution{Behavior: api.BehaviorDeny, Reason: "not on a Sunday"})
	a.ends()
	require.Equal(t, "edited\n", d.ran())
	require.Contains(t, strings.Join(m.told(), "\n"), "Denied by ada: not on a Sunday")
	d.killsItsHook(startModel(t, "", "run_shell_command", asked), block(t, "hooked-gemini-cli"))
}

// TestQwenCodeAsksByItsHook: the same; an edit is denied, because this agent would run what the
// model asked.
func TestQwenCodeAsksByItsHook(t *testing.T) {
	const asked = `{"command":"echo asked >> ran","description":"Leave a mark","is_background":false}`
	d := newDesk(t)
	m := startModel(t, "call_11", "run_shell_command", asked)
	a, open := d.asksThroughAKill(m, "qwen-code", asked)
	d.decide(open, api.ApprovalResolution{Behavior: api.BehaviorAllow})
	require.Contains(t, a.ends(), "done")
	require.Equal(t, "asked\n", d.ran())

	m = startModel(t, "call_12", "run_shell_command", asked)
	a = d.start(m, block(t, "hooked-qwen-code"))
	d.decide(d.pending(a), api.ApprovalResolution{Behavior: api.BehaviorAllow, UpdatedInput: api.JSON(`{"command":"echo edited >> ran","description":"","is_background":false}`)})
	a.ends()
	require.Equal(t, "asked\n", d.ran())
	require.Contains(t, strings.Join(m.told(), "\n"), "nothing was allowed")
	d.killsItsHook(startModel(t, "call_13", "run_shell_command", asked), block(t, "hooked-qwen-code"))
}

// asksThroughAKill installs the hook of an agent, has it ask, and kills the service meanwhile.
func (d *desk) asksThroughAKill(m *model, agentID, asked string) (*agent, api.PendingApprovalView) {
	d.Helper()
	d.start(m, block(d.T, "install-"+agentID)).ends()
	a := d.start(m, block(d.T, "hooked-"+agentID))
	open := d.pending(a)
	require.Equal(d, agentID, open.AgentID)
	require.JSONEq(d, asked, string(open.Request.Input))
	d.service.Kill()
	d.service.Resume()
	return a, open
}

// killsItsHook has an agent ask by a hook that is killed at once: nothing runs, and the model
// hears why.
func (d *desk) killsItsHook(m *model, command string) {
	d.Helper()
	before := d.ran()
	program, err := os.Readlink(filepath.Join(d.bin, "holdpoint"))
	require.NoError(d, err)
	require.NoError(d, os.Remove(filepath.Join(d.bin, "holdpoint")))
	require.NoError(d, os.WriteFile(filepath.Join(d.bin, "holdpoint"), []byte("#!/bin/sh\nkill -9 $$\n"), 0o755))
	d.start(m, command).ends()
	require.Equal(d, before, d.ran())
	require.Contains(d, strings.Join(m.told(), "\n"), "holdpoint hook has failed: nothing was allowed")
	require.NoError(d, os.Remove(filepath.Join(d.bin, "holdpoint")))
	require.NoError(d, os.Symlink(program, filepath.Join(d.bin, "holdpoint")))
}
