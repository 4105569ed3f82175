package agent

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json"
)

// replaceFile writes a file atomically. It keeps a link, and writes the file that it leads to.
func replaceFile(path string, text []byte) error {
	path, err := behindLinks(path)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	// A name that nobody knows before: a link there would lead the text into another file.
	temporary := path + ".holdpoint-" + rand.Text()
	err = writeSynced(temporary, text, mode)
	if err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		_ = os.Remove(temporary)
	}
	return err
}

// writeSynced is [os.WriteFile] for a new file that is renamed afterwards: a power cut could leave an
// empty file under the new name, and the agent would run without its hook.
func writeSynced(path string, text []byte, mode fs.FileMode) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Sync(), file.Close())
}

const mostLinks = 40

// behindLinks returns the file that a path leads to, which need not exist.
func behindLinks(path string) (string, error) {
	if file, err := filepath.EvalSymlinks(path); err == nil {
		return file, nil
	}
	for range mostLinks {
		target, is, err := behindLink(path)
		if err != nil || !is {
			return target, err
		}
		path = target
	}
	return "", fmt.Errorf("%s: more than %d links", path, mostLinks)
}

// directoriesOf returns the directories of a file and of the links that lead to it.
func directoriesOf(path string) (directories []string) {
	for is := true; is && len(directories) <= mostLinks; {
		directories = append(directories, directoryOf(path))
		var err error
		if path, is, err = behindLink(path); err != nil {
			break
		}
	}
	return directories
}

// directoryOf returns the directory of a path. It is not cleaned, because the name in front of .. may be a link.
func directoryOf(path string) string {
	directory, _ := filepath.Split(path)
	return cmp.Or(directory, ".")
}

// behindLink returns the path that a link leads to. For anything else, which need not exist, it returns false
// and the path itself.
func behindLink(path string) (target string, is bool, err error) {
	directory, err := filepath.EvalSymlinks(directoryOf(path))
	if err != nil {
		return path, false, nil //nolint:nilerr // it need not exist
	}
	_, name := filepath.Split(path)
	path = filepath.Join(directory, name)
	if info, err := os.Lstat(path); err != nil || info.Mode().Type() != fs.ModeSymlink {
		return path, false, nil //nolint:nilerr // it need not exist
	}
	if target, err = os.Readlink(path); err == nil && !filepath.IsAbs(target) {
		target = directory + string(filepath.Separator) + target
	}
	return target, true, err
}

// switchedOff says which settings file has the agent call no hook of the file at path; "" if there is none.
func (a *codingAgent) switchedOff(path string) string {
	files := []string{path}
	home, _ := os.UserHomeDir()
	directory, user := filepath.Dir(path), cmp.Or(os.Getenv("CLAUDE_CONFIG_DIR"), filepath.Join(home, ".claude"))
	if directory == user {
		directory = ".claude" // of the project in which the agent runs
	}
	if filepath.Base(directory) == ".claude" {
		// Of the local settings of the project, the project's and the user's, the first that says so counts. None of them
		// counts for managed settings, which are elsewhere.
		files = []string{filepath.Join(directory, "settings.local.json"), filepath.Join(directory, "settings.json"), filepath.Join(user, "settings.json")}
	}
	for _, file := range files {
		var settings struct {
			Off *bool `json:"disableAllHooks"`
		}
		text, err := os.ReadFile(file)
		if err != nil || json.Unmarshal(text, &settings) != nil || settings.Off == nil {
			continue
		}
		if *settings.Off {
			return fmt.Sprintf("%s has disableAllHooks, so %s calls no hook: take it out", file, a.name)
		}
		return ""
	}
	return ""
}
