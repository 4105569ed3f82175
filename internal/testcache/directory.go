package testcache

import (
	"os"
	"path/filepath"
)

// Directory returns the directory of all that is kept, which it makes: holdpoint-tests in the user's
// cache directory. It fails where there is no such directory.
func Directory() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	directory := filepath.Join(cache, "holdpoint-tests")
	return directory, os.MkdirAll(directory, 0o700)
}
