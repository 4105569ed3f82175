package agents_test

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/examples/agents"
)

type steps struct {
	Steps []step `json:"steps"`
}

type step struct {
	Command string `json:"command"`
	Status  string `json:"status"`
	Output  string `json:"output"`
}

var allow = api.ApprovalResolution{Behavior: api.BehaviorAllow}

func shellPlan(t *testing.T, c *client.Client) (directory string, stop func()) {
	t.Helper()
	directory = t.TempDir()
	return directory, work(t, c, agents.ShellPlanAgent, (&agents.ShellPlan{Directory: directory}).Handle)
}

func plan(commands ...string) map[string]any { return map[string]any{"plan": commands} }

func TestAPlanWhole(t *testing.T) {
	t.Parallel()
	c := connect(t)
	directory, _ := shellPlan(t, c)
	runID := begin(t, c, agents.ShellPlanAgent, plan("echo hello", "mkdir build", "touch build/a", "ls build", "ls nowhere"))
	asked := rests(t, c, runID).PendingApprovals
	require.Len(t, asked, 1, "one at a time")
	require.Equal(t, "step-2", asked[0].ID, "the first one only looks")
	require.Equal(t, `{"command":"mkdir build"}`, string(asked[0].Input))
	require.Equal(t, directory, asked[0].Directory, "an allow that is remembered holds in no other folder")
	require.NoDirExists(t, filepath.Join(directory, "build"), "nothing is done before it is allowed")
	decide(t, c, runID, allow)
	decide(t, c, runID, allow)
	done := output[steps](t, c, runID).Steps
	require.Equal(t, step{"echo hello", "done", "hello\n"}, done[0])
	require.Equal(t, step{"mkdir build", "done", ""}, done[1])
	require.Equal(t, step{"ls build", "done", "a\n"}, done[3])
	require.Equal(t, "failed", done[4].Status)
	require.Contains(t, done[4].Output, "exit status")
	require.FileExists(t, filepath.Join(directory, "build", "a"))

	// Observers see each tool call once.
	events, err := c.ListRunEvents(t.Context(), runID, client.EventListParams{})
	require.NoError(t, err)
	calls := map[string]int{}
	for _, entry := range events {
		var event struct {
			Type string `json:"type"`
			ID   string `json:"id"`
		}
		require.NoError(t, json.Unmarshal(entry.Event, &event))
		calls[event.Type+" "+event.ID]++
	}
	for _, id := range []string{"step-1", "step-2", "step-3", "step-4", "step-5"} {
		require.Equal(t, 1, calls["tool_call "+id])
		require.Equal(t, 1, calls["tool_result "+id])
	}
}

func TestADeniedStepIsNotRun(t *testing.T) {
	t.Parallel()
	c := connect(t)
	directory, _ := shellPlan(t, c)
	runID := begin(t, c, agents.ShellPlanAgent, plan("touch a", "touch b"))
	decide(t, c, runID, api.ApprovalResolution{Behavior: api.BehaviorDeny, Reason: "not that one"})
	decide(t, c, runID, allow)
	require.Equal(t, []step{{"touch a", "denied", "not that one"}, {"touch b", "done", ""}}, output[steps](t, c, runID).Steps)
	require.NoFileExists(t, filepath.Join(directory, "a"))
	require.FileExists(t, filepath.Join(directory, "b"))
}

func TestAnEditedStepIsRunAsEdited(t *testing.T) {
	t.Parallel()
	c := connect(t)
	directory, _ := shellPlan(t, c)
	runID := begin(t, c, agents.ShellPlanAgent, plan("touch a"))
	_, err := c.ResolveRunApprovals(t.Context(), runID, client.ResolveApprovalsParams{Resolutions: []api.ApprovalResolution{
		{RequestID: rests(t, c, runID).PendingApprovals[0].ID, Behavior: api.BehaviorAllow, UpdatedInput: api.JSON(`{"command":""}`)},
	}})
	require.ErrorIs(t, err, client.ErrInvalid, "an edit must fit the schema")
	decide(t, c, runID, api.ApprovalResolution{Behavior: api.BehaviorAllow, UpdatedInput: api.JSON(`{"command":"touch b"}`)})
	require.Equal(t, []step{{"touch b", "done", ""}}, output[steps](t, c, runID).Steps)
	require.NoFileExists(t, filepath.Join(directory, "a"))
	require.FileExists(t, filepath.Join(directory, "b"))
}

// A command that was allowed in one folder is not run in another one, where the next worker works.
func TestADecisionCountsInItsFolder(t *testing.T) {
	t.Parallel()
	c := connect(t)
	first, stop := shellPlan(t, c)
	runID := begin(t, c, agents.ShellPlanAgent, plan("touch a"))
	rests(t, c, runID)
	stop()
	decide(t, c, runID, allow)
	second, _ := shellPlan(t, c)
	require.Eventually(t, func() bool { return rests(t, c, runID).Status == api.StatusFailed }, time.Minute, 5*time.Millisecond)
	require.NoFileExists(t, filepath.Join(first, "a"))
	require.NoFileExists(t, filepath.Join(second, "a"))
}

// If a worker dies while a command runs, the command's result is unknown. It is not run
// again.
func TestAStepThatDiedIsNotRunAgain(t *testing.T) {
	t.Parallel()
	c := connect(t)
	directory := t.TempDir()
	runID := begin(t, c, agents.ShellPlanAgent, plan("echo first", "echo begun >> began; exec sleep 600", "touch after"))
	handle := (&agents.ShellPlan{Directory: directory}).Handle
	died, leaving := make(chan struct{}), make(chan struct{})
	var dead atomic.Bool
	release := func(ctx context.Context, task *client.Task) error {
		_, err := c.ReleaseRun(context.WithoutCancel(ctx), task.RunID(), task.Fence(), nil)
		return cmp.Or(err, client.ErrSuspended)
	}
	// The worker's context ends once the command has started, which kills the command and
	// leaves the run without a result.
	stop := work(t, c, agents.ShellPlanAgent, func(ctx context.Context, task *client.Task) error {
		if dead.Load() { // it claims the run again until it has stopped
			<-leaving
			return release(ctx, task)
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		go func() {
			defer cancel()
			for ctx.Err() == nil {
				if text, err := os.ReadFile(filepath.Join(directory, "began")); err == nil && len(text) > 0 {
					dead.Store(true)
					close(died)
					return
				}
				time.Sleep(time.Millisecond) // another process writes the file
			}
		}()
		if err := handle(ctx, task); ctx.Err() == nil || err == nil {
			return err
		}
		return release(ctx, task)
	})
	decide(t, c, runID, allow)
	<-died
	close(leaving)
	stop()

	work(t, c, agents.ShellPlanAgent, handle)
	decide(t, c, runID, allow)
	done := output[steps](t, c, runID).Steps
	require.Equal(t, "unknown", done[1].Status)
	require.Contains(t, done[1].Output, "not run again")
	require.Equal(t, step{"touch after", "done", ""}, done[2])
	text, err := os.ReadFile(filepath.Join(directory, "began"))
	require.NoError(t, err)
	require.Equal(t, "begun\n", string(text), "once")
}

// A step allowed by a rule does not wait, and a step denied by a rule does not run.
func TestRulesSettleSteps(t *testing.T) {
	t.Parallel()
	c := connect(t)
	shellPlan(t, c)
	_, err := c.AddRule(t.Context(), client.AddRuleParams{ToolName: "bash", Match: api.RuleMatch{Params: map[string]string{"command": "mkdir *"}}})
	require.NoError(t, err)
	_, err = c.AddRule(t.Context(), client.AddRuleParams{
		Effect: api.RuleDeny, ToolName: "bash", Reason: "never", Match: api.RuleMatch{Params: map[string]string{"command": "rm **"}},
	})
	require.NoError(t, err)
	runID := begin(t, c, agents.ShellPlanAgent, plan("mkdir a", "rm -rf a", "mkdir b"))
	require.Equal(t, []step{{"mkdir a", "done", ""}, {"rm -rf a", "denied", "never"}, {"mkdir b", "done", ""}}, output[steps](t, c, runID).Steps)
	rules, err := c.ListRules(t.Context(), client.RuleListParams{})
	require.NoError(t, err)
	require.Equal(t, int64(2), rules.Items[0].Hits)
	require.Equal(t, int64(1), rules.Items[1].Hits)
}

func TestPlansInEveryShape(t *testing.T) {
	t.Parallel()
	c := connect(t)
	shellPlan(t, c)
	for _, input := range []any{
		plan("echo a", "echo b"),
		map[string]any{"prompt": "echo a\n\n  echo b\n"},
		map[string]any{"messages": []map[string]any{{"role": "user", "content": "hello"}, {"role": "user", "content": "echo a\necho b"}}},
	} {
		require.Equal(t, []step{{"echo a", "done", "a\n"}, {"echo b", "done", "b\n"}}, output[steps](t, c, begin(t, c, agents.ShellPlanAgent, input)).Steps)
	}
	for _, input := range []any{map[string]any{"plan": []string{" "}}, nil, "ls", map[string]any{"plan": 7}} {
		view := rests(t, c, begin(t, c, agents.ShellPlanAgent, input))
		require.Equal(t, api.StatusFailed, view.Status, "%v", input)
		require.NotEmpty(t, view.Error)
	}
}

func TestOutputIsShort(t *testing.T) {
	t.Parallel()
	c := connect(t)
	shellPlan(t, c)
	runID := begin(t, c, agents.ShellPlanAgent, plan("head -c 100000 /dev/zero | tr '\\0' x"))
	decide(t, c, runID, allow)
	done := output[steps](t, c, runID).Steps
	require.Equal(t, "done", done[0].Status)
	require.Equal(t, strings.Repeat("x", 4<<10), done[0].Output)
}

func TestRisky(t *testing.T) {
	t.Parallel()
	for _, command := range []string{
		"ls", "ls -la /tmp", "  pwd  ", "echo hello, world", "cat a/b.txt", "head -n 3 x", "wc -l x", "true", "ls --color",
	} {
		require.False(t, agents.Risky(command), "%q", command)
	}
	for _, command := range []string{
		// Commands that do more than read.
		"", " ", "rm x", "mkdir x", "touch x", "sudo ls", "env ls", "xargs ls", "sh", "date -s 2020-01-01", "tail -f x", "find . -delete",
		"/bin/ls", "./ls", "LS", "lsof", "ls.", "-ls", "exec ls", "command ls", "builtin echo", "eval ls", ". x", "source x", "time ls", "!ls",
		// More than one command.
		"ls; rm x", "ls;rm x", "ls && rm x", "ls || rm x", "ls | sh", "ls & rm x", "ls |& sh", "ls\nrm x", "ls\rrm x", "ls ^ sh",
		"(ls)", "{ ls; }", "if ls", "ls\x00rm",
		// Substitutions and redirections by the shell.
		"echo $(rm x)", "echo `rm x`", "echo ${x:=y}", "echo $x", "echo $((1))", "cat <(rm x)", "echo x > y", "echo x >> y", "cat < x", "cat << x",
		"echo x>y", "ls 2>&1", "echo x >| y", "x=1 ls", "PATH=. ls", "echo ~root", "ls *", "ls ?", "ls [a]", "echo {a,b}", "echo %1", "echo #x",
		// Quotes and escapes, which may hide anything.
		`echo "x"`, `echo 'x'`, `ec\ho x`, `e""cho`, `echo \x`, `'ls'`, `echo $'x'`, `echo $"x"`, `l\` + "\ns",
		// Look-alike blanks and letters.
		"ls\tx", "ls\u00a0x", "ls\u2028x", "ls\vx", "\u202els", "ls\u200b", "\u0455h", "lѕ", "ls \x1b[2J", "ls \xff", "ls\x85rm",
	} {
		require.True(t, agents.Risky(command), "%q", command)
	}
}
