//go:build unix && agents

package sdk

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/test/rig"
)

// findPython returns a Python that can build a wheel without an index, which an isolated build
// would ask for setuptools; "" when there is none.
var findPython = sync.OnceValue(func() string {
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		if path, err := exec.LookPath(name); err == nil && exec.Command(path, "-c", "import setuptools, wheel, pip, ensurepip, sys; assert sys.version_info >= (3, 11)").Run() == nil {
			return path
		}
	}
	return ""
})

// pythonProject is an empty virtual environment with the wheel of the SDK, made once in the life
// of the process.
var pythonProject = sync.OnceValues(func() (python string, err error) {
	project, err := newProject()
	if err != nil {
		return "", err
	}
	sources := filepath.Join(project, "sources")
	if err = copySources(sources, "sdk/python"); err != nil {
		return "", err
	}
	if _, err = run(sources, findPython(), "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", project, "."); err != nil {
		return "", err
	}
	if _, err = run(project, findPython(), "-m", "venv", "venv"); err != nil {
		return "", err
	}
	wheels, err := filepath.Glob(filepath.Join(project, "*.whl"))
	if err != nil {
		return "", err
	}
	python = filepath.Join(project, "venv", "bin", "python")
	_, err = run(project, python, append([]string{"-m", "pip", "install", "--no-index"}, wheels...)...)
	return python, err
})

// needPython returns the Python of a virtual environment with the SDK.
func needPython(t *testing.T) (python string) {
	t.Helper()
	if findPython() == "" {
		rig.Missing(t, "a Python of 3.11 or newer with pip, venv, setuptools and wheel")
	}
	python, err := pythonProject()
	require.NoError(t, err)
	return python
}

// TestPythonTypesAreThoseOfTheService: "make sdk-types" would change nothing.
func TestPythonTypesAreThoseOfTheService(t *testing.T) {
	python := rig.Need(t, "python3")
	for script, file := range map[string]string{"make_types.py": "types.py", "make_sync.py": "_sync.py"} {
		written := filepath.Join(t.TempDir(), file)
		arguments := []string{filepath.Join("tools", script), written}
		if script == "make_types.py" {
			arguments = []string{filepath.Join("tools", script), filepath.Join(repository(), "openapi.json"), written}
		}
		_, err := run(filepath.Join(repository(), "sdk/python"), python, arguments...)
		require.NoError(t, err)
		committed, err := os.ReadFile(filepath.Join(repository(), "sdk/python/src/holdpoint", file))
		require.NoError(t, err)
		generated, err := os.ReadFile(written)
		require.NoError(t, err)
		require.Equal(t, string(generated), string(committed), `run "make sdk-types"`)
	}
}

// TestPythonPackageIsWhatItsReadmeSays: the installed wheel runs the first lines of its README.
func TestPythonPackageIsWhatItsReadmeSays(t *testing.T) {
	python := needPython(t)
	service := rig.Start(t, rig.Options{Database: rig.SQLite(t)})
	first := strings.ReplaceAll(blocks(t, "sdk/python/README.md", "python")[0], "http://127.0.0.1:4000", service.URL())
	require.LessOrEqual(t, strings.Count(strings.TrimSpace(first), "\n")+1, 10, "the README begins with ten lines")
	start(t, t.TempDir(), python, "-c", first)
	approveFirst(t, service)
}

// TestPythonPackageIsTyped: the installed package is typed throughout, and what its README shows
// is right by these types.
func TestPythonPackageIsTyped(t *testing.T) {
	checker := rig.Need(t, "mypy")
	python := needPython(t)
	directory := t.TempDir()
	shown := blocks(t, "sdk/python/README.md", "python")[1:]
	require.NoError(t, os.WriteFile(filepath.Join(directory, "shown.py"), []byte(strings.Join(shown, "\n")), 0o600))
	_, err := run(directory, checker, "--strict", "--python-executable", python, "shown.py")
	require.NoError(t, err)
	_, err = run(filepath.Join(repository(), "sdk/python"), checker, "--strict", "--cache-dir", directory, "src")
	require.NoError(t, err)
}
