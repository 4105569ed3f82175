package agent

import (
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/mcptools"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

const hookLine = "holdpoint hook --agent-id claude-code"

var claude = &codingAgents[0]

// The program and the flags in the settings that docs/agents.md shows.
const (
	shownProgram = "/usr/local/bin/holdpoint"
	shownFlags   = " --server http://127.0.0.1:4000 --signed-by=kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"
)

func TestInstallingKeepsWhatIsThere(t *testing.T) {
	t.Parallel()
	before := `{"model": "x", "hooks": {"Stop": [{"hooks": []}], "PreToolUse": [{"matcher": "Read", "hooks": [{"type": "command", "command": "lint"}]}]}, "env": {"n": 9007199254740993}}`
	after, changed, err := withHook([]byte(before), claude, preToolUse, "Bash", hookLine)
	require.NoError(t, err)
	require.True(t, changed)
	text := string(after)
	order := 0
	for _, part := range []string{`"model": "x"`, `"Stop"`, `"matcher": "Read"`, `"command": "lint"`, `"matcher": "Bash"`, hookLine, `"n": 9007199254740993`} {
		at := strings.Index(text, part)
		require.Greater(t, at, order, part)
		order = at
	}
	again, changed, err := withHook(after, claude, preToolUse, "Bash", hookLine)
	require.NoError(t, err)
	require.False(t, changed)
	require.Equal(t, text, string(again))
	_, changed, err = withHook(after, claude, preToolUse, "Write", hookLine)
	require.NoError(t, err)
	require.True(t, changed)

	// A line for the same tools replaces the previous one, so people are not asked twice.
	moved, changed, err := withHook(after, claude, preToolUse, "Bash", hookLine+" --server http://127.0.0.1:1")
	require.NoError(t, err)
	require.True(t, changed)
	require.Equal(t, strings.Replace(text, hookLine, hookLine+" --server http://127.0.0.1:1", 1), string(moved))

	for bad, why := range map[string]string{
		``: "is not a JSON object", `[]`: "is not a JSON object", `{`: "unexpected EOF", `{"hooks": []}`: "hooks: is not a JSON object",
		`{"hooks": {"PreToolUse": {}}}`: "hooks.PreToolUse: ", `{"a": 1, "a": 2}`: "duplicate", "{} // mine": "has extra text after the JSON object",
		"// mine\n{}": "invalid character '/'",
	} {
		_, _, err := withHook([]byte(bad), claude, preToolUse, "*", hookLine)
		require.ErrorContains(t, err, why, bad)
	}
}

func TestSuggestionsBecomeKeysOnlyWhenAllOfThemAreRules(t *testing.T) {
	t.Parallel()
	const rule = `{"type":"addRules","behavior":"allow","rules":[{"toolName":"Bash","ruleContent":"npm test:*"},{"toolName":"Read"}]}`
	for suggestions, want := range map[string][]string{
		`[` + rule + `]`: {"Bash(npm test:*)", "Read"},
		`[]`:             nil,
		`[` + rule + `,{"type":"addDirectories","directories":["/"]}]`:                                                             nil,
		`[{"type":"addRules","behavior":"deny","rules":[{"toolName":"Bash"}]}]`:                                                    nil,
		`[{"type":"addRules","behavior":"allow","rules":[]}]`:                                                                      nil,
		`[{"type":"addRules","behavior":"allow","rules":[{"toolName":""}]}]`:                                                       nil,
		`[{"type":"addRules","behavior":"allow","rules":[{"toolName":"` + strings.Repeat("x", api.MaxPatternKeyLength+1) + `"}]}]`: nil,
	} {
		var asked hookInput
		require.NoError(t, json.Unmarshal([]byte(`{"permission_suggestions":`+suggestions+`}`), &asked))
		require.Equal(t, want, asked.patternKeys(), suggestions)
	}
}

// A person sees which of an agent's subagents asks: each may have been told something else.
func TestASubagentIsNamed(t *testing.T) {
	t.Parallel()
	type read struct{ id, kind string }
	for from, want := range map[read]string{
		{}:                                  "",
		{kind: "reviewer"}:                  "", // the main agent of claude --agent reviewer
		{id: "a1"}:                          "A subagent asks: a1",
		{id: "a1", kind: "general-purpose"}: "A subagent asks: general-purpose",
		{id: "a1", kind: strings.Repeat("é", api.MaxHintLength)}: "A subagent asks: " + strings.Repeat("é", (api.MaxHintLength-17)/2),
	} {
		var hints []api.Hint
		if want != "" {
			hints = []api.Hint{{Level: api.HintInfo, Text: want}}
		}
		for _, tool := range []string{"Bash", "ExitPlanMode"} {
			call, err := (&HookRun{}).callOf(hookInput{SessionID: "s", ToolName: tool, ToolInput: api.JSON(`{"plan":"x"}`), Subagent: from.id, AgentType: from.kind}, 0)
			require.NoError(t, err)
			require.Equal(t, hints, call.Approval.Hints, tool)
		}
	}
}

// An id stands in a line for a shell: only an id that was checked gets there, and the others take no place.
func TestOnlyCheckedKeysAreInstalled(t *testing.T) {
	t.Parallel()
	other := `{"kty":"EC","crv":"P-256","kid":"x; echo evil #"},`
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"keys":[`+strings.Repeat(other, mostKeys)+
			`{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo","kid":"kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"}]}`)
	}))
	t.Cleanup(service.Close)
	ids, err := (&HookInstall{Server: service.URL}).keys(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"}, ids)
}

// TestHooksAreKnownByAnyName: an installed hook is found again, and not doubled, whatever the program was
// called and wherever it was.
func TestHooksAreKnownByAnyName(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"holdpoint", shownProgram, "/home/me/my tools/holdpoint", "/opt/hp-1.2"} {
		for i := range codingAgents {
			require.True(t, isHook(codingAgents[i].command(program, "a", shownFlags)), program)
		}
	}
	for _, command := range []string{"", "lint", "holdpoint exec -- ls", "/usr/bin/other hook --agent-id claude-code"} {
		require.False(t, isHook(command), command)
	}
}

func TestSessionsAreIDs(t *testing.T) {
	t.Parallel()
	require.Equal(t, "claude-code-ff34877a-2005", sessionOf("claude-code", "ff34877a-2005"))
	for _, theirs := range []string{"a b/c", "..", "é", strings.Repeat("x", 300)} {
		require.True(t, refusal.ValidID(sessionOf("a", theirs)), theirs)
	}
}

// TestInstalledIsWhatTheDocumentShows: docs/agents.md shows the settings of each agent.
func TestInstalledIsWhatTheDocumentShows(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/agents.md")
	require.NoError(t, err)
	for i := range codingAgents {
		of := &codingAgents[i]
		shown := regexp.MustCompile("(?s)<!-- test:settings-" + of.name + " -->\n```json\n(.*?)```").FindSubmatch(text)
		require.NotNil(t, shown, of.name)
		installed, changed, err := withHook([]byte("{}"), of, of.events[0], "*", of.command(shownProgram, of.name, shownFlags))
		require.NoError(t, err)
		require.True(t, changed)
		require.Equal(t, string(shown[1]), string(installed), of.name)
		again, changed, err := withHook(installed, of, of.events[0], "*", of.command(shownProgram, of.name, shownFlags))
		require.NoError(t, err)
		require.False(t, changed, of.name)
		require.Equal(t, string(installed), string(again))
	}
	script, err := os.ReadFile("../testdata/script/hook.txtar")
	require.NoError(t, err)
	dryRuns := regexp.MustCompile("(?s)<!-- test:dry-run-[a-z-]+ -->\n```sh\n(.*?)\n```").FindAllSubmatch(text, -1)
	require.Len(t, dryRuns, 2)
	for _, shown := range dryRuns {
		require.Contains(t, string(script), "\nexec "+string(shown[1])+"\n", "a script runs it")
	}
}

// TestFlagsNameTheAgents: the flag accepts exactly the agents that have a description.
func TestFlagsNameTheAgents(t *testing.T) {
	t.Parallel()
	var names []string
	for _, one := range codingAgents {
		names = append(names, one.name)
	}
	for command, field := range map[any]string{&HookRun{}: "HooksOf", &HookInstall{}: "Agent", &HookDoctor{}: "Agent"} {
		tagged, there := reflect.TypeOf(command).Elem().FieldByName(field)
		require.True(t, there)
		require.Equal(t, strings.Join(names, ","), tagged.Tag.Get("enum"))
	}
	_, err := agentNamed("vi")
	require.Error(t, err)
}

// TestGuardBlocks: a hook that was killed or is missing allows nothing, however long the call is. An agent
// reads exit code 2 and stderr, or a denial on stdout.
func TestGuardBlocks(t *testing.T) {
	t.Parallel()
	for i := range codingAgents {
		of := &codingAgents[i]
		for _, hook := range []string{"kill -9 $$", "exit 1", "exec /nonexistent"} {
			_, line, _ := strings.Cut(of.command(shownProgram, of.name, shownFlags), " || ")
			command := exec.CommandContext(t.Context(), "sh", "-c", "sh -c '"+hook+"' 2>/dev/null || "+line)
			var stdout, stderr strings.Builder
			command.Stdout, command.Stderr = &stdout, &stderr
			input, err := command.StdinPipe()
			require.NoError(t, err)
			require.NoError(t, command.Start())
			_, err = io.WriteString(input, strings.Repeat("x", 1<<20)) // more than a pipe keeps for a reader that is gone
			require.NoError(t, err, "%s goes on with a call that it cannot write: %s", of.name, hook)
			require.NoError(t, input.Close())
			err = command.Wait()
			if of.noMatcher {
				require.NoError(t, err)
				require.JSONEq(t, `{"permissionDecision":"deny","permissionDecisionReason":"holdpoint hook has failed: nothing was allowed"}`, stdout.String())
				continue
			}
			require.Equal(t, 2, command.ProcessState.ExitCode(), "%s: %s", of.name, hook)
			require.Contains(t, stderr.String(), "nothing was allowed")
			require.Empty(t, stdout.String())
		}
	}
}

// An agent that cannot write the whole call counts the hook as failed, and goes on without it.
func TestACallThatIsTooLongIsReadToItsEnd(t *testing.T) {
	t.Parallel()
	stdin := strings.NewReader(strings.Repeat(" ", maxHookInput+1<<20))
	_, err := readHook(claude, stdin)
	require.EqualError(t, err, "nothing was allowed: stdin has more than 16777216 bytes")
	require.Zero(t, stdin.Len())
}

// TestAgentsGetTheTextThatWasDecided: an edited input is not rounded, reordered or replaced
// by the original.
func TestAgentsGetTheTextThatWasDecided(t *testing.T) {
	t.Parallel()
	const (
		input = `{"id":9007199254740992,"x":1.0,"2":1,"1":2,"big":1e300}`
		edit  = `{"id":9007199254740993,"x":1.0,"2":1,"1":2,"big":1e300}`
	)
	for _, one := range []struct{ agent, event, want string }{
		{"claude-code", permissionRequest, `"updatedInput":` + edit},
		{"claude-code", preToolUse, `"updatedInput":` + edit},
		{"gemini-cli", beforeTool, `"tool_input":` + edit},
		{"copilot-cli", preToolUse, `"modifiedArgs":` + edit},
	} {
		of, err := agentNamed(one.agent)
		require.NoError(t, err)
		var written strings.Builder
		decided := mcptools.Permission{Behavior: api.BehaviorAllow, UpdatedInput: api.JSON(edit)}
		require.NoError(t, write(&written, of.answer(hookInput{Event: one.event, ToolInput: api.JSON(input)}, decided)))
		require.Contains(t, written.String(), one.want, "%s, %s", one.agent, one.event)
	}
}

// TestAnswersAreAsEachAgentReadsThem: the inputs are those that each agent's documentation
// shows.
func TestAnswersAreAsEachAgentReadsThem(t *testing.T) {
	t.Parallel()
	const input = `{"command":"ls","description":"List"}`
	allow := func(input string) mcptools.Permission {
		return mcptools.Permission{Behavior: api.BehaviorAllow, UpdatedInput: api.JSON(input)}
	}
	deny := mcptools.Permission{Behavior: api.BehaviorDeny, Message: "Denied by ada"}
	for _, one := range []struct {
		agent, event string
		decided      mcptools.Permission
		want         string
	}{
		{"claude-code", permissionRequest, allow(input), `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow","updatedInput":` + input + `}}}`},
		{"codex", preToolUse, deny, `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"Denied by ada"}}`},
		{"codex", preToolUse, allow(`{"command":"ls -l","description":"List"}`), `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","permissionDecisionReason":"allowed through holdpoint","updatedInput":{"command":"ls -l","description":"List"}}}`},
		{"codex", preToolUse, allow(`{"command":"ls -l","description":"List","workdir":"/srv"}`), `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"nothing was allowed: of an edit this agent heeds \"command\" alone, and this one changes more"}}`},
		{"codex", preToolUse, allow(`{"command":"ls","description":"All"}`), `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"nothing was allowed: of an edit this agent heeds \"command\" alone, and this one changes more"}}`},
		{"codex", preToolUse, allow(`{"description":"List"}`), `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"nothing was allowed: of an edit this agent heeds \"command\" alone, and this one changes more"}}`},
		{"codex", preToolUse, allow(`{"command":"ls"}`), `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"nothing was allowed: of an edit this agent heeds \"command\" alone, and this one changes more"}}`},
		{"qwen-code", preToolUse, allow(input), `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","permissionDecisionReason":"allowed through holdpoint","updatedInput":` + input + `}}`},
		{"qwen-code", preToolUse, allow(`{"command":"ls -l"}`), `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"nothing was allowed: what was allowed is an edit, and this agent would run the call as it was"}}`},
		{"gemini-cli", beforeTool, allow(`{ "description": "List", "command": "ls" }`), `{"decision":"allow","reason":"allowed through holdpoint"}`},
		{"gemini-cli", beforeTool, allow(`{"command":"ls -l","description":"List"}`), `{"decision":"allow","reason":"allowed through holdpoint","hookSpecificOutput":{"hookEventName":"BeforeTool","tool_input":{"command":"ls -l","description":"List"}}}`},
		{"gemini-cli", beforeTool, allow(`{"command":"ls -l"}`), `{"decision":"deny","reason":"nothing was allowed: the edit leaves out \"description\", which this agent would run nevertheless"}`},
		{"gemini-cli", beforeTool, deny, `{"decision":"deny","reason":"Denied by ada"}`},
		{"copilot-cli", preToolUse, allow(input), `{"permissionDecision":"allow","permissionDecisionReason":"allowed through holdpoint"}`},
		{"copilot-cli", preToolUse, allow(`{"command":"ls -l"}`), `{"permissionDecision":"allow","permissionDecisionReason":"allowed through holdpoint","modifiedArgs":{"command":"ls -l"}}`},
		{"copilot-cli", preToolUse, deny, `{"permissionDecision":"deny","permissionDecisionReason":"Denied by ada"}`},
	} {
		of, err := agentNamed(one.agent)
		require.NoError(t, err)
		var written strings.Builder
		require.NoError(t, write(&written, of.answer(hookInput{Event: one.event, ToolName: "Bash", ToolInput: api.JSON(input)}, one.decided)))
		require.Equal(t, one.want+"\n", written.String(), one.agent)
	}
}

// TestTriedVersionsAreDocumented: a person can see what the message about an older version compares with.
func TestTriedVersionsAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/agents.md")
	require.NoError(t, err)
	for _, one := range codingAgents {
		if one.tried != "" {
			require.Regexp(t, "\\| `"+one.name+"` \\|.*\\| "+regexp.QuoteMeta(one.tried)+",", string(page))
		}
		require.NotEmpty(t, one.program)
	}
}

// TestWritablePrograms: a program that runs cannot be opened for writing, which says nothing about the rights
// to it.
func TestWritablePrograms(t *testing.T) {
	t.Parallel()
	program, err := os.Executable()
	require.NoError(t, err)
	require.True(t, writable(program))
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(program, link))
	require.True(t, writable(link))
	require.False(t, writable(link+"-missing"))
	busy := &fs.PathError{Op: "open", Path: program, Err: syscall.ETXTBSY}
	require.True(t, mayWrite(program, busy))
	require.False(t, mayWrite(program, &fs.PathError{Op: "open", Path: program, Err: syscall.EACCES}))
	require.False(t, mayWrite(program, &fs.PathError{Op: "open", Path: program, Err: syscall.EROFS}))
	if runtime.GOOS == "linux" {
		// This link is in a directory where no user can create files.
		require.True(t, writable("/proc/self/exe"))
		require.False(t, mayWrite(link+"-missing", busy), "a running program that this user may not write")
	}
}

// A label that the service would refuse ends the command at its start, not with the first call of the agent.
func TestALabelThatIsTooLong(t *testing.T) {
	t.Parallel()
	asking := Asking{Agent: "coder", Outage: time.Minute, Named: console.Named{Label: strings.Repeat("é", api.MaxLabelLength)}}
	_, err := asking.check()
	require.NoError(t, err)
	asking.Label += "é"
	_, err = asking.check()
	require.EqualError(t, err, "--session-label must have at most 80 characters")
}
