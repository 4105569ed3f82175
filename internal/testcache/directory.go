package testcache

import (
	"os"
	"path/filepath"
)

// Directory returns the cache's directory, holdpoint-tests in the user's cache directory,
// and creates it if needed. It fails if there is no user cache directory.
func Directory() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	directory := filepath.Join(cache, "holdpoint-tests")
	return directory, os.MkdirAll(directory, 0o700)
}
