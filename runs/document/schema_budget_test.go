package document_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
)

// Schemas and values that are small by themselves and cost minutes together: the check
// ends with its budget, and says so. Without the budget each of these runs for many
// seconds.
func TestWorkOfAValueIsBounded(t *testing.T) {
	t.Parallel()
	pattern := strings.Repeat(".{0,1000}", 23) + "x"
	references := strings.TrimSuffix(strings.Repeat(`{"$ref":"#/$defs/p"},`, 400), ",")
	patterns := make([]string, 1_500)
	for i := range patterns {
		patterns[i] = fmt.Sprintf(`"^k%d$":true`, i)
	}
	members := make([]string, 80_000)
	for i := range members {
		members[i] = fmt.Sprintf(`"m%d":1`, i)
	}
	for name, test := range map[string]struct{ schema, value string }{
		"one pattern, referred to many times": {
			`{"$defs":{"p":{"pattern":"` + pattern + `"}},"allOf":[` + references + `]}`, `"` + strings.Repeat("a", 20_000) + `"`,
		},
		"one pattern, many texts": {
			`{"items":{"pattern":"` + pattern + `"}}`, `[` + strings.TrimSuffix(strings.Repeat(`"`+strings.Repeat("a", 100)+`",`, 5_000), ",") + `]`,
		},
		"many patterns, many members": {
			`{"patternProperties":{` + strings.Join(patterns, ",") + `}}`, `{` + strings.Join(members, ",") + `}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Empty(t, document.CheckSchema(api.JSON(test.schema), "/input_schema"), "the schema is acceptable by itself")
			faults := document.MatchSchema(api.JSON(test.schema), api.JSON(test.value), "/updated_input")
			require.Equal(t, []api.Fault{{Pointer: "/updated_input", Detail: "cannot be checked: the schema is too complex for this value"}}, faults)
		})
	}
}

// A call may bring very many values: they have a budget together.
func TestWorkOfACallIsBounded(t *testing.T) {
	t.Parallel()
	schema := api.JSON(`{"items":{"enum":[1` + strings.Repeat(",2", 10_000) + `]}}`)
	value := api.JSON(`[1` + strings.Repeat(",1", 9) + `]`)
	require.Empty(t, document.CheckSchema(schema, ""))
	var work document.Work
	checked := 0
	for range 1_000 {
		faults := work.MatchSchema(schema, value, "/value")
		if faults != nil {
			require.Equal(t, []api.Fault{{Pointer: "/value", Detail: "cannot be checked: the values of this call take too much work together"}}, faults)
			break
		}
		checked++
	}
	require.GreaterOrEqual(t, checked, 10)
	require.Less(t, checked, 100)
	require.NotEmpty(t, work.MatchSchema(api.JSON(`true`), api.JSON(`1`), ""), "it stays spent")
	require.Empty(t, document.MatchSchema(schema, value, ""))
}

// The budget is no hindrance for what people write.
func TestUsualPatternsFitTheBudget(t *testing.T) {
	t.Parallel()
	schema := `{"type":"object","properties":{"path":{"type":"string","pattern":"^(/[A-Za-z0-9._-]{1,60}){1,16}$"},
		"body":{"type":"string","pattern":"^[\\s\\S]*$","maxLength":200000}},"patternProperties":{"^x-":{"type":"string"}}}`
	value := `{"path":"/srv/app/config.yaml","body":"` + strings.Repeat("line ", 20_000) + `","x-note":"n"}`
	require.Empty(t, document.MatchSchema(api.JSON(schema), api.JSON(value), ""))
}
