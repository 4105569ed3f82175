package audit

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/cli/console"
)

// A file that verifies may still leave something out: the text says so, line by line.
func TestWhatAWholeFileLeavesOut(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		verdict verdict
		says    []string
	}{
		"nothing":      {verdict{}, nil},
		"one session":  {verdict{SessionID: "nightly"}, []string{"the file has session nightly alone"}},
		"what is old":  {verdict{SinceMs: 1_767_225_600_000}, []string{"the file begins at 2026-01-01T00:00:00Z: it says nothing about what was before"}},
		"first events": {verdict{TrimmedSessions: 2}, []string{"not checked: 2 sessions are without their first events, "}},
		"sessions":     {verdict{MissingSessions: []string{"a", "b"}}, []string{"not checked: 2 sessions that checkpoints name are not in the file, and no line says that they were deleted: a, b. "}},
		"many":         {verdict{MissingSessions: strings.Split("abcdef", "")}, []string{"deleted: a, b, c, d, e, …. Export again"}},
		"what is new":  {verdict{YoungSessions: 1}, []string{"not checked: 1 sessions began while the export was written"}},
	} {
		var out bytes.Buffer
		c.verdict.Whole = true
		c.verdict.print(&console.Console{Stdout: &out})
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		require.Len(t, lines, 1+len(c.says), name)
		require.True(t, strings.HasPrefix(lines[0], "whole: 0 events"), name)
		for i, want := range c.says {
			require.Contains(t, lines[1+i], want, name)
		}
	}
}
