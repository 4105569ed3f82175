//go:build unix

package rig

import (
	"errors"
	"os"
	"syscall"
)

// lockFile keeps other processes out until unlock is called.
func lockFile(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		if err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX); !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	return func() { _ = file.Close() }, err
}
