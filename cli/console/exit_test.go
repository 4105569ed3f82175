package console

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A code that is not written down means nothing to a script.
func TestEachExitCodeIsDocumented(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "exit.go", nil, 0)
	require.NoError(t, err)
	var codes []string
	ast.Inspect(file, func(node ast.Node) bool {
		value, is := node.(*ast.ValueSpec)
		if is && strings.HasPrefix(value.Names[0].Name, "Exit") {
			if code, is := value.Values[0].(*ast.BasicLit); is && code.Kind == token.INT {
				codes = append(codes, code.Value)
			}
		}
		return true
	})
	require.Contains(t, codes, "3")
	page, err := os.ReadFile("../../docs/cli.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(page), "\n## Exit codes\n")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n## ")
	comment, err := os.ReadFile(filepath.Join("..", "doc.go"))
	require.NoError(t, err)
	for _, code := range codes {
		require.Regexp(t, `(?m)^\| (\d+, )?`+code+`(\+n)?(, \d+)? \|`, table)
		require.Regexp(t, `(?m)^//\t(\d+, )?`+code+`(\+n)?(, \d+)? `, string(comment))
		require.Regexp(t, `[ /]`+regexp.QuoteMeta(code)+`(\+n|/\d+)? `, ExitCodesHelp)
	}
}
