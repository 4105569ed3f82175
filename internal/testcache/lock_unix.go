//go:build unix

package testcache

import (
	"errors"
	"os"
	"syscall"
)

// Lock locks the file at a path, which it creates, and waits while another process holds
// it. The lock ends with unlock or with the process.
func Lock(path string) (unlock func(), err error) { return lock(path, syscall.LOCK_EX) }

// Share takes a shared lock, which only excludes Lock.
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
