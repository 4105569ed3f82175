package docstest

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// aroundPieces are the declarations around pieces of programs: per page, what a piece uses but does not declare. A piece is the body
// of a function; it may end with a return.
var aroundPieces = map[string]string{
	"README.md": `
var service *client.Client
type Release struct{}
type Deployed struct{}
func deploy(context.Context, Release) (Deployed, error) { return Deployed{}, nil }`,
	"docs/embed.md": `
var (
	pool    *pgxpool.Pool
	service *holdpoint.Service
	inside  *client.Client
	handle  client.Handler
	order   struct{ ID string }
)`,
	"docs/workers.md": `
var (
	task  *client.Task
	input struct{}
)`,
	"CONTRIBUTING.md": `
var (
	t        *testing.T
	database string
	file     interface{ url() string }
)`,
}

// imports are of all pieces.
var imports = map[string]string{
	"context": "context", "http": "net/http", "testing": "testing", "pgxpool": "github.com/jackc/pgx/v5/pgxpool", "holdpoint": "github.com/holdpoint/holdpoint",
	"api": "github.com/holdpoint/holdpoint/api", "client": "github.com/holdpoint/holdpoint/client",
	"inprocess": "github.com/holdpoint/holdpoint/test/inprocess", "rig": "github.com/holdpoint/holdpoint/test/rig",
}

// around returns a source file with a piece of a program.
func around(page, piece string) string {
	var text strings.Builder
	text.WriteString("package piece\n")
	whole := aroundPieces[page] + "\nfunc _(ctx context.Context) error {\n" + piece
	for _, name := range slices.Sorted(maps.Keys(imports)) {
		if regexp.MustCompile(`\b` + name + `\.`).MatchString(whole) {
			fmt.Fprintf(&text, "import %q\n", imports[name])
		}
	}
	text.WriteString(whole)
	for _, declared := range regexp.MustCompile(`(?m)^(\w+(?:, \w+)*) :?= `).FindAllStringSubmatch(piece, -1) {
		for name := range strings.SplitSeq(declared[1], ", ") {
			fmt.Fprintf(&text, "_ = %s\n", name) // a piece need not use what it declares
		}
	}
	text.WriteString("return nil\n}\n")
	return text.String()
}

// TestGoBlocksBuild builds every Go program of the documents, and every piece of one. They are laid
// over the tree, so that they are built as a part of the module and nothing is written there.
func TestGoBlocksBuild(t *testing.T) {
	t.Parallel()
	absolute, err := filepath.Abs(root)
	require.NoError(t, err)
	directory := t.TempDir()
	overlay := map[string]string{}
	var packages []string
	for _, b := range blocksOf(t) {
		if b.language != "go" {
			continue
		}
		// A program is built as a package of another name: it would be linked, which takes longer than all the rest.
		text := strings.Replace(b.text, "package main\n", "package program\n", 1)
		if text == b.text {
			text = around(b.page, text)
		}
		at := fmt.Sprintf("example%d", len(packages))
		source := filepath.Join(directory, at+".go")
		require.NoError(t, os.WriteFile(source, []byte(text), 0o600))
		overlay[filepath.Join(absolute, at, "main.go")] = source
		packages = append(packages, "./"+at)
	}
	require.Greater(t, len(packages), 10)

	text, err := json.Marshal(map[string]any{"Replace": overlay})
	require.NoError(t, err)
	replacements := filepath.Join(directory, "overlay.json")
	require.NoError(t, os.WriteFile(replacements, text, 0o600))
	command := exec.CommandContext(t.Context(), "go", append([]string{"build", "-o", os.DevNull, "-overlay", replacements}, packages...)...)
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
