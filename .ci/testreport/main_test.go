package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// written is what "go test -json" writes of one test or package: its output, and how it ended ("" for a
// test that did not).
func written(t *testing.T, name, action string, output ...string) string {
	t.Helper()
	var text strings.Builder
	for _, one := range output {
		text.Write(event(t, line{Action: "output", Package: "shop", Test: name, Output: one + "\n"}))
	}
	if action != "" {
		text.Write(event(t, line{Action: action, Package: "shop", Test: name}))
	}
	return text.String()
}

func event(t *testing.T, one line) []byte {
	t.Helper()
	text, err := json.Marshal(one)
	require.NoError(t, err)
	return append(text, '\n')
}

func TestReport(t *testing.T) {
	t.Parallel()
	passing := written(t, "TestSells", "pass", "=== RUN   TestSells", "sold")
	for name, run := range map[string]struct {
		written string
		good    bool
		ends    string // how the report ends
		without string
	}{
		"all pass": {
			written: passing + written(t, "", "pass", "ok  \tshop\t0.1s"),
			good:    true,
			ends:    "ok  \tshop\t0.1s\nPASS: 1 tests passed, 0 failed, 0 skipped, in 1 packages\n",
			without: "sold",
		},
		"a failed test is told at the end, from its last assertion on": {
			written: passing +
				written(t, "TestBuys", "fail", "=== RUN   TestBuys", "a long log", "Error Trace: first_test.go:1", "Error Trace: shop_test.go:7", "Error: no money", "--- FAIL: TestBuys") +
				written(t, "", "fail", "FAIL\tshop\t0.1s"),
			ends: "FAIL\tshop\nWHY\tshop TestBuys\nError Trace: shop_test.go:7\nError: no money\n--- FAIL: TestBuys\nFAIL: 1 tests passed, 1 failed, 0 skipped, in 1 packages\n",
		},
		"without an assertion the last lines are told": {
			written: passing +
				written(t, "TestBuys", "fail", "1", "2", "3", "4", "5", "6", "7", "8", "9") + written(t, "", "fail"),
			ends: "WHY\tshop TestBuys\n2\n3\n4\n5\n6\n7\n8\n9\nFAIL: 1 tests passed, 1 failed, 0 skipped, in 1 packages\n",
		},
		"a long line is cut": {
			written: passing + written(t, "TestBuys", "fail", strings.Repeat("x", 100_000)) + written(t, "", "fail"),
			ends:    "WHY\tshop TestBuys\n" + strings.Repeat("x", 400) + "\nFAIL: 1 tests passed, 1 failed, 0 skipped, in 1 packages\n",
		},
		"a test that the process did not survive": {
			written: passing + written(t, "TestBuys", "", "panic: no money", "goroutine 7 [running]:") + written(t, "", "fail", "FAIL\tshop\t0.1s"),
			ends:    "WHY\tshop TestBuys, which did not end\npanic: no money\ngoroutine 7 [running]:\nFAIL: 1 tests passed, 0 failed, 0 skipped, in 1 packages\n",
		},
		"a skipped test fails the run": {
			written: passing + written(t, "TestBuys", "skip", "no shop here") + written(t, "", "pass", "ok  \tshop\t0.1s"),
			ends:    "SKIPPED\tshop TestBuys\nFAIL: 1 tests passed, 0 failed, 1 skipped, in 1 packages\n",
		},
		"a package that cannot be built": {
			written: passing + written(t, "", "pass") + "shop/x.go:1: syntax error\n" + string(event(t, line{Action: "fail", Package: "mint"})),
			ends:    "FAIL\tmint\nFAIL: 1 tests passed, 0 failed, 0 skipped, in 2 packages\n",
		},
		"no test ran": {
			written: written(t, "", "pass", "?   \tshop\t[no test files]"),
			ends:    "FAIL: 0 tests passed, 0 failed, 0 skipped, in 1 packages\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var printed strings.Builder
			good, err := report(strings.NewReader(run.written), &printed)
			require.NoError(t, err)
			require.Equal(t, run.good, good)
			require.True(t, strings.HasSuffix(printed.String(), run.ends), "%s", printed.String())
			if run.without != "" {
				require.NotContains(t, printed.String(), run.without)
			}
		})
	}
}
