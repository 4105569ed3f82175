package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/mcptools"
)

// TestAnEditOfAnotherToolOfCodexCountsWhole: only the tools with a command heed the command alone.
func TestAnEditOfAnotherToolOfCodexCountsWhole(t *testing.T) {
	t.Parallel()
	decided := mcptools.Permission{Behavior: api.BehaviorAllow, UpdatedInput: api.JSON(`{"to":"staging","dry":true}`)}
	asked := hookInput{Event: preToolUse, ToolName: "mcp__deployer__deploy", ToolInput: api.JSON(`{"to":"production"}`)}
	require.Equal(t, specificAnswer(asked, decided), commandAnswer(asked, decided))
}

// TestATerminalIsSeenInTheTranscript: Codex's hooks do not say that a command gets a terminal. The lines
// are as Codex 0.169.0 writes them.
func TestATerminalIsSeenInTheTranscript(t *testing.T) {
	t.Parallel()
	const call = `{"timestamp":"2026-11-30T19:36:14.209Z","ordinal":14,"type":"response_item","payload":{"type":"function_call","id":"fc_1","name":"exec_command","arguments":"{\"cmd\":\"git log\",`
	const terminal, none = call + `\"tty\":true}","call_id":"call_1"}}` + "\n", call + `\"tty\":false}","call_id":"call_1"}}` + "\n"
	for text, want := range map[string][2]bool{
		terminal: {true, true}, none: {true, false}, "": {},
		"half a line\n" + terminal + `{"type":"event_msg","payload":{"type":"token_count"}}` + "\n": {true, true},
		call + `\"x\":1,\"x\":2,\"tty\":true}","call_id":"call_1"}}`:                                {true, true}, // Codex runs both with a terminal
		call + `\"x\":\"\\ud800\",\"tty\":true}","call_id":"call_1"}}`:                              {true, true},
		terminal + none: {true, false}, none + terminal: {true, true}, // an id that was used before: the last call counts
	} {
		found, run := commandIn([]byte(text), false, "call_1")
		require.Equal(t, want, [2]bool{found, run.Terminal}, text)
		found, _ = commandIn([]byte(text), false, "call_2")
		require.False(t, found, text)
	}
	path := filepath.Join(t.TempDir(), "rollout.jsonl")
	require.NoError(t, os.WriteFile(path, []byte(terminal), 0o600))
	require.NotEmpty(t, hiddenOfCodex(t.Context(), &hookInput{ToolName: "Bash", ToolUseID: "call_1", Transcript: path}))
	// Of a call that is longer than what is read, the terminal may stand in what is not.
	long := strings.Replace(terminal, "}\",", strings.Repeat(" ", transcriptTail)+"}\",", 1)
	require.NoError(t, os.WriteFile(path, []byte(long), 0o600))
	require.NotEmpty(t, hiddenOfCodex(t.Context(), &hookInput{ToolName: "Bash", ToolUseID: "call_1", Transcript: path}))
	require.NoError(t, os.WriteFile(path, []byte(long+strings.ReplaceAll(none, "call_1", "call_2")), 0o600))
	require.Empty(t, hiddenOfCodex(t.Context(), &hookInput{ToolName: "Bash", ToolUseID: "call_2", Transcript: path}))
	for _, other := range []hookInput{
		{ToolName: "apply_patch", ToolUseID: "call_1", Transcript: path},
		{ToolName: "Bash", ToolUseID: "exec-2b8fa6ab-19a6-430c-b0ed-13baa3f9032f", Transcript: path}, // of a script
		{ToolName: "Bash", ToolUseID: "call_1"},                                                      // as with --ephemeral
	} {
		require.Empty(t, hiddenOfCodex(t.Context(), &other))
	}
}

// A person decides, and a rule holds, for the directory and the shell in which a command runs. Codex's hooks do not say
// them either.
func TestWhereACommandRunsIsSeenInTheTranscript(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rollout.jsonl")
	for arguments, want := range map[string]struct{ directory, refused string }{
		``:                                        {"/home/ada/app", ""},
		`,\"workdir\":null,\"shell\":null`:        {"/home/ada/app", ""},
		`,\"workdir\":\"\"`:                       {"/home/ada/app", ""},
		`,\"workdir\":\"/srv/x/../y/\"`:           {"/srv/y", ""},
		`,\"workdir\":\"../lib\"`:                 {"/home/ada/lib", ""},
		`,\"workdir\":\"~/x\"`:                    {"", "with the whole path in workdir"},
		`,\"shell\":\"/tmp/evil/bash\"`:           {"", "again without shell"},
		`,\"workdir\":\"/srv\",\"workdir\":\"/\"`: {"", "again without tty"},
	} {
		const call = `{"type":"response_item","payload":{"type":"function_call","name":"exec_command","arguments":"{\"cmd\":\"npm test\"`
		require.NoError(t, os.WriteFile(path, []byte(call+arguments+`}","call_id":"call_1"}}`+"\n"), 0o600))
		asked := hookInput{SessionID: "s", Cwd: "/home/ada/app", ToolName: "Bash", ToolInput: api.JSON(`{"command":"npm test"}`), ToolUseID: "call_1", Transcript: path}
		refused := hiddenOfCodex(t.Context(), &asked)
		if want.refused != "" {
			require.Contains(t, refused, want.refused, arguments)
			continue
		}
		require.Empty(t, refused, arguments)
		raised, err := (&HookRun{}).callOf(asked, 0)
		require.NoError(t, err)
		require.Equal(t, want.directory, raised.Approval.Directory, arguments)
	}
}
