package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
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

// packages returns every package of the module by its name, without its tests. Its readers change none.
func packages(t *testing.T) map[string]*goPackage {
	t.Helper()
	found, err := listed()
	require.NoError(t, err)
	require.NotEmpty(t, found)
	return found
}

// listed asks once: "go list" reads the whole tree.
var listed = sync.OnceValues(func() (map[string]*goPackage, error) {
	command := exec.Command("go", "list", "-json=ImportPath,Imports,Deps,EmbedFiles", "./...")
	command.Dir = filepath.Join("..", "..")
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, &stderr)
	}
	found := map[string]*goPackage{}
	decoder := json.NewDecoder(&stdout)
	for {
		one := new(goPackage)
		if err := decoder.Decode(one); errors.Is(err, io.EOF) {
			return found, nil
		} else if err != nil {
			return nil, err
		}
		found[one.name()] = one
	}
})

// root returns the directory of go.mod.
func root(t *testing.T) string {
	t.Helper()
	directory, err := filepath.Abs("../..")
	require.NoError(t, err)
	return directory
}
