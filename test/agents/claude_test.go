//go:build linux && agents

package agents

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/test/rig"
)

// desk is a service, a person who decides there, and a directory in which agents work.
type desk struct {
	*testing.T
	service   *rig.Process
	person    *client.Client
	directory string
	bin       string
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	installed := os.Getenv(installedVariable)
	if installed == "none" {
		rig.Missing(t, "npm")
	}
	d := &desk{T: t, directory: filepath.Join(t.TempDir(), "work"), bin: t.TempDir()}
	require.NoError(t, os.Mkdir(d.directory, 0o755))
	program := rig.Program(t)
	require.NoError(t, os.Symlink(program, filepath.Join(d.bin, "holdpoint")))
	for _, name := range []string{"claude", "codex", "gemini", "qwen"} {
		require.NoError(t, os.Symlink(filepath.Join(installed, "node_modules", ".bin", name), filepath.Join(d.bin, name)))
	}
	d.service = rig.Start(t, rig.Options{Program: program, Database: "sqlite:" + filepath.Join(t.TempDir(), "holdpoint.db")})
	person, err := client.New(d.service.URL(), client.WithActor("ada"))
	require.NoError(t, err)
	t.Cleanup(person.Close)
	d.person = person
	return d
}

// start types a command of a document where the agents work.
func (d *desk) start(m *model, command string, env ...string) *agent {
	d.Helper()
	shell := exec.CommandContext(context.Background(), "bash", "-euc", command)
	shell.Dir = d.directory
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	home := filepath.Join(filepath.Dir(d.directory), "home")
	shell.Env = append([]string{
		"PATH=" + d.bin + ":" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + d.TempDir(), "CLAUDE_CONFIG_DIR=" + filepath.Join(home, "claude"),
		"CODEX_HOME=" + filepath.Join(home, "codex"), "STUB_KEY=stub",
		"GEMINI_API_KEY=stub", "GOOGLE_GEMINI_BASE_URL=" + m.server.URL, "GEMINI_TELEMETRY_ENABLED=false",
		"OPENAI_API_KEY=stub", "OPENAI_MODEL=stub", "OPENAI_BASE_URL=" + m.server.URL + "/v1",
		"ANTHROPIC_BASE_URL=" + m.server.URL, "ANTHROPIC_API_KEY=sk-ant-stub",
		"DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"HOLDPOINT_SERVER=" + d.service.URL(),
	}, env...)
	a := &agent{desk: d, model: m, ended: make(chan error, 1)}
	shell.Stdout, shell.Stderr = &a.output, &a.output
	require.NoError(d, shell.Start())
	go func() { a.ended <- shell.Wait() }()
	a.kill = func() { _ = syscall.Kill(-shell.Process.Pid, syscall.SIGKILL) }
	d.Cleanup(a.kill)
	return a
}

// agent is a coding agent that runs.
type agent struct {
	desk   *desk
	model  *model
	output bytes.Buffer
	ended  chan error
	kill   func()
}

// patience bounds a hang. Some agents need half a minute to start on a machine with nothing else to do.
const patience = 5 * rig.Patience

// ends waits for its end and returns what it printed.
func (a *agent) ends() string {
	a.desk.Helper()
	select {
	case err := <-a.ended:
		require.NoError(a.desk, err, "%s", a.output.String())
		return a.output.String()
	case <-time.After(patience):
		a.kill()
		<-a.ended
		require.FailNow(a.desk, "the agent does not end", "%s", a.output.String())
		return ""
	}
}

// pending waits for the one open approval.
func (d *desk) pending(a *agent) api.PendingApprovalView {
	d.Helper()
	var open []api.PendingApprovalView
	rig.AwaitWithin(d, patience, func() bool {
		select {
		case err := <-a.ended:
			require.FailNow(d, "the agent has ended", "%v\n%s\n%s", err, a.output.String(), strings.Join(a.model.told(), "\n"))
		default:
		}
		page, err := d.person.ListApprovals(d.Context(), client.PendingListParams{})
		if err == nil {
			open = page.Items
		}
		return len(open) == 1
	})
	return open[0]
}

func (d *desk) decide(open api.PendingApprovalView, resolution api.ApprovalResolution) {
	d.Helper()
	resolution.RequestID = open.Request.ID
	_, err := d.person.ResolveRunApprovals(d.Context(), open.RunID, client.ResolveApprovalsParams{Resolutions: []api.ApprovalResolution{resolution}})
	require.NoError(d, err)
}

// ran returns what the commands of the agent left behind.
func (d *desk) ran() string {
	d.Helper()
	text, err := os.ReadFile(filepath.Join(d.directory, "ran"))
	if os.IsNotExist(err) {
		return ""
	}
	require.NoError(d, err)
	return string(text)
}

// block returns the code block of docs/agents.md after a marker.
func block(t *testing.T, marker string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/agents.md")
	require.NoError(t, err)
	found := regexp.MustCompile("(?s)<!-- test:" + marker + " -->\n```[a-z]*\n(.*?)```").FindSubmatch(text)
	require.NotNil(t, found, "docs/agents.md has no block %s", marker)
	return string(found[1])
}

// write puts a block of the document where the agents work.
func (d *desk) write(marker, name string) {
	d.Helper()
	path := filepath.Join(d.directory, name)
	require.NoError(d, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(d, os.WriteFile(path, []byte(block(d.T, marker)), 0o600))
}

const bash = `{"command":"echo asked >> ran","description":"Leave a mark"}`

func TestNothingButLoopback(t *testing.T) {
	if os.Getenv(isolatedVariable) == "" {
		rig.Missing(t, "network namespaces")
	}
	_, err := net.DialTimeout("tcp", "192.0.2.1:443", time.Second)
	require.ErrorIs(t, err, syscall.ENETUNREACH)
}

// TestClaudeCodeWaitsForAPerson: a tool call waits, the service is killed, a person allows it
// with an edit, and the edited call runs once.
func TestClaudeCodeWaitsForAPerson(t *testing.T) {
	d := newDesk(t)
	d.write("mcp", "mcp.json")
	m := startModel(t, "toolu_01AbCdEfGhIjKlMnOpQrStUv", "Bash", bash)
	a := d.start(m, block(t, "claude"))
	open := d.pending(a)
	require.Equal(t, "claude-code", open.AgentID)
	require.True(t, strings.HasPrefix(open.SessionID, "claude-code-"), open.SessionID)
	require.Equal(t, "Bash", open.Request.ToolName)
	require.Equal(t, m.toolID, open.Request.ToolCallID)
	require.JSONEq(t, bash, string(open.Request.Input))

	d.service.Kill()
	d.service.Resume()
	require.Equal(t, open.Request.Handle, d.pending(a).Request.Handle)
	require.Empty(t, d.ran())
	d.decide(open, api.ApprovalResolution{Behavior: api.BehaviorAllow, UpdatedInput: api.JSON(`{"command":"echo edited >> ran"}`)})
	require.Contains(t, a.ends(), "done")
	require.Equal(t, "edited\n", d.ran(), "%q", m.told())
	require.NotEmpty(t, m.told())

	run, err := d.person.GetRun(t.Context(), open.RunID)
	require.NoError(t, err)
	require.Equal(t, api.StatusCompleted, run.Status)
}

func TestClaudeCodeIsToldWhyNot(t *testing.T) {
	d := newDesk(t)
	d.write("mcp", "mcp.json")
	m := startModel(t, "toolu_02AbCdEfGhIjKlMnOpQrStUv", "Bash", bash)
	a := d.start(m, block(t, "claude"))
	d.decide(d.pending(a), api.ApprovalResolution{Behavior: api.BehaviorDeny, Reason: "not on a Sunday"})
	a.ends()
	require.Empty(t, d.ran())
	require.Contains(t, strings.Join(m.told(), "\n"), "Denied by ada: not on a Sunday")

	// No service at all: nothing runs either, and the model hears why.
	d.service.Kill()
	m = startModel(t, "toolu_03AbCdEfGhIjKlMnOpQrStUv", "Bash", bash)
	d.start(m, block(t, "claude")).ends()
	require.Empty(t, d.ran())
	require.Contains(t, strings.Join(m.told(), "\n"), "nothing was allowed: the holdpoint service does not answer")
}

// TestClaudeCodeAsksOverHTTP: the same prompt, with a token that can ask and not decide.
func TestClaudeCodeAsksOverHTTP(t *testing.T) {
	d := newDesk(t)
	admin, err := d.person.CreateToken(t.Context(), api.CreateTokenBody{Name: "ada", Role: api.RoleAdmin})
	require.NoError(t, err)
	d.person, err = client.New(d.service.URL(), client.WithToken(admin.Secret))
	require.NoError(t, err)
	t.Cleanup(d.person.Close)
	builder, err := d.person.CreateToken(t.Context(), api.CreateTokenBody{Name: "builder", Role: api.RoleAgent})
	require.NoError(t, err)
	configuration := strings.Replace(block(t, "http"), "127.0.0.1:4000", d.service.Address(), 1)
	require.NoError(t, os.WriteFile(filepath.Join(d.directory, "mcp.json"), []byte(configuration), 0o600))

	m := startModel(t, "toolu_07AbCdEfGhIjKlMnOpQrStUv", "Bash", bash)
	a := d.start(m, block(t, "claude"), "HOLDPOINT_TOKEN="+builder.Secret)
	open := d.pending(a)
	require.Equal(t, "build-42", open.SessionID)
	d.decide(open, api.ApprovalResolution{Behavior: api.BehaviorAllow, UpdatedInput: api.JSON(`{"command":"echo edited >> ran"}`)})
	require.Contains(t, a.ends(), "done")
	require.Equal(t, "edited\n", d.ran())
}

// TestClaudeCodeAsksByItsHook: the settings are as the document shows them, and a call waits
// through a kill of the service.
func TestClaudeCodeAsksByItsHook(t *testing.T) {
	d := newDesk(t)
	m := startModel(t, "toolu_04AbCdEfGhIjKlMnOpQrStUv", "Bash", bash)
	d.start(m, block(t, "install")).ends()
	settings, err := os.ReadFile(filepath.Join(d.directory, ".claude", "settings.json"))
	require.NoError(t, err)
	shown := block(t, "settings-claude-code")
	command := regexp.MustCompile(`"command": ".*holdpoint hook --agent-id claude-code --server http://127\.0\.0\.1:\d+ --signed-by=[\w-]{43} `)
	require.Len(t, command.FindAllString(shown, -1), 1)
	require.Equal(t, shown, command.ReplaceAllLiteralString(string(settings), command.FindString(shown)))

	a := d.start(m, block(t, "hooked"))
	open := d.pending(a)
	require.Equal(t, "claude-code", open.AgentID)
	require.Equal(t, d.directory, open.Request.Directory)
	d.service.Kill()
	d.service.Resume()
	d.decide(open, api.ApprovalResolution{Behavior: api.BehaviorAllow, UpdatedInput: api.JSON(`{"command":"echo edited >> ran"}`)})
	require.Contains(t, a.ends(), "done")
	require.Equal(t, "edited\n", d.ran())

	// Every call of a tool, and a denial.
	m = startModel(t, "toolu_05AbCdEfGhIjKlMnOpQrStUv", "Bash", bash)
	d.start(m, "rm .claude/settings.json; holdpoint hook install claude-code --event PreToolUse --matcher Bash").ends()
	a = d.start(m, block(t, "hooked"))
	open = d.pending(a)
	require.Equal(t, m.toolID, open.Request.ToolCallID)
	d.decide(open, api.ApprovalResolution{Behavior: api.BehaviorDeny, Reason: "not on a Sunday"})
	a.ends()
	require.Equal(t, "edited\n", d.ran())
	require.Contains(t, strings.Join(m.told(), "\n"), "Denied by ada: not on a Sunday")

	d.service.Kill()
	m = startModel(t, "toolu_06AbCdEfGhIjKlMnOpQrStUv", "Bash", bash)
	d.start(m, block(t, "hooked")).ends()
	require.Equal(t, "edited\n", d.ran())
	require.Contains(t, strings.Join(m.told(), "\n"), "the holdpoint service does not answer")
}

// TestClaudeCodeWaitsWithoutAProcess: with --defer the agent ends, and a worker resumes it with the
// decision, after a kill of the service.
func TestClaudeCodeWaitsWithoutAProcess(t *testing.T) {
	d := newDesk(t)
	m := startModel(t, "toolu_11AbCdEfGhIjKlMnOpQrStUv", "Bash", bash)
	d.start(m, block(t, "install-deferred")).ends()
	require.Empty(t, strings.TrimSpace(d.start(m, block(t, "deferred")).ends()))
	open := d.waiting()
	require.True(t, strings.HasPrefix(open.AgentID, "claude-code:"), open.AgentID)
	require.Nil(t, open.Request.ExpiresAtMs)
	d.service.Kill()
	d.service.Resume()

	worker := d.start(m, block(t, "resume"))
	d.decide(open, api.ApprovalResolution{Behavior: api.BehaviorAllow, UpdatedInput: api.JSON(`{"command":"echo edited >> ran"}`)})
	rig.AwaitWithin(t, patience, func() bool { return d.ran() != "" })
	require.Equal(t, "edited\n", d.ran())
	rig.AwaitWithin(t, patience, func() bool { return strings.Contains(strings.Join(m.told(), ""), "completed") })

	// Denied. The same worker resumes the next session.
	m.toolID = "toolu_12AbCdEfGhIjKlMnOpQrStUv"
	d.start(m, block(t, "deferred")).ends()
	d.decide(d.waiting(), api.ApprovalResolution{Behavior: api.BehaviorDeny, Reason: "not on a Sunday"})
	rig.AwaitWithin(t, patience, func() bool {
		return strings.Contains(strings.Join(m.told(), ""), "Denied by ada: not on a Sunday")
	})
	require.Equal(t, "edited\n", d.ran())
	worker.kill()
}

// TestClaudeCodeDefersOneCallOfATurn: of two calls in one turn at most one is deferred, and the other
// does not run without a decision, although the agent's settings allow it.
func TestClaudeCodeDefersOneCallOfATurn(t *testing.T) {
	d := newDesk(t)
	m := startModel(t, "toolu_13AbCdEfGhIjKlMnOpQrStUv", "Bash", bash)
	m.alongside = "toolu_14AbCdEfGhIjKlMnOpQrStUv"
	d.start(m, block(t, "install-deferred")).ends()
	d.start(m, strings.TrimSpace(block(t, "deferred"))+" --allowedTools Bash").ends()
	require.Empty(t, d.ran())
	page, err := d.person.ListApprovals(t.Context(), client.PendingListParams{})
	require.NoError(t, err)
	require.LessOrEqual(t, len(page.Items), 1)
	for _, open := range page.Items {
		d.decide(open, api.ApprovalResolution{Behavior: api.BehaviorAllow})
		d.start(m, "holdpoint hook resume claude-code --once -- claude -p --allowedTools Bash").ends()
		require.Equal(t, "asked\n", d.ran())
	}
	require.Contains(t, strings.Join(m.told(), ""), "only a call that is alone in its turn can wait")
}

// waiting waits for the one open approval of an agent that has ended.
func (d *desk) waiting() api.PendingApprovalView {
	d.Helper()
	page, err := d.person.ListApprovals(d.Context(), client.PendingListParams{})
	require.NoError(d, err)
	require.Len(d, page.Items, 1)
	return page.Items[0]
}
