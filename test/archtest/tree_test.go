package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/holdpoint/holdpoint"

// goPackage is what "go list" tells of a package.
type goPackage struct {
	ImportPath string   `json:"ImportPath"`
	Imports    []string `json:"Imports"`
	// Deps are all packages that it links, directly and indirectly.
	Deps []string `json:"Deps"`
	// EmbedFiles are the files that it embeds, seen from its directory.
	EmbedFiles []string `json:"EmbedFiles"`
}

// name is the import path below the module, "." for its root.
func (p *goPackage) name() string {
	if p.ImportPath == module {
		return "."
	}
	return strings.TrimPrefix(p.ImportPath, module+"/")
}

// packages returns every package of the module by its name, without its tests.
func packages(t *testing.T) map[string]*goPackage {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports,Deps,EmbedFiles", "./...")
	command.Dir = root(t)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	require.NoError(t, command.Run(), "go list: %s", &stderr)

	found := map[string]*goPackage{}
	decoder := json.NewDecoder(&stdout)
	for {
		one := new(goPackage)
		if err := decoder.Decode(one); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			require.NoError(t, err)
		}
		found[one.name()] = one
	}
	require.NotEmpty(t, found)
	return found
}

// root returns the directory of go.mod.
func root(t *testing.T) string {
	t.Helper()
	directory, err := filepath.Abs("../..")
	require.NoError(t, err)
	return directory
}
