package columns_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/rules"
	"github.com/holdpoint/holdpoint/store/columns"
)

// A program that does not know directories ignores the member of a deny, which then holds everywhere, and finds an
// allow neither by its digest nor by its params.
func TestOlderProgramsAllowNothingByADirectory(t *testing.T) {
	t.Parallel()
	rule := rules.Rule{ToolName: "bash", Effect: api.RuleAllow, Match: api.RuleMatch{InputDigest: "sha256:1", Directory: "/srv"}}
	stored := func() string {
		at := slices.IndexFunc(columns.Rules.Columns, func(c columns.Column[rules.Rule]) bool { return c.Name == "match" })
		return columns.Rules.Columns[at].Text(&rule)
	}
	require.JSONEq(t, `{"input_digest":"sha256:1","params":{"\u0001directory":"/srv"}}`, stored())
	rule.Effect = api.RuleDeny
	require.JSONEq(t, `{"input_digest":"sha256:1","directory":"/srv"}`, stored())
}
