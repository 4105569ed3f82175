// Package dirsync makes the names in a directory survive a power cut.
package dirsync

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"syscall"
)

// Sync returns when the names in a directory are on the disk, or at once if the system or the disk cannot sync
// directories, or the directory cannot be read.
func Sync(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	directory, err := os.Open(path)
	if err != nil {
		return tolerate(err)
	}
	return errors.Join(tolerate(directory.Sync()), directory.Close())
}

// tolerate drops the errors of disks that cannot sync directories, such as some network disks, and of directories that
// cannot be read: creating a file in one takes only the permissions to write and to search.
func tolerate(err error) error {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}
