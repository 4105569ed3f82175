package document_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
)

// Schemas and values that are each small and together cost minutes: the check stops at its
// budget and reports it. Without the budget each of these runs for many seconds.
func TestWorkOfAValueIsBounded(t *testing.T) {
	t.Parallel()
	pattern := strings.Repeat(".{0,1000}", 23) + "x"
	references := strings.TrimSuffix(strings.Repeat(`{"$ref":"#/$defs/p"},`, 8), ",")
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

// A schema that only a few bytes can answer is rejected when it is raised, and cheaply: its
// regular expressions are not compiled. Not parallel, because it measures allocations.
func TestASchemaThatCannotBeAnsweredIsRefused(t *testing.T) {
	pattern := strings.Repeat(".{0,1000}", 23)
	references := strings.TrimSuffix(strings.Repeat(`{"$ref":"#/$defs/p"},`, 1_500), ",")
	for name, schema := range map[string]string{
		"allOf":             `{"$defs":{"p":{"pattern":"` + pattern + `"}},"allOf":[` + references + `]}`,
		"patternProperties": `{"$defs":{"p":{"patternProperties":{"` + pattern + `":true}}},"anyOf":[` + references + `]}`,
	} {
		require.Equal(t, []api.Fault{{Pointer: "/response_schema", Detail: "its regular expressions are too complex"}},
			document.CheckSchema(api.JSON(schema), "/response_schema"), name)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for n := range 20 {
		schema := fmt.Sprintf(`{"title":"%d","pattern":"%s"}`, n, pattern)
		require.Empty(t, document.CheckSchema(api.JSON(schema), ""))
	}
	runtime.ReadMemStats(&after)
	require.Less(t, (after.TotalAlloc-before.TotalAlloc)/20, uint64(1<<20), "bytes for each schema")
	require.Empty(t, document.MatchSchema(api.JSON(`{"pattern":"`+pattern+`"}`), api.JSON(`"yes"`), ""))
}

// Callers may use one schema concurrently, each with their own budget. It is compiled once for all of them.
func TestOneSchemaServesManyAtOnce(t *testing.T) {
	compilations := document.CountCompilations(t)
	schema := api.JSON(`{"title":"many","items":{"enum":[1` + strings.Repeat(",2", 10_000) + `]}}`)
	value := api.JSON(`[1` + strings.Repeat(",1", 9) + `]`)
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			for range 20 {
				if faults := document.MatchSchema(schema, value, ""); faults != nil {
					t.Errorf("%v", faults)
				}
			}
		})
	}
	group.Wait()
	require.EqualValues(t, 1, compilations.Load())
}

// The values of a call share a budget.
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

// Ordinary patterns fit the budget.
func TestUsualPatternsFitTheBudget(t *testing.T) {
	t.Parallel()
	schema := `{"type":"object","properties":{"path":{"type":"string","pattern":"^(/[A-Za-z0-9._-]{1,60}){1,16}$"},
		"body":{"type":"string","pattern":"^[\\s\\S]*$","maxLength":200000}},"patternProperties":{"^x-":{"type":"string"}}}`
	value := `{"path":"/srv/app/config.yaml","body":"` + strings.Repeat("line ", 20_000) + `","x-note":"n"}`
	require.Empty(t, document.MatchSchema(api.JSON(schema), api.JSON(value), ""))
}
