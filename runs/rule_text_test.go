package runs_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
)

// december is a time for texts to show.
var december = time.Date(2026, time.December, 21, 10, 0, 0, 0, time.UTC).UnixMilli()

func TestRuleTexts(t *testing.T) {
	t.Parallel()
	until := &december
	never := ms(0)
	digest := digestOf(`1`)
	for _, test := range []struct {
		name string
		rule runs.AddRule
		text string
	}{
		{
			"any input",
			runs.AddRule{ToolName: "bash", Match: api.RuleMatch{AnyInput: true}, ExpiresAfterMs: never},
			`Allow every call of the tool bash, whatever its input, in every session, with no end date.`,
		},
		{"all that is round it", runs.AddRule{
			SessionID: "s1", AgentID: "coder", ToolName: "bash", Effect: api.RuleDeny, Match: api.RuleMatch{AnyInput: true}, MaxUses: 3, ExpiresAtMs: until,
		}, `Deny every call of the tool bash, whatever its input, in session s1, for agent coder, at most 3 times, until 2026-12-21T10:00:00Z.`},
		{
			"once",
			runs.AddRule{SessionID: "s1", Match: api.RuleMatch{ToolCallID: "call-7"}, MaxUses: 1, ExpiresAtMs: until},
			`Allow any tool for the one call "call-7", in session s1, once only, until 2026-12-21T10:00:00Z.`,
		},
		{
			"a digest",
			runs.AddRule{ToolName: "bash", Match: api.RuleMatch{InputDigest: digest}, ExpiresAtMs: until},
			`Allow the tool bash with exactly the input whose digest is ` + digest + `, in every session, until 2026-12-21T10:00:00Z.`,
		},
		{
			"params",
			runs.AddRule{ToolName: "bash", Match: api.RuleMatch{Params: map[string]string{"cwd": "/tmp", "command": "npm *", "a b": "**/?"}}, ExpiresAtMs: until},
			`Allow the tool bash when "a b" matches "**/?" (** is any text with or without slashes, ? is any one character but a slash, no wildcard covers shell operators) and when command matches "npm *" ` +
				`(* is any text without a slash, no wildcard covers shell operators) and when cwd is exactly "/tmp", in every session, until 2026-12-21T10:00:00Z.`,
		},
		{
			"stars in a row",
			runs.AddRule{ToolName: "bash", Match: param("a", "***"), ExpiresAtMs: until},
			`Allow the tool bash when a matches "***" (** is any text with or without slashes, no wildcard covers shell operators), in every session, until 2026-12-21T10:00:00Z.`,
		},
		{
			"stars of both kinds",
			runs.AddRule{ToolName: "bash", Match: param("a", "*/***"), ExpiresAtMs: until},
			`Allow the tool bash when a matches "*/***" (* is any text without a slash, ** is any text with or without slashes, no wildcard covers shell operators), in every session, until 2026-12-21T10:00:00Z.`,
		},
		{
			"keys",
			runs.AddRule{ToolName: "bash", Match: keys("git push", "ls"), ExpiresAtMs: until},
			`Allow the tool bash when each of its pattern keys is "git push" or "ls", or is allowed by another rule, in every session, until 2026-12-21T10:00:00Z.`,
		},
		{
			"keys of a deny",
			runs.AddRule{Effect: api.RuleDeny, Match: keys("git push", "ls"), ExpiresAtMs: until},
			`Deny any tool when any of its pattern keys is "git push" or "ls", in every session, until 2026-12-21T10:00:00Z.`,
		},
		{
			"keys and a call",
			runs.AddRule{SessionID: "s1", Effect: api.RuleAsk, Match: api.RuleMatch{PatternKeys: []string{"k"}, ToolCallID: "c"}, ExpiresAtMs: until},
			`Ask a person about any tool for the one call "c" and when any of its pattern keys is "k", in session s1, until 2026-12-21T10:00:00Z.`,
		},
		{
			"a hint",
			runs.AddRule{Effect: api.RuleHint, ToolName: "bash", Match: param("command", "kubectl **"), Hint: &api.Hint{Level: api.HintWarn, Text: "\", once only\u202e"}, ExpiresAtMs: until},
			`Show the warning "\", once only\u202e" to people who decide about the tool bash when command, or a command in it, matches "kubectl **" (** is any text with or without slashes, " **" at the end may be missing), in every session, until 2026-12-21T10:00:00Z.`,
		},
		{
			"names that pretend",
			runs.AddRule{ToolName: "ls, in session x", Match: api.RuleMatch{AnyInput: true}, ExpiresAtMs: until},
			`Allow every call of the tool "ls, in session x", whatever its input, in every session, until 2026-12-21T10:00:00Z.`,
		},
		{
			"keys that pretend",
			runs.AddRule{Match: keys("a\", once only\u202e\n"), ExpiresAtMs: until},
			`Allow any tool when each of its pattern keys is "a\", once only\u202e\n", or is allowed by another rule, in every session, until 2026-12-21T10:00:00Z.`,
		},
		{
			"a long glob",
			runs.AddRule{ToolName: "bash", Match: param("a", strings.Repeat("é", 201)), ExpiresAtMs: until},
			`Allow the tool bash when a is exactly "` + strings.Repeat("é", 200) + `"… (cut, 402 bytes in all), in every session, until 2026-12-21T10:00:00Z.`,
		},
	} {
		inHouse(t, test.name, func(t *testing.T, h *house) {
			h.nowMs = december - 3_600_000
			reply := h.must(&test.rule)
			require.Equal(t, test.text, reply.Rule.Rule.Text)
			require.Equal(t, test.text, reply.Rule.View().Text)
		})
	}
}

// The text of a rule about an exact input shows that input.
func TestRememberedTexts(t *testing.T) {
	t.Parallel()
	preview := func(input string, keys ...string) string {
		request := approval("a")
		request.Input, request.PatternKeys = api.JSON(input), keys
		return remembered(t, request, api.RememberSession, api.BehaviorAllow, ms(1_000), december-1_000)
	}
	require.Equal(t, `Allow the tool bash with exactly this input: {"command":"rm -rf ./temp"}, in session s1, until 2026-12-21T10:00:00Z.`,
		preview(`{ "command" : "rm -rf ./temp" }`))
	require.Equal(t, `Allow the tool bash with exactly this input: {}, in session s1, until 2026-12-21T10:00:00Z.`, preview(`{}`, "k", "k"))
	require.Contains(t, preview(`"a\u202eb\u0007\u007f\ud83d\ude00\u2028"`), `input: "a\u202eb\u0007\u007f😀\u2028", in`, "what cannot be seen is shown")
	require.Contains(t, preview(`"\udb40\udc41"`), `input: "\udb40\udc41", in`)
	long := `"` + strings.Repeat("é", 300) + `"`
	require.Contains(t, preview(long), `input: "`+strings.Repeat("é", 199)+`… (cut, 602 bytes in all, `+digestOf(long)+`), in`)
	exact := `"` + strings.Repeat("é", 198) + `"`
	require.Contains(t, preview(exact), exact+", in")

	request := approval("a")
	require.Equal(t, `Deny the tool bash with exactly this input: {"command":"ls"}, in every session, with no end date.`,
		remembered(t, request, api.RememberAlways, api.BehaviorDeny, ms(0), december))
	require.Equal(t, `Allow the tool bash with exactly this input: {"command":"ls"}, in every session, until 2027-01-20T10:00:00Z.`,
		remembered(t, request, api.RememberAlways, api.BehaviorAllow, nil, december))
	_, err := runs.PreviewRule(request, "s1", runs.ApprovalDecision{Remember: "forever", Behavior: api.BehaviorAllow}, 0, december)
	requireCode(t, api.CodeInvalidRequest, err)
}

// remembered returns the text of the rule that a decision in session s1 would write.
func remembered(t *testing.T, request api.ApprovalRequest, remember api.Remember, behavior api.Behavior, forMs *int64, nowMs int64) string {
	t.Helper()
	rule, err := runs.PreviewRule(request, "s1", runs.ApprovalDecision{Remember: remember, Behavior: behavior, RememberForMs: forMs}, 0, nowMs)
	require.NoError(t, err)
	return rule.Text
}
