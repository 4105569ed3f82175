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
	if errors.Is(err, fs.ErrPermission) {
		return nil // files can be created in a directory that cannot be read, mode 0300, but it cannot be synced
	}
	if err != nil {
		return err
	}
	return errors.Join(tolerate(directory.Sync()), directory.Close())
}

// tolerate drops the errors of disks that cannot sync directories, such as some network disks.
func tolerate(err error) error {
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}
