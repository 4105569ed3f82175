package gate

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// resolved is what a command line resolves to on this machine when exec asks. The person
// who decides sees it. exec compares it before the start, because a link, a script or PATH
// may have changed by then.
type resolved struct {
	Program boundFile `json:"program"`
	// Interpreter runs the program if it is a script.
	Interpreter *boundFile `json:"interpreter,omitempty"`
	// Script is the first file among the arguments of an interpreter.
	Script *boundFile `json:"script,omitempty"`
	// OtherScripts are the files after Script, if that may be the value of an option: one of them is
	// then the script.
	OtherScripts []boundFile `json:"other_scripts,omitempty"`
	// SearchPath is PATH if it has directories that a clean shell does not have.
	SearchPath string `json:"PATH,omitempty"`
}

// boundFile is a file with its real path and its digest.
type boundFile struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
}

// unreadable replaces the digest of a program that the caller may execute but not read.
const unreadable = "unreadable"

// resolve finds the files that a command runs. Errors: any error of the file system.
func resolve(argv []string, cwd string) (resolved, error) {
	path, err := programOf(argv[0], cwd)
	if err != nil {
		return resolved{}, err
	}
	var found resolved
	if found.Program, err = bound(path); err != nil {
		return resolved{}, err
	}
	if interpreter := interpreterOf(found.Program.Path); interpreter != "" {
		file, err := bound(interpreter)
		if err != nil {
			return resolved{}, err
		}
		found.Interpreter = &file
	}
	for _, script := range scriptsOf(argv, cwd, found.Program.Path) {
		if info, err := os.Stat(script); err == nil && !info.Mode().IsRegular() {
			continue // has no digest, and opening a FIFO blocks
		}
		file, err := bound(script)
		if err != nil {
			return resolved{}, err
		}
		if found.Script == nil {
			found.Script = &file
		} else {
			found.OtherScripts = append(found.OtherScripts, file)
		}
	}
	found.SearchPath = searchPath()
	return found, nil
}

// programOf returns the path of a program as a shell in the directory would find it.
func programOf(name, cwd string) (string, error) {
	if strings.ContainsRune(name, filepath.Separator) && !filepath.IsAbs(name) {
		name = filepath.Join(cwd, name)
	}
	return exec.LookPath(name)
}

// bound returns a file with its real path and its digest.
func bound(path string) (boundFile, error) {
	path, err := filepath.EvalSymlinks(path)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return boundFile{}, err
	}
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrPermission) {
		return boundFile{path, unreadable}, nil
	}
	if err != nil {
		return boundFile{}, err
	}
	defer func() { _ = file.Close() }()
	digest, err := digestOfFile(file)
	return boundFile{path, digest}, err
}

func digestOfFile(file *os.File) (string, error) {
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is not a file: %w", file.Name(), fs.ErrPermission)
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// interpreterOf returns the program of a script's first line, "" if the file is not a
// script.
func interpreterOf(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }()
	line, _ := bufio.NewReader(io.LimitReader(file, 256)).ReadString('\n')
	if words := strings.Fields(strings.TrimPrefix(line, "#!")); strings.HasPrefix(line, "#!") && len(words) > 0 {
		return words[0]
	}
	return ""
}

// cleanPath are the directories in the PATH of a clean shell.
var cleanPath = []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin", "/usr/games", "/usr/local/games", "/snap/bin", "/opt/homebrew/bin", "/opt/homebrew/sbin"}

// searchPath returns PATH if it has a directory that a clean shell does not have.
func searchPath() string {
	path := os.Getenv("PATH")
	for _, directory := range filepath.SplitList(path) {
		if !slices.Contains(cleanPath, directory) {
			return path
		}
	}
	return ""
}

// loading are variables (or, with * at the end, prefixes) that can replace the program,
// library or script of a command. A clean shell has none of them.
var loading = []string{
	"LD_*", "DYLD_*", "GCONV_PATH", "BASH_ENV", "BASH_FUNC_*", "ENV", "SHELLOPTS", "BASHOPTS", "IFS", "PS4", "CDPATH", "ZDOTDIR",
	"PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PYTHONUSERBASE", "NODE_OPTIONS", "NODE_PATH", "PERL5LIB", "PERL5OPT", "PERL5DB", "RUBYLIB", "RUBYOPT",
	"PHPRC", "PHP_INI_SCAN_DIR", "LUA_PATH", "LUA_CPATH", "CLASSPATH", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS",
	"GIT_EXEC_PATH", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_CONFIG*", "GIT_EXTERNAL_DIFF", "GIT_DIR", "GIT_WORK_TREE", "GIT_ASKPASS", "MAKEFLAGS", "MAKEFILES",
}

// loadingVariables returns those that are set and not named by --env.
func loadingVariables(given map[string]string) map[string]string {
	found := map[string]string{}
	for _, variable := range os.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		if _, named := given[name]; named || value == "" {
			continue
		}
		for _, one := range loading {
			beginning, many := strings.CutSuffix(one, "*")
			if name == one || many && strings.HasPrefix(name, beginning) {
				found[name] = strings.ToValidUTF8(value, "\uFFFD")
			}
		}
	}
	if len(found) == 0 {
		return nil
	}
	return found
}

// withoutScripts returns the program and its interpreter alone.
func (r resolved) withoutScripts() resolved {
	r.Script, r.OtherScripts = nil, nil
	return r
}
