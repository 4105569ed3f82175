package docstest

import (
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// leastNode finds the lowest version that an "engines" member such as ">=22.0.0" allows.
var leastNode = regexp.MustCompile(`^>= ?(\d+)(?:\.[\d.]+)?$`)

// leastPython finds the lowest version of Python that the library needs.
var leastPython = regexp.MustCompile(`(?m)^requires-python = ">=([\d.]+)"$`)

// engines returns the lowest version of Node that each package of a package.json or package-lock.json
// needs, by its path.
func engines(t *testing.T, name string) map[string]int {
	t.Helper()
	type pkg struct {
		Engines struct {
			Node string `json:"node"`
		} `json:"engines"`
	}
	var file struct {
		pkg
		Packages map[string]pkg `json:"packages"`
	}
	require.NoError(t, json.Unmarshal([]byte(read(t, filepath.Join(root, name))), &file))
	if file.Packages == nil {
		file.Packages = map[string]pkg{"": file.pkg}
	}
	found := map[string]int{}
	for path, one := range file.Packages {
		if match := leastNode.FindStringSubmatch(one.Engines.Node); match != nil {
			least, err := strconv.Atoi(match[1])
			require.NoError(t, err)
			found[path] = least
		}
	}
	return found
}

// TestExamplesSayWhatTheyNeed: each example has a page, which names the version of Node or Python that its
// dependencies need, and the variables by which all clients find the service.
func TestExamplesSayWhatTheyNeed(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir(filepath.Join(root, "examples"))
	require.NoError(t, err)
	index := read(t, filepath.Join(root, "examples/README.md"))
	for _, entry := range entries {
		directory := "examples/" + entry.Name()
		if _, err := os.Stat(filepath.Join(root, directory, "main.go")); err != nil {
			if _, err := os.Stat(filepath.Join(root, directory, "README.md")); err != nil {
				continue // a package that programs use
			}
		}
		require.Contains(t, index, "("+path.Join(entry.Name(), "README.md")+")")
		page := read(t, filepath.Join(root, directory, "README.md"))
		require.Contains(t, page, "HOLDPOINT_SERVER", directory)
		if _, err := os.Stat(filepath.Join(root, directory, "main.py")); err == nil {
			least := leastPython.FindStringSubmatch(read(t, filepath.Join(root, "sdk/python/pyproject.toml")))
			require.Contains(t, page, "Needs Python "+least[1]+" or newer", directory)
			require.Contains(t, read(t, filepath.Join(root, directory, "main.py")), `"HOLDPOINT_SERVER"`, directory)
		}
		if _, err := os.Stat(filepath.Join(root, directory, "package.json")); err != nil {
			continue
		}
		least := 0
		for path, node := range engines(t, directory+"/package-lock.json") {
			if path != "" {
				least = max(least, node)
			}
		}
		require.Equal(t, least, engines(t, directory+"/package.json")[""], "engines of %s", directory)
		require.Equal(t, least, engines(t, directory+"/package-lock.json")[""], `run "npm install" in %s`, directory)
		require.Contains(t, page, "Needs Node "+strconv.Itoa(least)+" or newer", directory)
		require.Contains(t, read(t, filepath.Join(root, directory, "main.mjs")), "process.env.HOLDPOINT_SERVER", directory)
	}
}

// TestLibrariesSayWhatTheyNeed: README and the table of libraries name the version of Node in
// package.json, and each package has the licence.
func TestLibrariesSayWhatTheyNeed(t *testing.T) {
	t.Parallel()
	least := "Node " + strconv.Itoa(engines(t, "sdk/typescript/package.json")[""]) + " or newer"
	require.Contains(t, read(t, filepath.Join(root, "sdk/typescript/README.md")), least)
	require.Contains(t, read(t, filepath.Join(root, "docs/sdk.md")), least)
	for _, library := range []string{"typescript", "python"} {
		require.Equal(t, read(t, filepath.Join(root, "LICENSE")), read(t, filepath.Join(root, "sdk", library, "LICENSE")))
	}
}
