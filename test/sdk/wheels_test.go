//go:build unix && agents

package sdk

import (
	"archive/zip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// packages returns what has pip install the requirements of an example in Python. CI reaches no index of Python packages, so
// a module stands in for the framework, the first of the requirements, and the others are empty. With HOLDPOINT_PYPI pip reaches an index.
func packages(t *testing.T, example string) string {
	t.Helper()
	if os.Getenv("HOLDPOINT_PYPI") != "" {
		return ""
	}
	required, err := os.ReadFile(filepath.Join(repository(), "examples", example, "requirements.txt"))
	require.NoError(t, err)
	module, err := os.ReadFile("framework_" + example + ".py")
	require.NoError(t, err)
	files := map[string]string{strings.ReplaceAll(example, "-", "_") + "/__init__.py": string(module)}
	wheels := t.TempDir()
	for line := range strings.Lines(string(required)) {
		if name, version, pinned := strings.Cut(strings.TrimSpace(line), "=="); pinned {
			writeWheel(t, wheels, strings.ReplaceAll(name, "-", "_"), version, files)
			files = map[string]string{}
		}
	}
	return strings.ReplaceAll(localIndex, "PIP_FIND_LINKS=", "PIP_FIND_LINKS="+wheels+`\ `)
}

// writeWheel makes a package that pip installs.
func writeWheel(t *testing.T, directory, name, version string, files map[string]string) {
	t.Helper()
	about := fmt.Sprintf("%s-%s.dist-info/", name, version)
	files[about+"METADATA"] = fmt.Sprintf("Metadata-Version: 2.1\nName: %s\nVersion: %s\n", name, version)
	files[about+"WHEEL"] = "Wheel-Version: 1.0\nGenerator: holdpoint\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
	files[about+"RECORD"] = ""
	file, err := os.Create(filepath.Join(directory, fmt.Sprintf("%s-%s-py3-none-any.whl", name, version)))
	require.NoError(t, err)
	defer file.Close()
	archive := zip.NewWriter(file)
	for path, text := range files {
		entry, err := archive.Create(path)
		require.NoError(t, err)
		_, err = entry.Write([]byte(text))
		require.NoError(t, err)
	}
	require.NoError(t, archive.Close())
}
