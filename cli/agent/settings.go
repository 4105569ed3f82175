package agent

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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
	temporary := path + ".holdpoint"
	if err := os.WriteFile(temporary, text, mode); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}

// behindLinks returns the file that a path leads to, which need not exist.
func behindLinks(path string) (string, error) {
	const mostLinks = 40
	for range mostLinks {
		if info, err := os.Lstat(path); err != nil || info.Mode().Type() != fs.ModeSymlink {
			return path, nil //nolint:nilerr // it need not exist
		}
		target, err := os.Readlink(path)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(target) {
			directory, err := filepath.EvalSymlinks(filepath.Dir(path))
			if err != nil {
				return "", err
			}
			target = filepath.Join(directory, target)
		}
		path = target
	}
	return "", fmt.Errorf("%s: more than %d links", path, mostLinks)
}
