// Package dirsync makes the names in a directory survive a power cut.
package dirsync

import (
	"errors"
	"os"
	"runtime"
	"syscall"
)

// Sync returns when the names in a directory are on the disk, or at once if the system or the disk cannot sync
// directories.
func Sync(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	directory, err := os.Open(path)
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
