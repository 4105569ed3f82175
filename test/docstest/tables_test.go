package docstest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTablesAreWhole: a row stands on one line and has as many cells as the head of its table. Readers would get the
// rest of a broken row as a row of its own, and no cells beyond the head.
func TestTablesAreWhole(t *testing.T) {
	t.Parallel()
	for _, name := range documents(t) {
		cells := 0 // of the table's head; 0 outside of a table
		for i, line := range strings.Split(prose(read(t, name)), "\n") {
			line = strings.TrimSpace(line)
			switch {
			case line == "" || strings.HasPrefix(line, "<!--"):
				cells = 0
				continue
			case cells == 0 && !strings.HasPrefix(line, "|"):
				continue
			}
			count := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|") - 1
			if cells == 0 {
				cells = count
			}
			require.True(t, strings.HasPrefix(line, "|") && strings.HasSuffix(line, "|") && count == cells, "%s:%d: %s", name, i+1, line)
		}
	}
}
