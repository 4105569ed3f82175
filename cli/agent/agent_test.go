package agent

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

const hookLine = "holdpoint hook --agent-id claude-code"

func TestInstallingKeepsWhatIsThere(t *testing.T) {
	t.Parallel()
	before := `{"model": "x", "hooks": {"Stop": [{"hooks": []}], "PreToolUse": [{"matcher": "Read", "hooks": [{"type": "command", "command": "lint"}]}]}, "env": {"n": 9007199254740993}}`
	after, changed, err := withHook([]byte(before), preToolUse, "Bash", hookLine)
	require.NoError(t, err)
	require.True(t, changed)
	text := string(after)
	order := 0
	for _, part := range []string{`"model": "x"`, `"Stop"`, `"matcher": "Read"`, `"command": "lint"`, `"matcher": "Bash"`, hookLine, `"n": 9007199254740993`} {
		at := strings.Index(text, part)
		require.Greater(t, at, order, part)
		order = at
	}
	again, changed, err := withHook(after, preToolUse, "Bash", hookLine)
	require.NoError(t, err)
	require.False(t, changed)
	require.Equal(t, text, string(again))
	_, changed, err = withHook(after, preToolUse, "Write", hookLine)
	require.NoError(t, err)
	require.True(t, changed)

	for _, bad := range []string{``, `[]`, `{`, `{"hooks": []}`, `{"hooks": {"PreToolUse": {}}}`, `{"a": 1, "a": 2}`, "{} // mine"} {
		_, _, err := withHook([]byte(bad), preToolUse, "*", hookLine)
		require.Error(t, err, bad)
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

func TestSessionsAreIDs(t *testing.T) {
	t.Parallel()
	require.Equal(t, "claude-code-ff34877a-2005", sessionOf("claude-code", "ff34877a-2005"))
	for _, theirs := range []string{"a b/c", "..", "é", strings.Repeat("x", 300)} {
		require.True(t, refusal.ValidID(sessionOf("a", theirs)), theirs)
	}
}
