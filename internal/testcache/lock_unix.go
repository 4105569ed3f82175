//go:build unix

package testcache

import (
	"errors"
	"os"
	"syscall"
)

// Lock waits until no other process holds the file at a path, which it makes, and keeps them out until
// unlock is called or the process ends.
func Lock(path string) (unlock func(), err error) { return lock(path, syscall.LOCK_EX) }

// Share is Lock for those who keep each other not out, but whoever calls Lock.
func Share(path string) (unlock func(), err error) { return lock(path, syscall.LOCK_SH) }

func lock(path string, how int) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		if err = syscall.Flock(int(file.Fd()), how); !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	return func() { _ = file.Close() }, err
}
