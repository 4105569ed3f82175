package relay

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
)

func TestPrefixGlobs(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]map[string]string{
		`{"command":"git push origin"}`:                          {"command": "git **"},
		`{"command":"ls"}`:                                       {"command": "ls"},
		`{"command":"git push","cwd":"/srv","n":7,"deep":["x"]}`: {"command": "git **", "cwd": "/srv"},
		`{"command":"git add *.go"}`:                             {"command": "git **"},
		`{"path":"src/[a].go"}`:                                  {"path": "src/[a].go"},
	} {
		require.Equal(t, want, prefixGlobs(api.JSON(input)), input)
	}
	for _, input := range []string{
		`null`, `7`, `"git push"`, `[]`, `{}`, `{"n":7}`, `{"command":""}`, `{"command":" rm"}`,
		`{"path":"*.go"}`, `{"path":"a?"}`, `{"command":"l? x"}`, `{"command":"git push","path":"**"}`,
		`{"command":"rm -rf ./temp"}`, `{"command":"/bin/rm -rf ./temp"}`, `{"command":"RM -rf x"}`, `{"command":"\"rm\" x"}`, `{"command":"\\rm x"}`,
		`{"command":"bash -c x"}`, `{"command":"sudo ls -l"}`, `{"command":"env ls -l"}`, `{"command":"A=b rm x"}`, `{"command":"$(x) y"}`, `{"command":"ls;rm x"}`,
		`{"command":"python3.12 manage.py x"}`, `{"command":"nodejs x y"}`, `{"command":"pypy x"}`, `{"command":"rbash x"}`, `{"command":"yash x"}`, `{"command":"tclsh x"}`, `{"command":"fd x"}`, `{"command":"gdb x"}`,
		`{"command":"genv npm test"}`, `{"command":"grm -rf x"}`, `{"command":"cmd.exe /c x"}`, `{"command":"make all"}`, `{"command":"docker-compose run x"}`, `{"command":"bash-5.2 x"}`,
		`{"command":"ls\nrm x"}`, `{"command":"python3 -c x"}`, `{"cwd":"git x","command":"sh x"}`, `{"command":"(cd x)"}`,
	} {
		require.Nil(t, prefixGlobs(api.JSON(input)), input)
	}
}

// Where the broad rule would be none, the rule is for the exact call.
func TestAlwaysFallsBack(t *testing.T) {
	t.Parallel()
	f := &face{alwaysPrefix: true}
	many := map[string]string{}
	for i := range api.MaxRuleParams + 1 {
		many[strings.Repeat("p", i+1)] = "x"
	}
	for _, value := range []map[string]string{{"path": strings.Repeat("x", api.MaxGlobLength+1)}, many, {"a": "*"}} {
		input, err := json.Marshal(value)
		require.NoError(t, err)
		decision, text := f.allowAlways(&api.ApprovalRequest{ID: "a", ToolName: "t", ToolCallID: "c", Input: input}, "s", 1)
		require.Nil(t, decision.RememberMatch, "the tool and the exact input")
		require.Contains(t, text, "with exactly this input")
	}
	// A sensitive value is not in the input that is shown.
	sensitive := &api.ApprovalRequest{
		ID: "a", ToolName: "t", ToolCallID: "c", Input: api.JSON(`{"command":"git push","token":{"sensitive":true}}`),
		SensitivePaths: []string{"/token"}, InputDigest: "keyed",
	}
	decision, text := f.allowAlways(sensitive, "s", 1)
	require.Nil(t, decision.RememberMatch)
	require.Contains(t, text, "exactly")
}

func TestTruthy(t *testing.T) {
	t.Parallel()
	for _, value := range []string{`true`, `1`, `-0.5`, `"0"`, `"false"`, `" "`, `"\u0000"`, `[]`, `{}`} {
		require.True(t, truthy(api.JSON(value)), value)
	}
	for _, value := range []string{``, `null`, `false`, `0`, `-0`, `0.0`, `0e5`, `""`} {
		require.False(t, truthy(api.JSON(value)), value)
	}
}
