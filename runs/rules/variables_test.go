package rules_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
)

// A deny reads the commands in the values of variables. An unknown program is any program in front of a command only: most
// values of declared variables are texts.
func TestADenyReadsTheValuesOfVariables(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		glob            string
		denied, allowed []string
	}{
		{
			"rm **",
			[]string{
				`export A="$A; rm -rf x"`, "export A=\"$A it's\nrm -rf x\"", `env A="$A; rm -rf x" bash`, `export A="$A && $B; sudo rm x"`, `A="$X y" bash`, `$X y`, `export A="$($X y)"`,
			},
			[]string{
				`export NODE_OPTIONS="$NODE_OPTIONS --max-old-space-size=1"`, `f() { local m="$1 failed"; }`, `f() { local m="$1 isn't there"; }`, `docker run -e M="$USER here" i`,
				`export A="history -a; $A"`, `export A=" "`, `declare -x A="$X y"`, `declare "A=$X y"`, `export A="$X/bin y"`,
			},
		},
		{
			"rm -rf **",
			[]string{`export PAGER=$'rm -rf x'; git log`, `PAGER=$'rm\x20-rf\tx' git log`, `env PAGER=$'rm -rf \'x\' \"y\"' git log`, `export A="$A it's"$'\n'"rm -rf x"`, `bash -c $'rm -r\146 x'`, `$'\cx' -rf x`},
			[]string{`echo $'rm -rf x'`, `export A=$'rm x'`, `bash -c $'ls\tx'`},
		},
		{"rm -rf **", nil, []string{`export A="$X -rf y"`, `env A="$X -rf y" bash`}}, // given up with the texts
		{"cat | sh", []string{`export A="$1; cat | zsh"`}, []string{`export A="$1 | $2"`}},
	} {
		for _, command := range test.denied {
			require.Equal(t, api.RuleDeny, decided(t, api.RuleDeny, "bash", map[string]string{"command": test.glob}, map[string]any{"command": command}), "%q, %q", test.glob, command)
		}
		for _, command := range test.allowed {
			require.Equal(t, api.RuleAsk, decided(t, api.RuleDeny, "bash", map[string]string{"command": test.glob}, map[string]any{"command": command}), "%q, %q", test.glob, command)
		}
	}
}
