package docstest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every row of the threats in docs/security.md names a test. Every test that the documents about security and reliability
// name is there.
func TestThreatsNameTestsThatThereAre(t *testing.T) {
	t.Parallel()
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`)
	tests := map[string]bool{}
	require.NoError(t, filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, found := range declared.FindAllSubmatch(text, -1) {
			tests[string(found[1])] = true
		}
		return err
	}))
	_, threats, found := strings.Cut(document(t, "docs/security.md"), "\n## Threats\n")
	require.True(t, found)
	threats, _, _ = strings.Cut(threats, "\n## ")
	for line := range strings.Lines(threats) {
		if cells := strings.Split(line, "|"); len(cells) > 5 && !strings.HasPrefix(cells[1], "-") && cells[1] != " Who " {
			require.Contains(t, cells[len(cells)-2], "`Test", "no test shows: %s", line)
		}
	}
	for _, path := range []string{"docs/security.md", "docs/reliability.md"} {
		named := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(document(t, path), -1)
		require.NotEmpty(t, named)
		for _, name := range named {
			require.True(t, tests[name[1]], name[1])
		}
	}
}
