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

// hasPython reports whether python3 makes virtual environments, and what builds a wheel is here.
func hasPython() bool {
	if exec.Command("/usr/bin/python3", "-c", "import pip, ensurepip, sys; assert sys.version_info >= (3, 11)").Run() != nil {
		return false
	}
	for _, name := range []string{"setuptools", "wheel"} {
		if found, err := filepath.Glob("/usr/share/python-wheels/" + name + "-*.whl"); err != nil || len(found) == 0 {
			return false
		}
	}
	return true
}

// localIndex has the packages that build a wheel, in place of an index. They are Debian's, and work with
// its Python alone.
const localIndex = "export PATH=/usr/bin:$PATH PIP_NO_INDEX=1 PIP_FIND_LINKS=/usr/share/python-wheels PIP_DISABLE_PIP_VERSION_CHECK=1\n"

// pythonProject is a virtual environment with the SDK and nothing else, made once in the life of the
// process with the commands of its README, in a clone.
var pythonProject = sync.OnceValues(func() (python string, err error) {
	root, err := clone()
	if err != nil {
		return "", err
	}
	commands, err := commandsOf("sdk/python/README.md")
	if err != nil {
		return "", err
	}
	if _, err = shell(root, localIndex+commands["install"]); err != nil {
		return "", err
	}
	if _, err = shell(root, localIndex+commands["pack"]); err != nil {
		return "", err
	}
	_, err = os.Stat(filepath.Join(root, "holdpoint-0.1.0-py3-none-any.whl"))
	return filepath.Join(root, ".venv", "bin", "python"), err
})

func requirePython(t *testing.T) {
	t.Helper()
	if !hasPython() {
		rig.Missing(t, "a /usr/bin/python3 of 3.11 or newer with pip and venv, and Debian's python3-setuptools-whl and python3-wheel-whl")
	}
}

// needPython returns the Python of a virtual environment with the SDK.
func needPython(t *testing.T) (python string) {
	t.Helper()
	requirePython(t)
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
		requireCommitted(t, written, filepath.Join("sdk/python/src/holdpoint", file))
	}
}

// TestCallsAreThoseOfTheService: "make sdk-types" would change none of the generated calls.
func TestCallsAreThoseOfTheService(t *testing.T) {
	python := rig.Need(t, "python3")
	written := t.TempDir()
	_, err := run(filepath.Join(repository(), "sdk"), python, "tools/make_calls.py", written)
	require.NoError(t, err)
	requireCommitted(t, filepath.Join(written, "calls.ts"), "sdk/typescript/src/calls.ts")
	requireCommitted(t, filepath.Join(written, "_calls.py"), "sdk/python/src/holdpoint/_calls.py")
}

// requireCommitted requires that a file was generated as it is in the repository.
func requireCommitted(t *testing.T, written, file string) {
	t.Helper()
	generated, err := os.ReadFile(written)
	require.NoError(t, err)
	committed, err := os.ReadFile(filepath.Join(repository(), file))
	require.NoError(t, err)
	require.Equal(t, string(generated), string(committed), `run "make sdk-types"`)
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
