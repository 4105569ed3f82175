package docstest

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var goBlock = regexp.MustCompile("(?s)```go\n(.*?)```")

// TestGoProgramsBuild builds every whole Go program of the documents. It is laid
// over the tree, so that it is built as a part of the module and nothing is written
// there.
func TestGoProgramsBuild(t *testing.T) {
	t.Parallel()
	absolute, err := filepath.Abs(root)
	require.NoError(t, err)
	directory := t.TempDir()
	overlay := map[string]string{}
	var packages []string
	for _, name := range documents(t) {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, block := range goBlock.FindAllStringSubmatch(string(text), -1) {
			if !strings.Contains(block[1], "package main\n") {
				continue // a piece of a program
			}
			at := fmt.Sprintf("example%d", len(packages))
			source := filepath.Join(directory, at+".go")
			require.NoError(t, os.WriteFile(source, []byte(block[1]), 0o600))
			overlay[filepath.Join(absolute, at, "main.go")] = source
			packages = append(packages, "./"+at)
		}
	}
	require.NotEmpty(t, packages)

	text, err := json.Marshal(map[string]any{"Replace": overlay})
	require.NoError(t, err)
	replacements := filepath.Join(directory, "overlay.json")
	require.NoError(t, os.WriteFile(replacements, text, 0o600))
	command := exec.CommandContext(t.Context(), "go", append([]string{"build", "-overlay", replacements, "-o", os.DevNull}, packages...)...)
	command.Dir = absolute
	output, err := command.CombinedOutput()
	require.NoError(t, err, "%s", output)
}

// documents returns the files of all documents.
func documents(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md"} {
		some, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		require.NoError(t, err)
		names = append(names, some...)
	}
	require.NotEmpty(t, names)
	return names
}
