package storetest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// SQLConstants returns the constants whose names begin with sql, of the engine's package in the working
// directory and of the packages hooks and tokens. Each must be one literal, so that a statement can be read as a whole.
func SQLConstants(tb testing.TB) map[string]string {
	tb.Helper()
	found := map[string]string{}
	var files []string
	for _, pattern := range []string{"*.go", "../hooks/*.go", "../retain/*.go", "../tokens/*.go"} {
		matches, err := filepath.Glob(pattern)
		require.NoError(tb, err)
		require.NotEmpty(tb, matches, pattern)
		files = append(files, matches...)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		require.NoError(tb, err)
		ast.Inspect(tree, func(node ast.Node) bool {
			spec, ok := node.(*ast.ValueSpec)
			if !ok {
				return true
			}
			for i, name := range spec.Names {
				if !strings.HasPrefix(name.Name, "sql") {
					continue
				}
				literal, ok := spec.Values[i].(*ast.BasicLit)
				require.True(tb, ok, "%s is put together of pieces", name.Name)
				found[name.Name], err = strconv.Unquote(literal.Value)
				require.NoError(tb, err)
			}
			return true
		})
	}
	require.NotEmpty(tb, found)
	return found
}
